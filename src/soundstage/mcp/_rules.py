"""Conditions of rules for calls of tools: the tool, and its arguments one by one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from soundstage.errors import MatchError, NoMatchError, ScriptError
from soundstage.match import MISSING, Equals, Given, Matcher, Predicate, matcher, preview
from soundstage.scripts import Conditions, Kinds, RuleTable, Serving, no_match

KINDS: Final[Kinds] = {"tool": "name"}
_ARGUMENT: Final = "arguments."


class CallFacts:
    """Values that conditions look at: the tool, an argument, all arguments."""

    def __init__(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self.tool = tool
        self.arguments = arguments
        self.known: dict[str, Any] = {"tool": tool, "arguments": arguments}

    def get(self, name: str, /) -> Any:
        """The value that the condition `name` looks at."""
        return self.known.get(name, self.arguments.get(name.removeprefix(_ARGUMENT), MISSING))


def call_conditions(tool: str, arguments: Any = None) -> Conditions:
    """Conditions on a call.

    Args:
        tool: the name of the tool; any unless given.
        arguments: a mapping of arguments to conditions, a function of all arguments, a matcher, or nothing.

    Raises:
        MatchError: for a bad expression; `error.summary` names the argument.
        ScriptError: for anything else.
    """
    named: Conditions = (("tool", Equals(tool)),) if tool else ()
    if arguments is None:
        return named
    if isinstance(arguments, Mapping):
        return (*named, *(argument_condition(str(name), spec) for name, spec in arguments.items()))
    if isinstance(arguments, Matcher):
        return (*named, ("arguments", arguments))
    if callable(arguments):
        return (*named, ("arguments", Predicate(arguments)))
    raise ScriptError(
        "conditions on arguments are given by name",
        expected="{'argument': condition}, or a function of all arguments",
        seen=preview(arguments),
    )


def argument_condition(name: str, spec: Any) -> tuple[str, Matcher]:
    """A condition on one argument, which has to be there.

    Raises:
        MatchError: for a bad expression; `error.summary` names the argument.
    """
    try:
        return f"{_ARGUMENT}{name}", Given(matcher(spec))
    except MatchError as error:
        raise MatchError(
            f"{name}: {error.summary}", expected=error.expected, seen=error.seen, hint=error.hint
        ) from None


def no_answer(call: CallFacts, rules: RuleTable, serving: Serving) -> NoMatchError:
    """The error for a call that no rule answers, with the nearest rules of its tool."""
    given = ", ".join(f"{name}={preview(value)}" for name, value in call.arguments.items())
    return no_match(
        f"the call {call.tool}({given})",
        [rule for rule in rules if ("tool", Equals(call.tool)) in rule.conditions],
        call,
        serving.used_up,
        without=f"the tool {call.tool!r} has no rules",
        instead="declare the tool with returns=",
    )
