"""Rules of tools: when which answer is given. The rules of a model's script, asked about arguments. Pure.

They go by priority, then by registration; a rule serves `times` and then steps aside. Conditions are those of
`soundstage.match`, one for each argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from soundstage.errors import MatchError, NoMatchError, ScriptError
from soundstage.match import Matcher, Predicate, matcher, preview
from soundstage.mcp._answer import ToolAnswer

Call = Callable[[dict[str, Any]], Any]
Given = ToolAnswer | Call
SHOWN: Final = 3


class Arguments(Matcher):
    """Named arguments that match. One that is not there is a mismatch, whatever its condition."""

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[str, Matcher]) -> None:
        self.fields = dict(fields)

    def explain(self, value: Any) -> str | None:
        for name, condition in self.fields.items():
            if name not in value:
                return f"there is no argument {name!r}, only {', '.join(value) or 'none'}"
            reason = condition.explain(value[name])
            if reason is not None:
                return f"{name}: {reason}"
        return None

    def describe(self) -> str:
        return ", ".join(f"{name}={condition.describe()}" for name, condition in self.fields.items())


def arguments_matcher(spec: Any) -> Matcher | None:
    """A condition on the arguments of a call.

    Args:
        spec: a mapping of arguments to conditions, a function of all arguments, a matcher, or nothing.

    Raises:
        MatchError: for a bad expression, which it names.
        ScriptError: for anything else.
    """
    if spec is None or isinstance(spec, Matcher):
        return spec
    if isinstance(spec, Mapping):
        return Arguments({str(name): _condition(name, part) for name, part in spec.items()}) if spec else None
    if callable(spec):
        return Predicate(spec)
    raise ScriptError(
        "conditions on arguments are given by name",
        expected="{'argument': condition}, or a function of all arguments",
        seen=preview(spec),
    )


def _condition(name: Any, spec: Any) -> Matcher:
    try:
        return matcher(spec)
    except MatchError as error:
        raise MatchError(
            f"{name}: {error.summary}", expected=error.expected, seen=error.seen, hint=error.hint
        ) from None


class ToolRule(NamedTuple):
    """One rule. `number` counts registrations from 1; `where` is `file:line` if it has one."""

    number: int
    tool: str
    arguments: Matcher | None
    answer: Given
    priority: int = 0
    times: int | None = None
    name: str = ""
    where: str = ""

    @property
    def label(self) -> str:
        """How messages call it."""
        title = f"rule {self.number}" + (f" {self.name!r}" if self.name else "")
        return f"{title} ({self.where})" if self.where else title

    def describe(self) -> str:
        """The calls that it is for, in words."""
        return f"{self.tool}({'' if self.arguments is None else self.arguments.describe()})"


class ToolRules:
    """The rules of a server, and how often each has served."""

    def __init__(self) -> None:
        self._rules: list[ToolRule] = []
        self._served: dict[int, int] = {}

    def add(self, rule: ToolRule) -> ToolRule:
        """Add a rule; its number is given here.

        Raises:
            ScriptError: for `times` or a `priority` that is no such number.
        """
        if rule.times is not None and (type(rule.times) is not int or rule.times < 1):
            raise ScriptError("a rule serves at least once", seen=f"times={rule.times!r}")
        if type(rule.priority) is not int:
            raise ScriptError("a priority is a whole number", seen=f"priority={rule.priority!r}")
        rule = rule._replace(number=len(self._rules) + 1)
        self._rules.append(rule)
        return rule

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Any:
        return iter(self._rules)

    def of(self, tool: str) -> list[ToolRule]:
        """The rules of a tool, in the order in which they are asked."""
        found = [rule for rule in self._rules if rule.tool == tool]
        return sorted(found, key=lambda rule: (-rule.priority, rule.number))

    def choose(self, tool: str, arguments: Mapping[str, Any]) -> ToolRule | None:
        """The rule that serves a call; it counts as served.

        Raises:
            MatchError: if a condition cannot be evaluated.
        """
        for rule in self.of(tool):
            if self._used_up(rule) or (rule.arguments is not None and not rule.arguments.matches(arguments)):
                continue
            self._served[rule.number] = self._served.get(rule.number, 0) + 1
            return rule
        return None

    def unused(self) -> list[ToolRule]:
        """The rules that have not served."""
        return [rule for rule in self._rules if rule.number not in self._served]

    def forget(self) -> None:
        """Forget what has been served."""
        self._served.clear()

    def _used_up(self, rule: ToolRule) -> bool:
        return rule.times is not None and self._served.get(rule.number, 0) >= rule.times

    def no_match(self, tool: str, arguments: Mapping[str, Any]) -> NoMatchError:
        """The error for a call that no rule answers: the nearest rules, and why each was not it."""
        return NoMatchError(
            f"no rule answers the call {tool}({', '.join(f'{k}={preview(v)}' for k, v in arguments.items())})",
            expected="a rule whose conditions all hold",
            seen=_nearest(self.of(tool), arguments, self._used_up) or f"the tool {tool!r} has no rules",
            hint="add a rule, loosen a condition, or declare the tool with returns=",
        )


def _nearest(
    rules: Sequence[ToolRule], arguments: Mapping[str, Any], used_up: Callable[[ToolRule], bool]
) -> str:
    return "\n".join(
        f"{rule.label} [{rule.describe()}]: {_why(rule, arguments, used_up)}" for rule in rules[:SHOWN]
    )


def _why(rule: ToolRule, arguments: Mapping[str, Any], used_up: Callable[[ToolRule], bool]) -> str:
    if used_up(rule):
        return f"it has served its {rule.times} time(s)"
    return (rule.arguments.explain(arguments) if rule.arguments is not None else None) or "it matches"
