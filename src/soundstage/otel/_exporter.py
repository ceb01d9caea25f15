"""Spans of this process, into a journal."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from soundstage.journal import Journal
from soundstage.otel._recorder import SpanRecorder
from soundstage.otel._spans import from_sdk


class JournalSpanExporter(SpanExporter):
    """Makes the spans of an app in this process part of a run. Give it to a span processor of the SDK.

    What the spans of a trace mean is in the journal when the trace's root span has ended; `force_flush` and
    `shutdown` take a trace without a root as it is.

    Args:
        journal: the journal of the run.

    Example:
        ::

            provider = TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    """

    def __init__(self, journal: Journal) -> None:
        self._recorder = SpanRecorder(journal)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take ended spans."""
        self._recorder.add([from_sdk(span) for span in spans])
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Tell what has come so far, whether or not its root has."""
        self._recorder.settle()
        return True

    def shutdown(self) -> None:
        """The same, at the end."""
        self._recorder.settle()
