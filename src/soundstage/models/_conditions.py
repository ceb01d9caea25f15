"""Conditions: when a rule applies. A closed list, each with the question it asks of a request.

`CONDITION_SOURCES` is the table: condition name, where the value comes from, how a plain string is compared. The
value of each question is worked out at most once per request, and only if some rule asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import MatchError
from soundstage.match import (
    AllOf,
    AnyOf,
    Contains,
    Equals,
    Fields,
    Filled,
    Matcher,
    Not,
    OneMatches,
    Regex,
    Same,
    matcher,
    preview,
)
from soundstage.messages import ModelRequest, ToolCall
from soundstage.scripts import Kinds

TextCondition = str | list[Any] | dict[str, Any]
NumberCondition = int | list[int] | dict[str, Any]


class When(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The conditions of a rule; all that are given must hold.

    Text conditions are a substring, `/regex/flags`, a list (any of them), or `{any|all|not|text|equals: ..}`.

    Args:
        system: the system prompt.
        user: the latest words of the user; what a harness adds in `<system-reminder>` tags is not among them.
        contains: any message of the request.
        agent: who asks; a whole name, upper and lower case alike.
        previous_agent: the last agent that was at work before this one; routers do not count.
        after_agent: the agent that has called the tool `continue` last in this conversation; routers count.
        continue_to_phase: the phase that the last call of `continue` in this conversation proposed.
        previous_tool_calls: tools that have been called in this conversation, by whomever; of a list, all.
        iteration: which call of this agent in this conversation it is, from 1.
        phase: the phase of the conversation; a whole name.
        turn: which turn of the user it is, from 1.
        step: which of the model's messages in this conversation the reply will be, from 1.
        model: the requested model; a whole name.
        tool: a tool on offer; a whole name.
        tools: `false`: no tools are on offer; `true`: some are.
        after_tool: a tool whose result this request brings: its whole name, or the id of the call.
        tool_result: the text of a tool result that this request brings; `true`: some, `false`: none.
        header: request headers by name.
        purpose: what the request is for: `main`, or a side request such as `title` or `probe`.
    """

    system: TextCondition | None = None
    user: TextCondition | None = None
    contains: TextCondition | None = None
    agent: TextCondition | None = None
    previous_agent: TextCondition | None = None
    after_agent: TextCondition | None = None
    continue_to_phase: TextCondition | None = None
    previous_tool_calls: TextCondition | None = None
    iteration: NumberCondition | None = None
    phase: TextCondition | None = None
    turn: NumberCondition | None = None
    step: NumberCondition | None = None
    model: TextCondition | None = None
    tool: TextCondition | None = None
    tools: bool | None = None
    after_tool: TextCondition | None = None
    tool_result: TextCondition | bool | None = None
    header: dict[str, TextCondition] | None = None
    purpose: TextCondition | None = None


class PastCall(NamedTuple):
    """A tool that a reply asked for, and the agent that it was given to."""

    agent: str
    name: str
    arguments: dict[str, Any]


class RequestContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Facts about a request that only its conversation tells; `lost`: conditions about what is not kept, and why."""

    previous_agent: str = ""
    iteration: int = 1
    calls: Sequence[PastCall] = ()
    lost: Mapping[str, str] = {}


class ConditionSource(NamedTuple):
    """The source of a condition's value, and the meaning of a plain string there."""

    value: Callable[[ModelRequest, RequestContext], Any]
    compile: Callable[[Any], Matcher]


def _everything(request: ModelRequest, _: RequestContext) -> str:
    return "\n".join(message.everything for message in request.messages)


def _step(request: ModelRequest, _: RequestContext) -> int:
    return 1 + sum(1 for message in request.messages if message.role == "assistant")


def _answered_tools(request: ModelRequest, _: RequestContext) -> list[str]:
    """Names and ids of the calls whose results the request brings."""
    results = request.tool_results
    if not results:
        return []
    called = {
        part.id: part.name for message in request.messages for part in message.parts if type(part) is ToolCall
    }
    found = [
        word for result in results for word in (result.name or called.get(result.call_id, ""), result.call_id)
    ]
    return [word for word in dict.fromkeys(found) if word]


HAND_ON: Final = "continue"


def _calls(request: ModelRequest, context: RequestContext) -> list[PastCall]:
    """The calls of the conversation: those in the request's own history, then those that were served in it."""
    own = [
        PastCall(request.caller.agent, part.name, part.arguments)
        for message in request.messages
        for part in message.parts
        if type(part) is ToolCall
    ]
    return [*own, *context.calls]


def _handed_on(request: ModelRequest, context: RequestContext) -> PastCall | None:
    return next((call for call in reversed(_calls(request, context)) if call.name == HAND_ON), None)


def _after_agent(request: ModelRequest, context: RequestContext) -> str | None:
    last = _handed_on(request, context)
    return (last.agent or None) if last is not None else None


def _proposed(request: ModelRequest, context: RequestContext) -> str | None:
    last = _handed_on(request, context)
    phase = last.arguments.get("phase") if last is not None else None
    return phase if isinstance(phase, str) and phase else None


def _called(request: ModelRequest, context: RequestContext) -> list[str]:
    return list(dict.fromkeys(call.name for call in _calls(request, context)))


def _all_names(spec: Any) -> Matcher:
    return _names({"all": spec} if isinstance(spec, list | tuple) else spec)


def _among(spec: Any, element: Callable[[Any], Matcher]) -> Matcher:
    """A condition on a list: one element must match; `all`: each condition has such a one; `not`: none."""
    if isinstance(spec, Mapping) and set(spec) == {"not"}:
        return ~_among(spec["not"], element)
    if isinstance(spec, Mapping) and set(spec) == {"all"} and isinstance(spec["all"], list | tuple):
        return AllOf(*(_among(part, element) for part in spec["all"]))
    if isinstance(spec, Not):
        return ~_among(spec.part, element)
    if isinstance(spec, AllOf):
        return AllOf(*(_among(part, element) for part in spec.parts))
    return OneMatches(element(spec))


def _whole_name(text: str) -> Matcher:
    if not text:
        raise MatchError("an empty name is nobody's", hint="leave the condition out instead")
    return Same(text)


def _name(spec: Any) -> Matcher:
    return _on_text(matcher(spec, text=_whole_name))


def _text(spec: Any) -> Matcher:
    return _on_text(matcher(spec))


def _on_text(condition: Matcher) -> Matcher:
    """Refuse what no text can ever equal. `{equals: null}` is a text that is missing."""
    for part in leaves(condition):
        if isinstance(part, Equals) and not isinstance(part.value, str | None):
            raise MatchError("a text is expected here", seen=part.describe(), hint="write it in quotes")
    return condition


def leaves(condition: Matcher) -> Iterator[Matcher]:
    """The conditions that a combined one is made of."""
    if isinstance(condition, AnyOf | AllOf):
        for part in condition.parts:
            yield from leaves(part)
    elif isinstance(condition, Not):
        yield from leaves(condition.part)
    else:
        yield condition


def _names(spec: Any) -> Matcher:
    return _among(spec, _name)


def _results(spec: Any) -> Matcher:
    return Filled(spec) if isinstance(spec, bool) else _among(spec, _text)


def _headers(spec: Any) -> Matcher:
    if not isinstance(spec, Mapping) or not spec:
        raise MatchError("headers are given by name", expected='{"x-name": condition}', seen=preview(spec))
    return Fields({str(name).lower(): _text(value) for name, value in spec.items()})


def _tools(spec: Any) -> Matcher:
    if not isinstance(spec, bool):
        raise MatchError(
            "`tools` is true or false", seen=preview(spec), hint="`tool` is about the tool of one name"
        )
    return Equals(spec)


def _number(spec: Any) -> Matcher:
    found = matcher(spec)
    for part in leaves(found):
        if isinstance(part, Contains | Regex):
            raise MatchError(
                "a number is expected here", seen=part.describe(), hint="write it without quotes"
            )
        if isinstance(part, Equals) and (type(part.value) is not int or part.value < 1):
            raise MatchError("numbers count from 1", seen=repr(part.value))
    return found


CONDITION_SOURCES: Final[dict[str, ConditionSource]] = {
    "system": ConditionSource(lambda request, _: request.system_text or None, _text),
    "user": ConditionSource(lambda request, _: request.last_user_text, _text),
    "contains": ConditionSource(_everything, _text),
    "agent": ConditionSource(lambda request, _: request.caller.agent or None, _name),
    "previous_agent": ConditionSource(lambda _, context: context.previous_agent or None, _name),
    "after_agent": ConditionSource(_after_agent, _name),
    "continue_to_phase": ConditionSource(_proposed, _name),
    "previous_tool_calls": ConditionSource(_called, _all_names),
    "iteration": ConditionSource(lambda _, context: context.iteration, _number),
    "phase": ConditionSource(lambda request, _: request.caller.phase or None, _name),
    "turn": ConditionSource(lambda request, _: request.turn, _number),
    "step": ConditionSource(_step, _number),
    "model": ConditionSource(lambda request, _: request.model, _name),
    "tool": ConditionSource(lambda request, _: [tool.name for tool in request.tools], _names),
    "tools": ConditionSource(lambda request, _: bool(request.tools), _tools),
    "after_tool": ConditionSource(_answered_tools, _names),
    "tool_result": ConditionSource(
        lambda request, _: [result.readable for result in request.tool_results], _results
    ),
    "header": ConditionSource(lambda request, _: request.caller.headers, _headers),
    "purpose": ConditionSource(lambda request, _: request.purpose, _name),
}


KINDS: Final[Kinds] = {
    **dict.fromkeys(("user", "contains", "system"), "text"),
    **dict.fromkeys(("agent", "previous_agent", "phase", "model", "purpose", "tool", "after_tool"), "name"),
    **dict.fromkeys(("iteration", "turn", "step"), "number"),
}
WITHIN: Final = {"contains": ("user", "system", "tool_result", "contains")}


class RequestFacts:
    """The answers that one request gives, each worked out when it is first asked for.

    Attributes:
        known: the answers so far, by the name of the condition.
    """

    __slots__ = ("_context", "known", "request")

    def __init__(self, request: ModelRequest, context: RequestContext) -> None:
        self.request = request
        self._context = context
        self.known: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """The value that the condition `name` looks at."""
        known = self.known
        if name not in known:
            known[name] = CONDITION_SOURCES[name].value(self.request, self._context)
        return known[name]

    @property
    def lost(self) -> str:
        """Words about what was asked for and is not kept any more; mostly empty."""
        lost = self._context.lost
        return next((lost[name] for name in self.known if name in lost), "") if lost else ""


def compile_conditions(when: When) -> tuple[tuple[str, Matcher], ...]:
    """The given conditions as (name, matcher), in the order of the table.

    Raises:
        MatchError: for a bad expression; `error.summary` names the condition.
    """
    found = []
    for name, question in CONDITION_SOURCES.items():
        spec = getattr(when, name)
        if spec is None:
            continue
        try:
            found.append((name, question.compile(spec)))
        except MatchError as error:
            raise MatchError(
                f"{name}: {error.summary}", expected=error.expected, seen=error.seen, hint=error.hint
            ) from None
    return tuple(found)
