"""Making spans with an SDK, for frameworks that tell what they do in ways of their own."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import Any, Final

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from soundstage.otel import _names as names

_KINDS: Final = {"chat": SpanKind.CLIENT}


class SpanMaker:
    """Starts and ends spans by the ids that a framework gives them. May be called from any thread.

    Args:
        provider: where they go.
        framework: the name of the instrumentation.
    """

    def __init__(self, provider: TracerProvider, framework: str) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(f"soundstage.otel.{framework}")
        self._open: dict[Hashable, Span] = {}
        self._lock = threading.Lock()

    def begin(self, key: Hashable, parent: Hashable, operation: str, name: str, **attributes: Any) -> None:
        """Start the span `key` within the span `parent`, if that one is open."""
        with self._lock:
            around = self._open.get(parent)
        span = self._tracer.start_span(
            f"{operation} {name}".strip(),
            context=set_span_in_context(around) if around is not None else None,
            kind=_KINDS.get(operation, SpanKind.INTERNAL),
            attributes={names.OPERATION: operation},
        )
        _set(span, attributes)
        with self._lock:
            self._open[key] = span

    def end(self, key: Hashable, attributes: Mapping[str, Any], *, error: str | None = None) -> None:
        """End a span; nothing happens if it is not open."""
        with self._lock:
            span = self._open.pop(key, None)
        if span is None:
            return
        _set(span, attributes)
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end()

    def flush(self) -> None:
        """Have everything exported."""
        self._provider.force_flush()


def _set(span: Span, attributes: Mapping[str, Any]) -> None:
    """Set those attributes that have a value."""
    for name, value in attributes.items():
        if value not in (None, "", [], ()):
            span.set_attribute(name, value)
