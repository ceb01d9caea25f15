"""A live model against a loopback server that speaks as providers do, and against servers that do not."""

from __future__ import annotations

import asyncio
import contextlib
import json

import httpx
import pytest

from soundstage.clock import run
from soundstage.errors import (
    ConnectionCut,
    EnvironmentProblem,
    NetworkForbiddenError,
    ProviderError,
    ScriptError,
    SoundstageError,
)
from soundstage.live import LiveModel
from soundstage.live._model import translate
from soundstage.messages import FinishChunk, StartChunk, TextChunk, Usage
from soundstage.models import complete, kind_of
from soundstage.tapes import RecordingModel, Tape

OPENAI = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"model": "gpt-4o-2024", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"model": "gpt-4o-2024", "choices": [{"index": 0, "delta": {"content": "Hel"}}]},
        {
            "model": "gpt-4o-2024",
            "choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": None}],
        },
        {"model": "gpt-4o-2024", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"model": "gpt-4o-2024", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    )
)
DONE = b"data: [DONE]\n\n"
ANTHROPIC = b"".join(
    f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    for event in (
        {"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )
)
STREAM = {"content-type": "text/event-stream"}


class Server:
    """Answers each connection with the next prepared answer, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self._served = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        await self._server.wait_closed()
        await asyncio.gather(*self._served)

    async def _serve(self, reader, writer):
        self._served.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError):  # a client may leave at any time
            await self._answer(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.asked.append((head[0], headers, json.loads(body)))
        await self.answers.pop(0)(reader, writer)


def answer(status, headers, *pieces, cut=False):
    """An answer in pieces; one that is cut says that more would come."""

    async def send(reader, writer):
        size = sum(map(len, pieces)) + (1 if cut else 0)
        lines = [f"HTTP/1.1 {status} X", f"content-length: {size}"]
        writer.write("\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items())]).encode())
        writer.write(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return send


def live(url, provider="openai", **options):
    base = {"openai": f"{url}/v1", "anthropic": url}[provider]
    return LiveModel(provider, api_key="test-key", base_url=base, allow=True, **options)


def chunks_from(request, *answers, provider="openai", **options):
    async def main():
        async with Server(*answers) as server:
            got = [chunk async for chunk in live(server.url, provider, **options).stream(request)]
            return got, server.asked

    return asyncio.run(main())


def test_openai_is_asked_in_its_format_and_its_stream_becomes_chunks(request_of):
    headers = {**STREAM, "x-request-id": "r1", "x-ratelimit-remaining-requests": "9", "server": "x"}
    chunks, ((line, asked, body),) = chunks_from(
        request_of(model="gpt-4o"), answer(200, headers, OPENAI[:40], OPENAI[40:55], OPENAI[55:] + DONE)
    )
    kept = {"x-request-id": "r1", "x-ratelimit-remaining-requests": "9"}
    netloc = chunks[-1].served_by
    assert chunks == [
        StartChunk(model="gpt-4o-2024", headers=kept),
        TextChunk(index=0, text="Hel"),
        TextChunk(index=0, text="lo"),
        FinishChunk(usage=Usage(input_tokens=5, output_tokens=2), model="gpt-4o-2024", served_by=netloc),
    ]
    assert netloc.startswith("live: 127.0.0.1:")
    assert line == "POST /v1/chat/completions HTTP/1.1"
    assert asked["authorization"] == "bearer test-key"
    assert body["model"] == "gpt-4o"
    assert body["messages"] == [{"role": "user", "content": "hello"}]


def test_anthropic_is_asked_in_its_format_and_its_stream_becomes_chunks(request_of):
    asking = request_of(
        wire="anthropic",
        headers={"anthropic-beta": "tools-2024", "authorization": "[redacted]", "x-own": "1"},
    )
    chunks, ((line, asked, body),) = chunks_from(
        asking, answer(200, STREAM, ANTHROPIC), provider="anthropic", model="claude-other"
    )
    assert [type(chunk) for chunk in chunks] == [StartChunk, TextChunk, FinishChunk]
    assert chunks[-1].usage == Usage(input_tokens=5, output_tokens=2)
    assert line == "POST /v1/messages HTTP/1.1"
    assert (asked["x-api-key"], asked["anthropic-version"], asked["anthropic-beta"]) == (
        "test-key",
        "2023-06-01",
        "tools-2024",
    )
    assert "x-own" not in asked
    assert "authorization" not in asked
    assert body["model"] == "claude-other"


@pytest.mark.parametrize(
    ("body", "message", "kind", "code"),
    [
        (
            b'{"error": {"message": "slow", "type": "rate_limit", "code": "c"}}',
            "slow",
            "rate_limit",
            "c",
        ),
        (
            b'{"type": "error", "error": {"type": "overloaded", "message": "busy"}}',
            "busy",
            "overloaded",
            "",
        ),
        (b'{"error": "just text"}', "just text", "", ""),
        (b"<html>bad gateway</html>", "<html>bad gateway</html>", "", ""),
        (b"", "status 429", "", ""),
    ],
)
def test_an_error_status_is_the_providers_error_with_its_headers(request_of, body, message, kind, code):
    with pytest.raises(ProviderError) as caught:
        chunks_from(
            request_of(), answer(429, {"Retry-After": "7", "content-type": "x", "set-cookie": "s"}, body)
        )
    error = caught.value
    assert (error.status, error.message, error.kind, error.code) == (429, message, kind, code)
    assert error.headers == {"retry-after": "7"}


@pytest.mark.parametrize(
    ("provider", "answers"),
    [
        ("openai", answer(200, STREAM, OPENAI[:200], cut=True)),
        ("openai", answer(200, STREAM, OPENAI[:200])),
        ("anthropic", answer(200, STREAM, ANTHROPIC[:300], cut=True)),
        ("anthropic", answer(200, STREAM, ANTHROPIC[: ANTHROPIC.index(b"event: message_stop")])),
        ("openai", answer(200, STREAM, OPENAI[:200], b"data: \xff\xfe{\n\n", DONE)),
    ],
)
def test_a_stream_that_breaks_off_or_is_garbled_is_a_cut(request_of, provider, answers):
    with pytest.raises(ConnectionCut):
        chunks_from(request_of(), answers, provider=provider)


def test_a_server_that_falls_silent_is_a_cut(request_of):
    async def silent(reader, writer):
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: "
        )
        await reader.read()

    with pytest.raises(ConnectionCut, match="ReadTimeout"):
        chunks_from(request_of(), silent, silence=0.05)


@pytest.mark.parametrize(
    "answers",
    [
        answer(200, {"content-type": "application/json"}, b"{}"),
        answer(302, {"location": "/elsewhere"}),
        answer(204, {}),
    ],
)
def test_what_does_not_answer_like_a_provider_is_said_to_be_that(request_of, answers):
    with pytest.raises(EnvironmentProblem, match="does not answer like a provider"):
        chunks_from(request_of(), answers)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://", "ftp://127.0.0.1"])
def test_a_server_that_is_not_there_is_an_environment_problem(request_of, url):
    with pytest.raises(EnvironmentProblem, match="cannot be reached"):
        asyncio.run(complete(live(url), request_of()))


def test_a_proxy_is_not_asked_for_the_way_to_this_machine(request_of, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    chunks, _ = chunks_from(request_of(), answer(200, STREAM, OPENAI, DONE))
    assert len(chunks) == 4


def test_an_app_that_leaves_closes_the_connection(request_of):
    async def main():
        gone = asyncio.Event()

        async def endless(reader, writer):
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n"
                + OPENAI
            )
            await reader.read()
            gone.set()

        async with Server(endless) as server:
            stream = live(server.url).stream(request_of())
            await anext(stream)
            await stream.aclose()
            await asyncio.wait_for(gone.wait(), 20)

    asyncio.run(main())


def test_a_recorded_live_model_is_replayed_without_asking(request_of):
    tape = Tape()

    async def main():
        async with Server(answer(200, STREAM, OPENAI, DONE)) as server:
            return await complete(RecordingModel(live(server.url), tape), request_of())

    reply = asyncio.run(main())
    assert tape.exchanges[0].response == reply
    assert kind_of(RecordingModel(live("http://x"), tape)) == "recording(live)"


def test_without_permission_there_is_no_live_model(monkeypatch):
    monkeypatch.delenv("SOUNDSTAGE_ALLOW_LIVE", raising=False)
    with pytest.raises(EnvironmentProblem, match="SOUNDSTAGE_ALLOW_LIVE=1"):
        LiveModel("openai", api_key="k")
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "0")
    with pytest.raises(EnvironmentProblem, match="seen: SOUNDSTAGE_ALLOW_LIVE=0"):
        LiveModel("openai", api_key="k")
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    assert LiveModel("openai", api_key="k").url == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_is_named_and_one_in_the_environment_is_used(monkeypatch, request_of, provider, name):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(EnvironmentProblem, match=name):
        LiveModel(provider, allow=True)
    monkeypatch.setenv(name, "key-of-the-environment")
    assert "key-of-the-environment" in str(LiveModel(provider, allow=True)._headers(request_of()))


def test_a_format_that_is_not_known_is_refused():
    with pytest.raises(ScriptError, match="openai or openai-responses or anthropic or gemini"):
        LiveModel("mistral", api_key="k", allow=True)


def test_a_request_of_another_wire_format_is_refused(request_of, ask):
    model = live("http://127.0.0.1:1")
    with pytest.raises(ScriptError, match="a request in the format anthropic"):
        ask(model, request_of(wire="anthropic"))


def test_virtual_time_lets_no_live_call_out(request_of):
    with pytest.raises(NetworkForbiddenError):
        run(complete(live("http://127.0.0.1:1"), request_of()))


CUT = {
    "ReadTimeout",
    "WriteTimeout",
    "ReadError",
    "WriteError",
    "CloseError",
    "ProtocolError",
    "LocalProtocolError",
    "RemoteProtocolError",
    "DecodingError",
}
UNREACHABLE = {
    "ConnectTimeout",
    "PoolTimeout",
    "ConnectError",
    "ProxyError",
    "UnsupportedProtocol",
    "TooManyRedirects",
}
NEVER_RAISED_ITSELF = {
    "RequestError",
    "TransportError",
    "TimeoutException",
    "NetworkError",
    "HTTPStatusError",
}


def all_errors(kind=httpx.HTTPError):
    """The library's own; others that are loaded here (LangGraph's SDK) derive theirs from them."""
    for error in kind.__subclasses__():
        if error.__module__.startswith("httpx"):
            yield error
            yield from all_errors(error)


def test_every_error_of_the_http_library_has_its_place_in_the_table():
    """This fails when a new version of the library brings an error that nobody has thought about."""
    for kind in all_errors():
        name = kind.__name__
        if name in NEVER_RAISED_ITSELF:
            continue
        expected = {True: ConnectionCut, False: EnvironmentProblem}[name in CUT]
        assert name in CUT | UNREACHABLE, f"{name} is not known"
        found = translate(kind("words"), "http://x")
        assert isinstance(found, SoundstageError)
        assert type(found) is expected, name
        assert "words" in str(found)


WHO = {"agent": "executor", "conversation": "c1", "phase": "execute"}


def test_a_server_on_this_machine_is_told_who_asks_and_a_provider_is_not(request_of):
    _, ((_, asked, _),) = chunks_from(request_of(**WHO), answer(200, STREAM, OPENAI + DONE))
    assert {name: asked.get(f"x-soundstage-{name}") for name in WHO} == WHO
    elsewhere = LiveModel("openai", api_key="k", base_url="https://models.example/v1", allow=True)
    assert not [name for name in elsewhere._headers(request_of(**WHO)) if "soundstage" in name]


def test_what_no_header_can_say_is_left_out(request_of):
    odd = {"agent": "prüfer", "conversation": "a\nb"}
    _, ((_, asked, _),) = chunks_from(request_of(**odd), answer(200, STREAM, OPENAI + DONE))
    assert not [name for name in asked if name.startswith("x-soundstage")]


GEMINI = b"".join(
    b"data: " + json.dumps(event).encode() + b"\r\n\r\n"
    for event in (
        {"modelVersion": "gemini-x", "candidates": [{"content": {"parts": [{"text": "Hello"}]}}]},
        {
            "modelVersion": "gemini-x",
            "candidates": [
                {
                    "content": {"parts": [{"functionCall": {"name": "look", "args": {}}}] * 2},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2},
        },
    )
)


def test_gemini_is_asked_at_the_path_of_its_model_and_calls_without_ids_get_some(request_of):
    async def main():
        async with Server(answer(200, STREAM, GEMINI)) as server:
            model = LiveModel("gemini", api_key="test-key", base_url=server.url, allow=True)
            return await complete(model, request_of(model="models/gemini-2.5-pro")), server.asked

    reply, ((line, asked, body),) = asyncio.run(main())
    assert line == "POST /v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse HTTP/1.1"
    assert asked["x-goog-api-key"] == "test-key"
    assert body == {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    assert reply.text == "Hello"
    assert reply.usage == Usage(input_tokens=5, output_tokens=2)
    first, second = (call.id for call in reply.tool_calls)
    assert first, "the result of a call has to name it"
    assert first != second


def test_responses_are_asked_in_their_format(request_of):
    last = {"type": "response.completed", "response": {"model": "gpt-x", "status": "completed", "output": []}}
    stream = b"event: response.completed\ndata: " + json.dumps(last).encode() + b"\n\n"

    async def main():
        async with Server(answer(200, STREAM, stream)) as server:
            model = LiveModel("openai-responses", api_key="test-key", base_url=f"{server.url}/v1", allow=True)
            return await complete(model, request_of(settings={"max_tokens": 90})), server.asked

    reply, ((line, asked, body),) = asyncio.run(main())
    assert (reply.model, reply.finish) == ("gpt-x", "stop")
    assert line == "POST /v1/responses HTTP/1.1"
    assert asked["authorization"] == "bearer test-key"
    assert body["input"] == [{"role": "user", "content": "hello"}]
    assert (body["stream"], body["max_output_tokens"]) == (True, 90)
