"""Odd exports over OTLP: a refusal, never a 500, and a journal that reads back."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from soundstage.clock import SystemClock
from soundstage.journal import Journal
from soundstage.net import HttpRequest
from soundstage.otel import OtlpReceiver
from support.odd import SLOWEST, answer, assert_readable, no_longer_than, posted


def _text(key: str, value: str) -> dict:
    return {"key": key, "value": {"stringValue": value}}


SPAN = {
    "traceId": "0af7651916cd43dd8448eb211c80319c",
    "spanId": "b7ad6b7169203331",
    "parentSpanId": "",
    "name": "chat m",
    "kind": 3,
    "startTimeUnixNano": "1700000000000000000",
    "endTimeUnixNano": "1700000001000000000",
    "attributes": [
        _text("gen_ai.operation.name", "chat"),
        _text("gen_ai.request.model", "m"),
        _text("gen_ai.tool.name", "weather"),
        _text("gen_ai.input.messages", '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'),
        _text("gen_ai.output.messages", '[{"role":"assistant","parts":[{"type":"text","content":"ho"}]}]'),
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}},
        {
            "key": "gen_ai.response.finish_reasons",
            "value": {"arrayValue": {"values": [{"stringValue": "stop"}]}},
        },
        {"key": "x", "value": {"kvlistValue": {"values": [_text("a", "b")]}}},
    ],
    "events": [
        {"name": "gen_ai.choice", "timeUnixNano": "1700000000500000000", "attributes": [_text("a", "b")]}
    ],
    "status": {"code": 2, "message": "no"},
}
EXPORT = {
    "resourceSpans": [
        {
            "resource": {"attributes": [_text("service.name", "app")]},
            "scopeSpans": [{"scope": {"name": "s"}, "spans": [SPAN]}],
        }
    ]
}
KINDS = ["application/json", "application/x-protobuf", "application/json; charset=x", "", "text/plain"]
ENCODINGS = ["", "gzip", "deflate", "identity", "br"]


@st.composite
def protobufs(draw: st.DrawFn) -> bytes:
    """A valid export of which some bytes are changed."""
    from google.protobuf import json_format

    body = json_format.ParseDict(
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x", "attributes": SPAN["attributes"]}]}]}]},
        ExportTraceServiceRequest(),
    ).SerializeToString()
    start = draw(st.integers(0, len(body)))
    return body[:start] + draw(st.binary(max_size=8)) + body[start + draw(st.integers(0, 8)) :]


@given(data=st.data())
def test_no_odd_export_makes_a_500_or_a_journal_that_cannot_be_read(data):
    body = data.draw(st.one_of(posted(EXPORT), posted(EXPORT), protobufs(), st.binary(max_size=40)))
    kind = data.draw(st.sampled_from([KINDS[0], KINDS[0], *KINDS]))
    encoding = data.draw(st.sampled_from(["", "", "", *ENCODINGS]))
    path = data.draw(st.sampled_from(["/v1/traces"] * 4 + ["/v1/metrics", "/v1/logs", "/v1", ""]))
    headers = {"content-type": kind, "content-encoding": encoding}

    async def main():
        journal = Journal(clock=SystemClock())
        receiver = OtlpReceiver(journal)
        status, answered = await answer(receiver._answer, HttpRequest("POST", path, "", headers, body))
        assert status < 500, answered
        receiver.settle()
        assert_readable(journal)

    with no_longer_than(SLOWEST):
        asyncio.run(main())
