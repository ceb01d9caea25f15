"""The rules of a script, and which of them serves what is asked.

A table knows nothing of what is asked and answered: conditions have names, and `Facts` say what these look at. A
script has one table; each model or server that plays it counts for itself, with a `Serving`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from soundstage.errors import ScriptError, ScriptLoadError, ScriptProblem, WrongTypeError
from soundstage.scripts._index import Facts, Kinds, RuleIndex, holds
from soundstage.scripts._lint import PAIRWISE, Shadowed, shadowed
from soundstage.scripts._overlap import overlapping
from soundstage.scripts._rule import Rule, in_order
from soundstage.scripts._words import in_words


class RuleTable(list[Rule]):
    """Rules in the order of registration; `put` adds one.

    Args:
        kinds: conditions by which rules can be found fast, and what these look at.
        within: conditions that look at the texts of others too, and which those are.

    Example:
        >>> from soundstage.match import matcher
        >>> table = RuleTable({"user": "text"})
        >>> table.add([("user", matcher("hello"))], "hi").describe()
        "user 'hello'"
    """

    def __init__(self, kinds: Kinds, *, within: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__()
        self.kinds = kinds
        self.version = 0  # grows with every change
        self._within = within or {}

    def make(
        self,
        conditions: Collection[tuple[str, Any]],
        reply: Any,
        *,
        priority: int = 0,
        times: int | None = None,
        name: str = "",
        where: str = "",
    ) -> Rule:
        """The next rule, which is not added yet; without conditions and `times` it serves once.

        Raises:
            ScriptError: for a `times` or `priority` that is no such number.
            WrongTypeError: for a name that is no text.
        """
        for key, value in {"name": name, "where": where}.items():
            if not isinstance(value, str):
                raise WrongTypeError(f"`{key}` is of another type", expected="a text", seen=in_words(value))
        if times is not None and (type(times) is not int or times < 1):
            raise ScriptError("a rule serves at least once", seen=f"times={times!r}")
        if type(priority) is not int:
            raise ScriptError("a priority is a whole number", seen=f"priority={priority!r}")
        times = 1 if times is None and not conditions else times
        return Rule(len(self) + 1, tuple(conditions), reply, priority, times, name, where)

    def put(self, rule: Rule) -> Rule:
        """Add a rule; it gets its number here."""
        self.append(rule._replace(number=len(self) + 1))
        self.version += 1
        return self[-1]

    def add(self, conditions: Collection[tuple[str, Any]], reply: Any, **options: Any) -> Rule:
        """Add what `make` makes."""
        return self.put(self.make(conditions, reply, **options))

    def shorten(self, length: int) -> None:
        """Take away the rules that were added after the first so many."""
        del self[length:]
        self.version += 1

    def ordered(self) -> list[Rule]:
        """The rules in the order in which they are asked."""
        return in_order(self)

    def shadowed(self) -> list[Shadowed]:
        """The rules that can never fire, because another one always comes first."""
        return shadowed(self.ordered())

    def problems(self) -> list[ScriptProblem]:
        """List the faults of a script that can be used all the same.

        Rules that can never fire; and, as warnings, rules whose text is a part of another's, like `go` of `good bye`.
        """
        rules = self.ordered()
        hidden = shadowed(rules)
        never = {found.rule.number for found in hidden}
        heard = [rule for rule in rules if rule.number not in never] if len(rules) <= PAIRWISE else []
        warnings = [
            _problem(found.other, found.message, warning=True) for found in overlapping(heard, self._within)
        ]
        return [_problem(found.rule, found.message) for found in hidden] + warnings

    def validate(self) -> None:
        """Refuse a script with rules that can never fire.

        Raises:
            ScriptLoadError: with one problem for each of them.
        """
        found = [problem for problem in self.problems() if not problem.warning]
        if found:
            raise ScriptLoadError(found)


def _problem(rule: Rule, message: str, *, warning: bool = False) -> ScriptProblem:
    file, _, line = rule.where.rpartition(":")
    place = (file, int(line)) if line.isdigit() else ("script", 0)
    return ScriptProblem(*place, "", message, warning)


class Serving:
    """Which rules of a table serve what is asked, and how often each has.

    Args:
        table: the rules; they may grow meanwhile.

    Example:
        >>> from soundstage.match import matcher
        >>> table = RuleTable({})
        >>> _ = table.add([("user", matcher("hello"))], "hi")
        >>> [rule.label for rule in Serving(table).unused()]
        ['rule 1']
    """

    def __init__(self, table: RuleTable) -> None:
        self._table = table
        self._counts: dict[int, int] = {}
        self._refresh()

    def _refresh(self) -> None:
        """Take up what is new in the table."""
        self._version = self._table.version
        left = [rule for rule in self._table.ordered() if not self.used_up(rule)]
        self._index = RuleIndex(left, self._table.kinds)

    def choose(self, facts: Facts, only: str = "") -> Rule | None:
        """The rule that serves what is asked; it counts as served.

        Args:
            facts: what is asked.
            only: a condition that a rule must have to be asked; then no rule without conditions is.

        Raises:
            MatchError: if a condition cannot be evaluated.
        """
        if self._version != self._table.version:
            self._refresh()
        known, rules = facts.known, self._index.rules
        for rank in self._index.candidates(facts, queue=not only):
            rule = rules[rank]
            if (only or rule.times is not None) and not self._may_serve(rule, only):
                continue
            for name, condition in rule.conditions:
                value = known[name] if name in known else facts.get(name)
                if not condition.matches(value):
                    break
            else:
                self._count(rule)
                if rule.times is not None and self.used_up(rule):
                    self._index.retire(rank)
                return rule
        return None

    def fitting(self, facts: Facts, only: str = "") -> list[Rule]:
        """All rules that could serve what is asked, in order; the first counts as served."""
        found = [
            rule
            for rule in self._table.ordered()
            if self._may_serve(rule, only) and holds(rule.conditions, facts)
        ]
        if found:
            self._count(found[0])
        return found

    def _may_serve(self, rule: Rule, only: str) -> bool:
        return not self.used_up(rule) and (not only or any(name == only for name, _ in rule.conditions))

    def _count(self, rule: Rule) -> None:
        self._counts[rule.number] = self._counts.get(rule.number, 0) + 1

    def used_up(self, rule: Rule) -> bool:
        """Whether a rule has served all its times."""
        return rule.times is not None and self._counts.get(rule.number, 0) >= rule.times

    def unused(self) -> list[Rule]:
        """The rules that have not served, in the order of registration."""
        return [rule for rule in self._table if rule.number not in self._counts]

    def reset(self) -> None:
        """Forget what has been served; the rules stay."""
        self._counts.clear()
        self._refresh()


def never_used(
    unused: Sequence[Rule], script: str, *, expected: str, hint: str, seen: str = ""
) -> ScriptError:
    """The error for rules of a strict script that never served.

    Args:
        unused: these rules.
        script: whose script it is, in words.
        expected: what they are for.
        hint: what to do.
        seen: the rules and the reasons; the rules alone unless given.
    """
    return ScriptError(
        f"{len(unused)} rule(s) of {script} were never used",
        expected=expected,
        seen=seen or "\n".join(map(str, unused)),
        hint=hint,
    )
