"""OTLP over HTTP: bytes in, spans out; and the answers that exporters expect. Pure.

Source: https://opentelemetry.io/docs/specs/otlp/ (1.10.0), OTLP/HTTP. Bodies are Protobuf or JSON, plain or
compressed. In JSON, ids are hexadecimal and not base64, enums are numbers, and keys that we do not know are
ignored. An answer has the content type of its request; an error is a `Status` whose message says why.
"""

from __future__ import annotations

import base64
import importlib
import json
import zlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from soundstage.otel._spans import Span, Status

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
TYPES: Final = (PROTOBUF, JSON)
KINDS: Final = ("internal", "internal", "server", "client", "producer", "consumer")
STATUSES: Final[tuple[Status, ...]] = ("unset", "ok", "error")
_WINDOWS: Final = {"gzip": 31, "deflate": 15}  # what zlib calls these encodings
_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})


class OtlpSignal(NamedTuple):
    """A kind of telemetry that OTLP posts to a path of its own: traces, metrics or logs."""

    name: str
    module: str
    message: str

    def load(self, part: str) -> Any:
        """The Protobuf class of the request or the response."""
        module = importlib.import_module(f"opentelemetry.proto.collector.{self.module}_pb2")
        return getattr(module, f"{self.message}Service{part}")


SIGNALS: Final = {
    "/v1/traces": OtlpSignal("traces", "trace.v1.trace_service", "ExportTrace"),
    "/v1/metrics": OtlpSignal("metrics", "metrics.v1.metrics_service", "ExportMetrics"),
    "/v1/logs": OtlpSignal("logs", "logs.v1.logs_service", "ExportLogs"),
}


class RequestRefusal(Exception):  # noqa: N818  (it says what happened)
    """A request that cannot be taken, and the status that it gets."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class DecodedSpans(NamedTuple):
    """The spans of a request, and how many of them were no spans."""

    spans: list[Span]
    rejected: int
    reason: str


def content_type(header: str) -> str:
    """The type of a request's body.

    Raises:
        Refusal: for one that OTLP does not have.
    """
    given = header.partition(";")[0].strip().lower()
    if given not in TYPES:
        raise RequestRefusal(415, f"the content type is {' or '.join(TYPES)}, not {given or 'missing'}")
    return given


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """The body without its compression.

    Raises:
        Refusal: for an encoding that we do not know, for broken data, for more than `limit` bytes.
    """
    name = encoding.strip().lower()
    if name in ("", "identity", "none"):
        return body
    window = _WINDOWS.get(name)
    if window is None:
        raise RequestRefusal(415, f"the content encoding is {', '.join(_WINDOWS)} or none, not {name}")
    try:
        stream = zlib.decompressobj(window)
        plain = stream.decompress(body, limit + 1)
    except zlib.error as error:
        raise RequestRefusal(400, f"the body is not {name}: {error}") from None
    if len(plain) > limit:
        raise RequestRefusal(413, f"the body has more than {limit} bytes")
    if not stream.eof:
        raise RequestRefusal(400, f"the body is not {name}: it breaks off")
    return plain


def _protobuf(module: str) -> Any:
    """A module of Protobuf, which has no types of its own."""
    return importlib.import_module(f"google.protobuf.{module}")


def decode(signal: OtlpSignal, body: bytes, kind: str) -> Any:
    """The request message in a body.

    Raises:
        Refusal: if it is none.
    """
    json_format, errors = _protobuf("json_format"), _protobuf("message")
    message = signal.load("Request")()
    try:
        if kind == PROTOBUF:
            message.ParseFromString(body)
        else:
            value = json.loads(body)
            if not isinstance(value, dict):
                raise TypeError("expected an object with `resourceSpans` or the like")
            json_format.ParseDict(_with_base64(value), message, ignore_unknown_fields=True)
    except (
        errors.DecodeError,
        json_format.ParseError,
        ValueError,
        RecursionError,
        TypeError,
        AttributeError,
        SystemError,  # of Protobuf's C code, for a name that holds half a surrogate pair
    ) as error:
        why = str(error).partition("\n")[0][:200]
        raise RequestRefusal(400, f"the body is not an export request for {signal.name}: {why}") from None
    return message


def _with_base64(value: Any) -> Any:
    """JSON with its hexadecimal ids as base64, which is how Protobuf's own JSON has bytes."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode()
            if key in _IDS and isinstance(item, str)
            else _with_base64(item)
            for key, item in value.items()
        }
    return [_with_base64(item) for item in value] if isinstance(value, list) else value


def spans_of(message: Any) -> DecodedSpans:
    """The spans of an `ExportTraceServiceRequest`. What has no valid ids is no span."""
    spans: list[Span] = []
    rejected = 0
    for resource_spans in message.resource_spans:
        service = str(_attributes(resource_spans.resource.attributes).get("service.name", ""))
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                if _valid(span.trace_id, 16) and _valid(span.span_id, 8):
                    spans.append(_span(span, service, scope_spans.scope.name))
                else:
                    rejected += 1
    reason = "a trace id has 16 bytes and a span id 8, and not all are zero" if rejected else ""
    return DecodedSpans(spans, rejected, reason)


def _valid(identity: bytes, length: int) -> bool:
    return len(identity) == length and any(identity)


def _span(span: Any, service: str, scope: str) -> Span:
    return Span(
        trace=span.trace_id.hex(),
        span=span.span_id.hex(),
        parent=span.parent_span_id.hex() if any(span.parent_span_id) else "",
        name=span.name,
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else "internal",
        began=span.start_time_unix_nano,
        ended=max(span.end_time_unix_nano, span.start_time_unix_nano),
        status=STATUSES[span.status.code] if 0 <= span.status.code < len(STATUSES) else "unset",
        message=span.status.message,
        service=service,
        scope=scope,
        attributes=_attributes(span.attributes),
        events=tuple(
            {"name": event.name, "at": event.time_unix_nano, "attributes": _attributes(event.attributes)}
            for event in span.events
        ),
    )


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    """The JSON value of an `AnyValue`; bytes as base64."""
    which = value.WhichOneof("value")
    if which is None:
        return None
    found = getattr(value, which)
    if which == "array_value":
        return [_value(item) for item in found.values]
    if which == "kvlist_value":
        return _attributes(found.values)
    return base64.b64encode(found).decode() if which == "bytes_value" else found


def encode_answer(signal: OtlpSignal, kind: str, *, rejected: int = 0, reason: str = "") -> bytes:
    """The body of an answer with status 200. It names what was rejected, if anything was."""
    answer = signal.load("Response")()
    if rejected:
        answer.partial_success.rejected_spans = rejected
        answer.partial_success.error_message = reason
    if kind == PROTOBUF:
        encoded: bytes = answer.SerializeToString()
        return encoded
    return str(_protobuf("json_format").MessageToJson(answer, indent=None)).encode()


def encode_status(message: str, kind: str) -> bytes:
    """The body of an error: a `google.rpc.Status` with a message, its field 2."""
    if kind != PROTOBUF:
        return json.dumps({"message": message}).encode()
    text = message.encode()
    return b"\x12" + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
