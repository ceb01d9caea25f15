"""Assemble the spans of one trace into events, in the order in which they happened. Pure.

Spans come when they end, so a child comes before its parent, in batches, from several processes, and sometimes
late. Each span has a beginning and an end; here both become moments, and the moments of a batch are put in order:
by time, and where times are equal as the tree has them, a parent around its children. A child that begins before
its parent, because their clocks differ, begins with it.

What a span does not say it takes from those around it: the agent, the conversation. An agent that works within
another one has it as its parent. Causes follow the tree too, except where the content tells more: a tool is run
because of the reply that asked for it, and a request that brings a tool's result was made because of that reply.

Instrumentations often leave the id of a tool's call out. Then it is the first call of that name that nobody has
carried out yet, those with the same arguments before others, those of the same agent before those of others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal, NamedTuple

from soundstage.journal import Event, Routed, ToolCalled, ToolReturned
from soundstage.messages import ToolCall
from soundstage.otel import _meaning as meaning
from soundstage.otel import _names as names
from soundstage.otel._content import arguments_of, text_of, value_of
from soundstage.otel._meaning import SpanScope
from soundstage.otel._spans import Span

Edge = Literal["begin", "end"]
Key = tuple[str, str, Edge]  # trace, span, edge


class AssembledEvent(NamedTuple):
    """An event that is to be appended.

    Args:
        at: nanoseconds of Unix time.
        event: the event.
        key: the name by which other events refer to it.
        cause: the key of the event that led to it.
    """

    at: int
    event: Event
    key: Key
    cause: Key | None


class _RequestedCall(NamedTuple):
    """A call that a reply asked for."""

    call: ToolCall
    agent: str
    reply: Key


class SpanAssembly:
    """The spans of one trace so far, and the events made of them."""

    def __init__(self, trace: str) -> None:
        self.trace = trace
        self.spans: dict[str, Span] = {}
        self._places: dict[str, SpanScope] = {}
        self._asked: list[_RequestedCall] = []  # calls that nobody has carried out yet
        self._replies: dict[str, Key] = {}  # by id of a call: the reply that asked for it
        self._delegating: set[str] = set()  # agents whose newest reply asks for tools
        self._ids: dict[str, str] = {}  # by tool span: the id of its call

    def add(self, span: Span) -> None:
        """Take note of a span, so that others can refer to it."""
        self.spans[span.span] = span

    def events(self, spans: Sequence[Span], hidden: Collection[str] = ()) -> list[AssembledEvent]:
        """The events that these spans add, in their order.

        Args:
            spans: spans that were added, and whose events were not made before.
            hidden: ids of spans that the journal knows already; they add no events.
        """
        self._places = {}
        self._hidden = hidden
        self._conversation = self._only_conversation()
        events: list[AssembledEvent] = []
        for at, edge, span in _moments(spans):
            kind = span.stands_for
            if kind is not None and span.span not in hidden:
                event = _EVENTS[kind, edge](self, span, at)
                if event is not None:
                    events.append(event)
        return events

    def _only_conversation(self) -> str:
        """The conversation of spans that do not name one: the only one that is named, else the trace itself."""
        named = {found for span in self.spans.values() if (found := span.text(names.CONVERSATION))}
        return named.pop() if len(named) == 1 else self.trace

    def place(self, span: Span) -> SpanScope:
        """Where a span belongs. Parents that are not there, or go round in a circle, are no parents."""
        chain: list[Span] = []
        seen: set[str] = set()
        at: Span | None = span
        while at is not None and at.span not in self._places and at.span not in seen:
            seen.add(at.span)
            chain.append(at)
            at = self.spans.get(at.parent)
        around = self._places.get(at.span) if at is not None else None
        around = around or SpanScope("", "", self._conversation, None, None)
        for one in reversed(chain):
            around = self._places[one.span] = self._within(one, around)
        return self._places[span.span]

    def _within(self, span: Span, around: SpanScope) -> SpanScope:
        kind = span.stands_for
        agent, parent = span.text(names.AGENT) or around.agent, around.parent
        if kind == "agent":
            agent = meaning.agent_name(span)
            parent = around.agent if around.agent != agent else around.parent
        told = kind is not None and kind != "handoff" and span.span not in self._hidden
        mark = (self.trace, span.span) if told else around.mark
        return SpanScope(
            agent, parent, span.text(names.CONVERSATION) or around.conversation, around.mark, mark
        )

    def _assembled(
        self, span: Span, edge: Edge, at: int, event: Event, cause: Key | None = None
    ) -> AssembledEvent:
        if cause is None and edge == "end":
            cause = (self.trace, span.span, "begin")
        elif cause is None and (around := self.place(span).around) is not None:
            cause = (*around, "begin")
        return AssembledEvent(at, event, (self.trace, span.span, edge), cause)

    def agent_begins(self, span: Span, at: int) -> AssembledEvent | None:
        return self._assembled(span, "begin", at, meaning.agent_started(span, self.place(span)))

    def agent_ends(self, span: Span, at: int) -> AssembledEvent | None:
        return self._assembled(span, "end", at, meaning.agent_finished(span, self.place(span)))

    def model_begins(self, span: Span, at: int) -> AssembledEvent | None:
        event = meaning.model_requested(span, self.place(span))
        brought = (self._replies.get(result.call_id) for result in event.request.tool_results)
        cause = next((reply for reply in brought if reply is not None), None)
        return self._assembled(span, "begin", at, event, cause)

    def model_ends(self, span: Span, at: int) -> AssembledEvent | None:
        event = meaning.model_ended(span)
        if event is None:
            return None
        agent = self.place(span).agent
        key: Key = (self.trace, span.span, "end")
        calls = meaning.calls_in(event)
        self._asked += [_RequestedCall(call, agent, key) for call in calls]
        self._replies.update({call.id: key for call in calls})
        (self._delegating.add if calls else self._delegating.discard)(agent)
        return self._assembled(span, "end", at, event)

    def tool_begins(self, span: Span, at: int) -> AssembledEvent | None:
        place = self.place(span)
        name = span.text(names.TOOL) or span.name.removeprefix("execute_tool ")
        arguments, raw = arguments_of(value_of(span.get(names.CALL_ARGUMENTS)))
        asked = self._take(span.text(names.CALL_ID), name, arguments, place.agent)
        call_id = asked.call.id if asked is not None else span.text(names.CALL_ID) or span.span
        self._ids[span.span] = call_id
        event = ToolCalled(
            call_id=call_id,
            name=name,
            arguments=arguments or ({"input": raw} if raw else {}),
            agent=asked.agent if asked is not None else place.agent,
            conversation=place.conversation,
        )
        return self._assembled(span, "begin", at, event, asked.reply if asked is not None else None)

    def _take(self, call_id: str, name: str, arguments: dict[str, Any], agent: str) -> _RequestedCall | None:
        """The call that a tool span carries out; it is open no longer."""
        if call_id:
            fitting = [asked for asked in self._asked if asked.call.id == call_id]
        else:
            fitting = [asked for asked in self._asked if asked.call.name == name]
            fitting.sort(key=lambda asked: (asked.call.arguments != arguments, asked.agent != agent))
        if not fitting:
            return None
        self._asked.remove(fitting[0])
        return fitting[0]

    def tool_ends(self, span: Span, at: int) -> AssembledEvent | None:
        text = text_of(span.get(names.CALL_RESULT))
        if not text and span.failed:
            text = span.message or span.text(names.ERROR)
        event = ToolReturned(call_id=self._ids.get(span.span, span.span), text=text, is_error=span.failed)
        return self._assembled(span, "end", at, event)

    def handoff_begins(self, span: Span, at: int) -> AssembledEvent | None:
        """A hand-over that no tool call tells of."""
        sender, receiver = span.text(names.HANDOFF_FROM), span.text(names.HANDOFF_TO)
        if not receiver or (sender or self.place(span).agent) in self._delegating:
            return None
        conversation = self.place(span).conversation
        event = Routed(agents=(receiver,), reason=span.message, conversation=conversation)
        return self._assembled(span, "begin", at, event)

    def handoff_ends(self, span: Span, at: int) -> AssembledEvent | None:
        return None


_EVENTS: Final[dict[tuple[names.Kind, Edge], Callable[[SpanAssembly, Span, int], AssembledEvent | None]]] = {
    ("agent", "begin"): SpanAssembly.agent_begins,
    ("agent", "end"): SpanAssembly.agent_ends,
    ("model", "begin"): SpanAssembly.model_begins,
    ("model", "end"): SpanAssembly.model_ends,
    ("tool", "begin"): SpanAssembly.tool_begins,
    ("tool", "end"): SpanAssembly.tool_ends,
    ("handoff", "begin"): SpanAssembly.handoff_begins,
    ("handoff", "end"): SpanAssembly.handoff_ends,
}


def _moments(spans: Sequence[Span]) -> list[tuple[int, Edge, Span]]:
    """The beginnings and ends of spans, in order."""
    inside = {span.span for span in spans}
    children: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda span: (span.began, span.ended)):
        known = span.parent in inside and span.parent != span.span
        children.setdefault(span.parent if known else "", []).append(span)
    moments: list[tuple[int, Edge, Span]] = []
    told: set[str] = set()
    _visit(children, children.get("", []), moments, told)
    _visit(children, [span for span in spans if span.span not in told], moments, told)  # circles of parents
    moments.sort(key=lambda moment: moment[0])
    return moments


def _visit(
    children: dict[str, list[Span]],
    tops: list[Span],
    moments: list[tuple[int, Edge, Span]],
    told: set[str],
) -> None:
    """Add the moments of `tops` and all below them, in the order of the tree."""
    for top in tops:
        open_spans: list[tuple[Span, int, Edge]] = [(top, top.began, "begin")]
        while open_spans:
            span, began, edge = open_spans.pop()
            if edge == "end":
                moments.append((max(span.ended, began), "end", span))
            elif span.span not in told:
                told.add(span.span)
                moments.append((began, "begin", span))
                open_spans.append((span, began, "end"))
                below = reversed(children.get(span.span, ()))
                open_spans += [(child, max(child.began, began), "begin") for child in below]
