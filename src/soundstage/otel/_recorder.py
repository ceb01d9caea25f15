"""Append spans to a journal as they come, and the events that they stand for when their trace is complete.

How it works. Every span is appended as `SpanReceived` when it comes, so that nothing is lost whatever happens
next. What it means can only be said when the spans around it are known, and those end later. So the spans of a
trace wait for its root, the span without a parent; then all that happened in it is appended in its order, with
the times at which it happened. Spans that come after their root are appended when they come. A trace whose root
never comes waits until `settle`, which exporters call when they are flushed or shut down and a receiver when it
stops.

A span that comes twice counts once: exporters send again what was not acknowledged. A span that tells what the
journal knows from the wire is matched with it and tells nothing new.

Times are those of the spans, on the journal's clock. If they cannot be right, because the trace would end in the
future or before the journal began, the whole trace is moved so that it ends now, and a note says by how much.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from soundstage.journal import Journal, Noted
from soundstage.otel._assembly import Key, SpanAssembly
from soundstage.otel._events import SpanMatched, SpanReceived
from soundstage.otel._matching import SOURCE, JournalExchanges
from soundstage.otel._spans import Span

NANO: Final = 1_000_000_000
SKEW: Final = 0.25  # seconds by which a span may be ahead of us before its clock is taken to be wrong


class _Trace:
    """The spans of one trace, and those that wait for its root."""

    __slots__ = ("assembly", "matched", "models_matched", "rooted", "waiting")

    def __init__(self, trace: str) -> None:
        self.assembly = SpanAssembly(trace)
        self.waiting: list[Span] = []
        self.rooted = False
        self.matched: set[str] = set()  # ids of spans that tell what is known
        self.models_matched = False


class _Times:
    """Turns the nanoseconds of spans into the journal's seconds."""

    def __init__(self, journal: Journal, spans: Sequence[Span]) -> None:
        clock = journal.clock
        now = clock.now()
        self._zero = clock.wall().timestamp() - now
        first = journal.read()[0].time if len(journal) else now
        latest = max(span.ended for span in spans) / NANO - self._zero
        wrong = latest > now + SKEW or latest < first - SKEW
        self.skew = latest - now if wrong else 0.0
        self._first, self._now = first, now

    def __call__(self, at: int) -> float:
        return min(max(at / NANO - self._zero - self.skew, self._first), self._now)


class SpanRecorder:
    """Appends spans, and what they mean, to a journal. May be called from any thread.

    Args:
        journal: where to append.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._exchanges = JournalExchanges(journal)
        self._traces: dict[str, _Trace] = {}
        self._positions: dict[Key, int] = {}
        self._received: set[tuple[str, str]] = set()
        self._looked_at = 0
        self._lock = threading.Lock()

    def add(self, spans: Iterable[Span]) -> None:
        """Append spans as they come."""
        with self._lock:
            complete: dict[str, _Trace] = {}
            for span in spans:
                if self._is_new(span):
                    self.journal.append(span.received(), source=SOURCE)
                    trace = self._traces.setdefault(span.trace, _Trace(span.trace))
                    trace.assembly.add(span)
                    trace.waiting.append(span)
                    trace.rooted = trace.rooted or not span.parent
                    if trace.rooted:
                        complete[span.trace] = trace
            for trace in complete.values():
                self._append_events(trace)

    def settle(self) -> None:
        """Treat every trace as complete: append the events of traces without a root too."""
        with self._lock:
            for trace in self._traces.values():
                self._append_events(trace)

    def _is_new(self, span: Span) -> bool:
        """Whether the span is not in the journal yet, from whomever."""
        for record in self.journal.read(self._looked_at, SpanReceived):
            event = record.event
            assert isinstance(event, SpanReceived)
            self._received.add((event.trace, event.span))
        self._looked_at = len(self.journal)
        return span.identity not in self._received

    def _append_events(self, trace: _Trace) -> None:
        spans, trace.waiting = trace.waiting, []
        meant = [span for span in spans if span.stands_for is not None]
        if not meant:
            return
        times = _Times(self.journal, meant)
        if times.skew:
            text = (
                f"the clock of a trace is {abs(times.skew):.3f} s {'ahead' if times.skew > 0 else 'behind'}"
            )
            facts = {"trace": trace.assembly.trace, "seconds": round(times.skew, 6)}
            self.journal.append(Noted(text=f"{text}; its end is taken for now", data=facts), source=SOURCE)
        self._match(trace, meant, times)
        for made in trace.assembly.events(spans, trace.matched):
            cause = self._positions.get(made.cause) if made.cause is not None else None
            at = times(made.at)
            self._positions[made.key] = self.journal.append(made.event, source=SOURCE, cause=cause, at=at)

    def _match(self, trace: _Trace, spans: list[Span], times: _Times) -> None:
        """Find the spans of steps that are in the journal already."""
        models = [span for span in spans if span.stands_for == "model"]
        known = self._exchanges.models(models, times, reliable=not times.skew)
        if not known and not trace.models_matched:
            return
        trace.models_matched = True
        told: dict[str, int | None] = dict(known)
        for span in spans:
            if span.stands_for == "tool" and (position := self._exchanges.tool(span)) is not None:
                told[span.span] = position
        open_spans = self._around(trace, [span for span in models if span.span not in told])
        for span in spans:
            if span.stands_for in ("agent", "handoff") and span.span not in open_spans:
                told[span.span] = None
        for span in spans:
            if span.span in told:
                event = SpanMatched(trace=span.trace, span=span.span, what=span.stands_for or "model")
                self.journal.append(event, source=SOURCE, cause=told[span.span])
        trace.matched |= told.keys()

    @staticmethod
    def _around(trace: _Trace, spans: list[Span]) -> set[str]:
        """Ids of all spans around these."""
        found: set[str] = set()
        for span in spans:
            at = trace.assembly.spans.get(span.parent)
            while at is not None and at.span not in found:
                found.add(at.span)
                at = trace.assembly.spans.get(at.parent)
        return found
