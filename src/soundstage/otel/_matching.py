"""Match spans with requests that are in the journal already: those over the wire, or through a model of ours.

A model's span and a request of the journal are the same call if the same model was asked and

- the span quotes the reply: the same text and the same ids of tool calls; or else
- the request was made while the span lasted.

Spans that quote are looked at first, so that one without content does not take what belongs to another. A
request is matched by one span only. What the wire saw is the better account: it has all chunks, and it cannot
be wrong about what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from soundstage.journal import Journal, ModelFailed, ModelRequested, ModelResponded
from soundstage.messages import ModelRequest, ModelResponse
from soundstage.otel import _names as names
from soundstage.otel._content import arguments_of, value_of
from soundstage.otel._meaning import answer_of
from soundstage.otel._spans import Span

SOURCE: Final = "otel"
NEARLY: Final = 0.005  # seconds; two ways of reading one machine's clock


class RequestedCall(NamedTuple):
    """A tool call in a reply that is known."""

    id: str
    name: str
    position: int
    arguments: object


class _Exchange:
    """A request of the journal, and its reply."""

    __slots__ = ("matched", "position", "request", "response", "time")

    def __init__(self, position: int, time: float, request: ModelRequest) -> None:
        self.position = position
        self.time = time
        self.request = request
        self.response: ModelResponse | None = None
        self.matched = False


class JournalExchanges:
    """A view of the model traffic in a journal that did not come from spans.

    Args:
        journal: the journal; looked at as it grows.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._looked_at = 0
        self._exchanges: dict[int, _Exchange] = {}
        self._calls: list[RequestedCall] = []

    def look(self) -> None:
        """See what is new in the journal."""
        wanted = (ModelRequested, ModelResponded, ModelFailed)
        records = self._journal.read(self._looked_at)
        self._looked_at += len(records)
        for record in records:
            if record.source == SOURCE or not isinstance(record.event, wanted):
                continue
            if isinstance(record.event, ModelRequested):
                exchange = _Exchange(record.position, record.time, record.event.request)
                self._exchanges[record.position] = exchange
            elif isinstance(record.event, ModelResponded) and record.cause in self._exchanges:
                response = record.event.response
                self._exchanges[record.cause].response = response
                self._calls += [
                    RequestedCall(call.id, call.name, record.position, call.arguments)
                    for call in response.tool_calls
                ]

    def models(
        self, spans: Sequence[Span], seconds: Callable[[int], float], *, reliable: bool
    ) -> dict[str, int]:
        """By id of a model's span: the position of the request that it tells of.

        Args:
            spans: model spans.
            seconds: turns nanoseconds of Unix time into the journal's time.
            reliable: whether the spans' times can be compared with the journal's.
        """
        self.look()
        found: dict[str, int] = {}
        for fits in (_quotes, _lasts) if reliable else (_quotes,):
            for span in spans:
                if span.span in found:
                    continue
                for exchange in self._exchanges.values():
                    if not exchange.matched and _same_model(span, exchange) and fits(span, exchange, seconds):
                        exchange.matched = True
                        found[span.span] = exchange.position
                        break
        return found

    def tool(self, span: Span) -> int | None:
        """The position of the reply that asked for what a tool's span carries out."""
        call_id = span.text(names.CALL_ID)
        if call_id:
            fitting = [call for call in self._calls if call.id == call_id]
        else:
            arguments, _ = arguments_of(value_of(span.get(names.CALL_ARGUMENTS)))
            fitting = [call for call in self._calls if call.name == span.text(names.TOOL)]
            fitting.sort(key=lambda call: call.arguments != arguments)
        if not fitting:
            return None
        self._calls.remove(fitting[0])
        return fitting[0].position


def _same_model(span: Span, exchange: _Exchange) -> bool:
    asked = span.text(names.REQUEST_MODEL) or span.text(names.RESPONSE_MODEL)
    answered = exchange.response.model if exchange.response is not None else ""
    return asked in ("", exchange.request.model, answered)


def _quotes(span: Span, exchange: _Exchange, _: Callable[[int], float]) -> bool:
    """Whether the span has the reply."""
    if exchange.response is None or span.get(names.OUTPUT) is None:
        return False
    quoted, said = answer_of(span), exchange.response
    calls = [call.id for call in quoted.tool_calls]
    return quoted.text == said.text and calls == [call.id for call in said.tool_calls]


def _lasts(span: Span, exchange: _Exchange, seconds: Callable[[int], float]) -> bool:
    """Whether the request was made while the span lasted."""
    return seconds(span.began) - NEARLY <= exchange.time <= seconds(span.ended) + NEARLY
