"""Rules whose text is a part of another rule's, so that `go` answers "good bye". Pure.

Nothing is wrong with such a script for certain, so these are warnings. A pair is left alone where the order settles it
(the longer text is asked first), where something else tells the two apart (another agent, another iteration), and where
the shorter text stands as whole words in the longer one and a rule steps aside after its `times`: general after special
is how scripts are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Any, Final, NamedTuple

from soundstage.match import (
    AnyOf,
    Contains,
    Equals,
    Fields,
    Filled,
    Given,
    Matcher,
    OnPart,
    Regex,
    Same,
    preview,
)
from soundstage.scripts._rule import Rule

_QUOTED: Final = 60


class Overlap(NamedTuple):
    """A rule whose text is a part of another's, and which may serve what the other one is for."""

    rule: Rule
    other: Rule
    part: str
    whole: str

    @property
    def message(self) -> str:
        """One sentence that names both, and the order in which they are asked."""
        part, whole = preview(self.part, _QUOTED), preview(self.whole, _QUOTED)
        return (
            f"{self.rule} may answer what {self.other} is for: {part} is a part of {whole}, "
            f"and {self._order()}; {self._advice()}"
        )

    def _order(self) -> str:
        mine, its = self.rule.priority, self.other.priority
        if mine > its:
            return f"rule {self.rule.number} is asked first, because its priority {mine} is above {its}"
        if _first(self.rule, self.other):
            return f"rule {self.rule.number} is asked first, because it stands first"
        return f"rule {self.other.number} steps aside after it has served {self.other.times} time(s)"

    def _advice(self) -> str:
        ways = []
        if _inside_a_word(self.part, self.whole):
            ways.append(f"write the whole word as /\\b{self.part}\\b/")
        if _first(self.rule, self.other):
            ways.append(f"give rule {self.other.number} the higher priority")
        return ", or ".join(ways)


def _first(rule: Rule, other: Rule) -> bool:
    """Whether `rule` is asked before `other`."""
    return (-rule.priority, rule.number) < (-other.priority, other.number)


def overlapping(rules: Sequence[Rule], within: Mapping[str, Sequence[str]]) -> Iterator[Overlap]:
    """The pairs in which one rule may take what the other is for.

    Args:
        rules: in any order.
        within: conditions that look at the texts of others too, and which those are.
    """
    asked = [entry for entry in map(_read, rules) if entry.texts]
    for mine, its in permutations(asked, 2):
        found = _part(mine.texts, its.texts, within)
        if found is None or _apart(mine, its):
            continue
        rule, other = mine.rule, its.rule
        first, in_a_word = _first(rule, other), _inside_a_word(*found)
        limited = rule.times if first else other.times
        if (first and limited is None) or (limited is not None and in_a_word):
            yield Overlap(rule, other, *found)


class _Literal(NamedTuple):
    text: str
    any_case: bool = False


_Texts = Mapping[str, tuple[_Literal, ...]]


class _ReadConditions(NamedTuple):
    """A rule, its conditions by name, and the texts of those that are nothing but text."""

    rule: Rule
    conditions: Mapping[str, Matcher]
    texts: _Texts


def _read(rule: Rule) -> _ReadConditions:
    conditions = _flat(rule)
    read = ((name, _literals(condition)) for name, condition in conditions.items())
    return _ReadConditions(rule, conditions, {name: texts for name, texts in read if texts})


def _flat(rule: Rule) -> Mapping[str, Matcher]:
    """The conditions by name; each header is one of its own."""
    found: dict[str, Matcher] = {}
    for name, condition in rule.conditions:
        if isinstance(condition, Fields):
            found |= {f"{name} {field}": part for field, part in condition.fields.items()}
        else:
            found[name] = condition
    return found


def _part(mine: _Texts, its: _Texts, within: Mapping[str, Sequence[str]]) -> tuple[str, str] | None:
    """A text of mine that is a part of one of its texts, and the latter."""
    for name, texts in mine.items():
        for other in within.get(name, (name,)):
            for part, whole in product(texts, its.get(other, ())):
                if _within(part, whole) and not _within(whole, part):
                    return part.text, whole.text
    return None


def _literals(condition: Matcher) -> tuple[_Literal, ...]:
    """The texts of which one must be there; nothing if that cannot be said."""
    if isinstance(condition, OnPart):
        return _literals(condition.part)
    if isinstance(condition, AnyOf):
        parts = [_literals(part) for part in condition.parts]
        return tuple(literal for part in parts for literal in part) if all(parts) else ()
    if isinstance(condition, Contains):
        return (_Literal(condition.text),)
    if isinstance(condition, Regex) and all(
        letter.isalnum() or letter == " " for letter in condition.pattern
    ):
        return (_Literal(condition.pattern, "i" in condition.flags),)
    return ()


def _within(part: _Literal, whole: _Literal) -> bool:
    if part.any_case or whole.any_case:
        return part.text.casefold() in whole.text.casefold()
    return part.text in whole.text


def _apart(mine: _ReadConditions, its: _ReadConditions) -> bool:
    """Whether another condition says that the two are for different requests."""
    return any(
        _differ(mine.conditions[name], its.conditions[name])
        or _unlike(mine.texts.get(name, ()), its.texts.get(name, ()))
        for name in mine.conditions.keys() & its.conditions.keys()
    )


def _unlike(mine: tuple[_Literal, ...], its: tuple[_Literal, ...]) -> bool:
    """Whether no text of either is a part of one of the other's."""
    pairs = list(product(mine, its))
    return bool(pairs) and not any(_within(one, other) or _within(other, one) for one, other in pairs)


def _differ(mine: Matcher, its: Matcher) -> bool:
    if isinstance(mine, Filled) and isinstance(its, Filled):
        return mine.wanted is not its.wanted
    if isinstance(mine, Filled) or isinstance(its, Filled):
        filled = mine if isinstance(mine, Filled) else its
        return not filled.wanted  # type: ignore[attr-defined]
    values, others = _values(mine), _values(its)
    return bool(values and others) and values.isdisjoint(others)


def _values(condition: Matcher) -> frozenset[Any]:
    """The only values that fit; nothing if that cannot be said."""
    if isinstance(condition, Given):
        return _values(condition.part)
    if isinstance(condition, Same):
        return frozenset([condition.folded])
    if isinstance(condition, Equals) and isinstance(condition.value, str | int):
        return frozenset([condition.value])
    if isinstance(condition, AnyOf):
        parts = [_values(part) for part in condition.parts]
        return frozenset().union(*parts) if all(parts) else frozenset()
    return frozenset()


def _inside_a_word(part: str, whole: str) -> bool:
    """Whether `part` nowhere stands as whole words. Letters without case belong to scripts without spaces."""
    part, whole = part.casefold(), whole.casefold()
    start = whole.find(part)
    while start >= 0:
        before, after = whole[start - 1 : start], whole[start + len(part) :][:1]
        if not (_of_word(before) and _of_word(part[0])) and not (_of_word(after) and _of_word(part[-1])):
            return False
        start = whole.find(part, start + 1)
    return True


def _of_word(letter: str) -> bool:
    return letter.isdigit() or letter == "_" or letter.lower() != letter.upper()
