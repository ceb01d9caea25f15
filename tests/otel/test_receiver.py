"""OTLP over HTTP: what is taken, what is refused, and how it is answered."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from soundstage.journal import Journal, RequestRefused, RequestServed
from soundstage.otel import JournalSpanExporter, OtlpReceiver, SpanReceived, export_spans
from soundstage.otel import _receiver as receiver_module
from soundstage.trace import Trace

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
EXAMPLE = {  # the shape of the example in the OTLP repository
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "my.service"}}]},
            "somethingNew": 1,
            "scopeSpans": [
                {
                    "scope": {"name": "my.library", "version": "1.0.0"},
                    "spans": [
                        {
                            "traceId": TRACE.upper(),
                            "spanId": SPAN,
                            "parentSpanId": "eee19b7ec3c1b173",
                            "name": "I'm a server span",
                            "startTimeUnixNano": "1544712660000000000",
                            "endTimeUnixNano": "1544712661000000000",
                            "kind": 2,
                            "attributes": [
                                {"key": "text", "value": {"stringValue": "some value"}},
                                {"key": "number", "value": {"intValue": "7"}},
                                {"key": "list", "value": {"arrayValue": {"values": [{"boolValue": True}]}}},
                                {
                                    "key": "map",
                                    "value": {
                                        "kvlistValue": {
                                            "values": [{"key": "a", "value": {"doubleValue": 1.5}}]
                                        }
                                    },
                                },
                                {"key": "bytes", "value": {"bytesValue": "aGk="}},
                                {"key": "none", "value": {}},
                            ],
                            "status": {"code": 2, "message": "no"},
                            "events": [{"name": "e", "timeUnixNano": "1544712660300000000"}],
                        }
                    ],
                }
            ],
        }
    ]
}


def serve(body: Callable[[OtlpReceiver, httpx.AsyncClient], Awaitable[Any]]) -> Any:
    """The result of `body` with a receiver that runs."""

    async def main() -> Any:
        receiver = OtlpReceiver(Journal())
        await receiver.start()
        try:
            async with httpx.AsyncClient(base_url=receiver.url, trust_env=False) as client:
                return await body(receiver, client)
        finally:
            await receiver.stop()

    return asyncio.run(main())


def post(path: str, content: bytes, headers: dict[str, str]) -> tuple[httpx.Response, Journal]:
    async def body(receiver, client):
        return await client.post(path, content=content, headers=headers), receiver.journal

    return serve(body)


def request_of(journal: Journal) -> bytes:
    """A run as the body that an OTLP exporter sends."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    from soundstage.otel._export import spans_of_run

    return encode_spans(spans_of_run(journal.read())).SerializeToString()


@pytest.mark.parametrize("compression", list(Compression))
def test_a_run_that_goes_over_otlp_is_the_same_as_one_that_stays_in_process(team_run, compression):
    ours, in_process = team_run(), Journal()
    export_spans(ours, JournalSpanExporter(in_process))

    async def body(receiver, client):
        exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces", compression=compression)
        await asyncio.to_thread(export_spans, ours, exporter)
        return Trace.of(receiver.journal)

    trace = serve(body)
    assert trace.normalised()["conversations"] == Trace.of(ours).normalised()["conversations"]
    assert trace.normalised() == Trace.of(in_process).normalised()


def test_json_is_taken_as_the_specification_has_it():
    answer, journal = post("/v1/traces", json.dumps(EXAMPLE).encode(), JSON)
    assert (answer.status_code, answer.json(), answer.headers["content-type"]) == (
        200,
        {},
        JSON["content-type"],
    )
    [event] = journal.events(SpanReceived)
    assert event == SpanReceived(
        trace=TRACE,
        span=SPAN,
        parent="eee19b7ec3c1b173",
        name="I'm a server span",
        kind="server",
        began=1544712660000000000,
        ended=1544712661000000000,
        status="error",
        message="no",
        service="my.service",
        scope="my.library",
        attributes={
            "text": "some value",
            "number": 7,
            "list": [True],
            "map": {"a": 1.5},
            "bytes": "aGk=",
            "none": None,
        },
        events=({"name": "e", "at": 1544712660300000000, "attributes": {}},),
    )


def test_protobuf_is_answered_with_protobuf(team_run):
    answer, journal = post("/v1/traces", request_of(team_run()), PROTOBUF)
    assert (answer.status_code, answer.headers["content-type"]) == (200, PROTOBUF["content-type"])
    assert ExportTraceServiceResponse.FromString(answer.content) == ExportTraceServiceResponse()
    assert len(Trace.of(journal).steps) == 4


def test_a_type_may_have_parameters_and_any_case(team_run):
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert post("/v1/traces", json.dumps(EXAMPLE).encode(), headers)[0].status_code == 200


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"\xff\xff\xff", PROTOBUF),
        (b"\x0a\x05ab", PROTOBUF),
        (b"{", JSON),
        (b"[]", JSON),
        (b'"text"', JSON),
        (b'{"resourceSpans": 1}', JSON),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}', JSON),
        (b"[" * 100_000, JSON),
        (b"\xff", JSON),
        (b"no gzip", PROTOBUF | {"content-encoding": "gzip"}),
        (gzip.compress(b"\x0a\x00" * 50, mtime=0)[:-9], PROTOBUF | {"content-encoding": "gzip"}),
    ],
)
def test_a_malformed_body_is_answered_with_400_and_a_status_that_says_why(body, headers):
    answer, journal = post("/v1/traces", body, headers)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == headers["content-type"]
    if headers["content-type"] == JSON["content-type"]:
        message = answer.json()["message"]
    else:
        message = Status.FromString(answer.content).message
    assert "the body is not" in message
    [refused] = journal.events(RequestRefused)
    assert (refused.format, refused.status, refused.message) == ("otlp", 400, message)
    assert Trace.of(journal).failures[0].what == "request"


@pytest.mark.parametrize("headers", [{"content-type": "text/plain"}, {}])
def test_another_content_type_is_answered_with_415(headers):
    answer, journal = post("/v1/traces", b"x", headers)
    assert answer.status_code == 415
    assert "application/x-protobuf or application/json" in answer.json()["message"]
    assert journal.events(RequestRefused)[0].status == 415


def test_another_encoding_is_answered_with_415():
    answer, _ = post("/v1/traces", b"x", PROTOBUF | {"content-encoding": "br"})
    assert answer.status_code == 415


def test_other_paths_and_methods_are_refused():
    async def body(receiver, client):
        return (await client.post("/v1/spans", content=b"{}", headers=JSON)), await client.get("/v1/traces")

    missing, got = serve(body)
    assert missing.status_code == 404
    assert "/v1/traces" in missing.json()["message"]
    assert got.status_code == 405


def test_what_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(receiver_module, "LARGEST", 1000)
    packed = zlib.compress(b"\0" * 100_000)
    answer, _ = post("/v1/traces", packed, PROTOBUF | {"content-encoding": "deflate"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("signal", "kind"),
    [("metrics", ExportMetricsServiceResponse), ("logs", ExportLogsServiceResponse)],
)
def test_metrics_and_logs_are_answered_and_counted_not_kept(signal, kind):
    answer, journal = post(f"/v1/{signal}", b"", PROTOBUF)
    assert answer.status_code == 200
    assert kind.FromString(answer.content) == kind()
    assert [event.what for event in journal.events(RequestServed)] == [f"{signal}, not kept"]
    assert post(f"/v1/{signal}", b"{", JSON)[0].status_code == 400


def test_spans_without_valid_ids_are_rejected_by_number_and_the_others_taken():
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    spans.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN), name="good")
    spans.add(trace_id=bytes(16), span_id=bytes.fromhex(SPAN))
    spans.add(trace_id=b"short", span_id=bytes.fromhex(SPAN))
    spans.add(trace_id=bytes.fromhex(TRACE))
    answer, journal = post("/v1/traces", request.SerializeToString(), PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (answer.status_code, partial.rejected_spans) == (200, 3)
    assert "16 bytes" in partial.error_message
    assert [event.name for event in journal.events(SpanReceived)] == ["good"]


def test_numbers_that_no_enum_has_are_taken_for_the_default():
    request = ExportTraceServiceRequest()
    span = (
        request.resource_spans.add()
        .scope_spans.add()
        .spans.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN), start_time_unix_nano=5)
    )
    span.kind = 77
    span.status.code = 77
    _, journal = post("/v1/traces", request.SerializeToString(), PROTOBUF)
    [event] = journal.events(SpanReceived)
    assert (event.kind, event.status, event.began, event.ended) == ("internal", "unset", 5, 5)


def test_an_empty_request_is_fine():
    assert post("/v1/traces", b"", PROTOBUF)[0].status_code == 200


def test_stopping_tells_what_has_no_root():
    spans = EXAMPLE["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    chat = spans | {
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-4o"}},
        ],
        "status": {},
    }
    example = {"resourceSpans": [{"scopeSpans": [{"spans": [chat]}]}]}
    answer, journal = post("/v1/traces", json.dumps(example).encode(), JSON)
    assert answer.status_code == 200
    assert [step.model for step in Trace.of(journal).steps] == ["gpt-4o"]


def test_the_environment_points_an_sdk_at_the_receiver():
    async def body(receiver, client):
        return receiver.url, receiver.environment()

    url, environment = serve(body)
    assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == url
    assert environment["OTEL_EXPORTER_OTLP_PROTOCOL"] == "http/protobuf"
    assert environment["OTEL_METRICS_EXPORTER"] == environment["OTEL_LOGS_EXPORTER"] == "none"
