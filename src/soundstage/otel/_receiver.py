"""An OTLP collector for one run: what apps in other processes export becomes part of its journal."""

from __future__ import annotations

from typing import Final

from soundstage.journal import Journal, RequestRefused, RequestServed
from soundstage.net import LOOPBACK, Exchange, HttpRequest, HttpServer
from soundstage.otel import _otlp as otlp
from soundstage.otel._otlp import RequestRefusal
from soundstage.otel._recorder import SpanRecorder

LARGEST: Final = 64 * 1024 * 1024  # bytes of a body without its compression
_PATH_HINT: Final = ", ".join(otlp.SIGNALS)


class OtlpReceiver(HttpServer):
    """Receives spans over OTLP/HTTP, as Protobuf or JSON, on a loopback port.

    What the spans of a trace mean is in the journal when the trace's root span has come; `settle()`, or stopping,
    takes a trace without a root as it is. Metrics and logs are answered and counted (`RequestServed`), not kept.

    Args:
        journal: the journal of the run.
        host: loopback unless given.
        port: 0 picks a free one.

    Example:
        ::

            receiver = OtlpReceiver(journal)
            await receiver.start()
            app = await command(["my-app"], environment=receiver.environment())
    """

    def __init__(self, journal: Journal, *, host: str = LOOPBACK, port: int = 0) -> None:
        super().__init__(self._answer, journal, host=host, port=port, name="otlp-receiver")
        self._recorder = SpanRecorder(journal)

    def environment(self) -> dict[str, str]:
        """Variables that point an OpenTelemetry SDK at this receiver, and ask for the content of messages."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_TRACES_SAMPLER": "always_on",
            "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        }

    def settle(self) -> None:
        """Take what has come for all that will come: tell what traces without a root have."""
        self._recorder.settle()

    async def _stop(self) -> None:
        try:
            await super()._stop()
        finally:
            self._recorder.settle()

    async def _answer(self, request: HttpRequest, exchange: Exchange) -> None:
        kind = otlp.JSON
        try:
            signal = _signal(request)
            kind = otlp.content_type(request.headers.get("content-type", ""))
            body = otlp.unpack(request.body, request.headers.get("content-encoding", ""), LARGEST)
            answer = self._take(request, signal, otlp.decode(signal, body, kind), kind)
        except RequestRefusal as refusal:
            self.journal.append(
                RequestRefused(
                    format="otlp", path=request.path, status=refusal.status, message=refusal.message
                ),
                source=self.name,
            )
            body = otlp.encode_status(refusal.message, kind)
            await exchange.reply(refusal.status, {"content-type": kind}, body)
            return
        await exchange.reply(200, {"content-type": kind}, answer)

    def _take(self, request: HttpRequest, signal: otlp.OtlpSignal, message: object, kind: str) -> bytes:
        if signal.name != "traces":
            served = RequestServed(format="otlp", path=request.path, what=f"{signal.name}, not kept")
            self.journal.append(served, source=self.name)
            return otlp.encode_answer(signal, kind)
        batch = otlp.spans_of(message)
        self._recorder.add(batch.spans)
        return otlp.encode_answer(signal, kind, rejected=batch.rejected, reason=batch.reason)


def _signal(request: HttpRequest) -> otlp.OtlpSignal:
    """The kind of telemetry that a request posts.

    Raises:
        Refusal: for another path or method, or a body that is too large.
    """
    signal = otlp.SIGNALS.get(request.path)
    if signal is None:
        raise RequestRefusal(404, f"no such path: {request.path}; there are {_PATH_HINT}")
    if request.method != "POST":
        raise RequestRefusal(405, f"signals are sent with POST, not {request.method}")
    if request.too_large:
        raise RequestRefusal(413, "the body is too large")
    return signal
