"""A span, wherever it comes from: an SDK's object or bytes on the wire. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from soundstage.journal import readable
from soundstage.otel import _names as names
from soundstage.otel._events import SpanReceived

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

LONGEST: Final = 8192  # characters of a text in a `SpanReceived`
Status = Literal["unset", "ok", "error"]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One span with all its attributes; see `SpanReceived` for the fields."""

    trace: str
    span: str
    parent: str = ""
    name: str = ""
    kind: str = "internal"
    began: int = 0
    ended: int = 0
    status: Status = "unset"
    message: str = ""
    service: str = ""
    scope: str = ""
    attributes: dict[str, Any] = {}
    events: tuple[dict[str, Any], ...] = ()

    @property
    def identity(self) -> tuple[str, str]:
        """The ids of trace and span, which no other span has."""
        return self.trace, self.span

    def get(self, name: str) -> Any:
        """An attribute by its name today; older names, and attributes of events within the span, count too."""
        for known in (name, *names.OLDER.get(name, ())):
            if known in self.attributes:
                return self.attributes[known]
        for event in self.events:
            if str(event["name"]).startswith("gen_ai.") and name in event["attributes"]:
                return event["attributes"][name]
        return None

    def text(self, name: str) -> str:
        """An attribute that is a text; empty if it is not there."""
        value = self.get(name)
        return value if isinstance(value, str) else "" if value is None else str(value)

    def number(self, name: str) -> int:
        """An attribute that is a number from 0; 0 if it is not there, or something else."""
        value = self.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        real = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return max(int(value), 0) if real else 0

    @property
    def stands_for(self) -> names.Kind | None:
        """The kind of step that it stands for; `None` if it is only kept."""
        operation = self.text(names.OPERATION)
        if operation:
            return names.KINDS.get(operation)
        if self.get(names.TOOL) is not None and self.get(names.CALL_ID) is not None:
            return "tool"
        return "model" if self.get(names.REQUEST_MODEL) is not None and self._says_something() else None

    def _says_something(self) -> bool:
        return any(self.get(name) is not None for name in (names.OUTPUT, names.OUTPUT_TOKENS))

    @property
    def failed(self) -> bool:
        """Whether what it stands for went wrong."""
        return self.status == "error" or names.ERROR in self.attributes

    def received(self) -> SpanReceived:
        """The event that keeps it."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        fields["attributes"] = _short(self.attributes)
        fields["events"] = tuple(_short(event) for event in self.events)
        return SpanReceived(**fields)


def _short(value: Any) -> Any:
    """`value` with long texts cut, and without what JSON has no form for."""
    if isinstance(value, str):
        value = readable(value)
        left = len(value) - LONGEST
        return value if left <= 0 else f"{value[:LONGEST]}... ({left} characters more)"
    if isinstance(value, Mapping):
        return {readable(str(key)): _short(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else repr(value)


def from_sdk(span: ReadableSpan) -> Span:
    """A span of the OpenTelemetry SDK."""
    context = span.get_span_context()
    assert context is not None
    scope = span.instrumentation_scope
    return Span(
        trace=f"{context.trace_id:032x}",
        span=f"{context.span_id:016x}",
        parent=f"{span.parent.span_id:016x}" if span.parent is not None else "",
        name=readable(span.name),
        kind=span.kind.name.lower(),
        began=span.start_time or 0,
        ended=span.end_time or span.start_time or 0,
        status=_status(span.status.status_code.name),
        message=readable(span.status.description or ""),
        service=readable(str(span.resource.attributes.get("service.name", ""))),
        scope=readable(scope.name) if scope is not None else "",
        attributes=_plain(span.attributes or {}),
        events=tuple(
            {
                "name": readable(event.name),
                "at": event.timestamp,
                "attributes": _plain(event.attributes or {}),
            }
            for event in span.events
        ),
    )


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {readable(name): _value(value) for name, value in attributes.items()}


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {readable(str(name)): _value(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_value(item) for item in value]
    return readable(value) if isinstance(value, str) else value


def _status(name: str) -> Status:
    return "error" if name == "ERROR" else "ok" if name == "OK" else "unset"
