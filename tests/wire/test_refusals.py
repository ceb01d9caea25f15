"""Requests that a provider would refuse: its status, its shape, its words, and an event in the journal."""

from __future__ import annotations

import json

import pytest

from soundstage.journal import RequestRefused
from soundstage.models import Script
from soundstage.net import MAX_BODY
from support.wires import WIRES, error_of, outcomes, run, serving


@pytest.fixture(params=WIRES)
def wire(request):
    return WIRES[request.param]


BAD = {  # format -> what is wrong -> body
    "openai-chat": {
        "no model": {"messages": [{"role": "user", "content": "x"}]},
        "no messages": {"model": "m"},
        "empty messages": {"model": "m", "messages": []},
        "messages of a wrong type": {"model": "m", "messages": "hello"},
        "unknown role": {"model": "m", "messages": [{"role": "robot", "content": "x"}]},
        "content of a wrong type": {"model": "m", "messages": [{"role": "user", "content": 5}]},
        "result without a call": {
            "model": "m",
            "messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}],
        },
    },
    "openai-responses": {
        "no model": {"input": "x"},
        "no input": {"model": "m"},
        "input of a wrong type": {"model": "m", "input": 5},
        "unknown role": {"model": "m", "input": [{"role": "robot", "content": "x"}]},
        "result without a call": {
            "model": "m",
            "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}],
        },
        "unknown previous response": {"model": "m", "input": "x", "previous_response_id": "resp_0"},
    },
    "anthropic": {
        "no model": {"max_tokens": 1, "messages": [{"role": "user", "content": "x"}]},
        "no max_tokens": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
        "no messages": {"model": "m", "max_tokens": 1},
        "empty messages": {"model": "m", "max_tokens": 1, "messages": []},
        "unknown role": {"model": "m", "max_tokens": 1, "messages": [{"role": "robot", "content": "x"}]},
        "content of a wrong type": {
            "model": "m",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": 5}],
        },
        "result without a call": {
            "model": "m",
            "max_tokens": 1,
            "messages": [
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}
            ],
        },
    },
    "gemini": {
        "no contents": {},
        "contents of a wrong type": {"contents": "hello"},
        "unknown role": {"contents": [{"role": "robot", "parts": [{"text": "x"}]}]},
        "parts of a wrong type": {"contents": [{"role": "user", "parts": 5}]},
    },
}
EVERYWHERE = {
    "not JSON": b'{"model": ',
    "not an object": b"[1, 2]",
    "no body": b"",
    "not text": b"\xff\xfe\x00",
    "a form": b"model=m&messages=x",
    "too deep": b"[" * 100_000,
}
CASES = [
    (name, what, body)
    for name, bodies in BAD.items()
    for what, body in [*bodies.items(), *EVERYWHERE.items()]
]


@pytest.mark.parametrize(("name", "what", "body"), CASES, ids=[f"{name}-{what}" for name, what, _ in CASES])
def test_a_request_that_the_provider_would_refuse_is_refused_in_its_shape_and_journaled(name, what, body):
    wire = WIRES[name]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def main():
        async with serving(Script()) as served:
            for stream in (False, True):
                answer = await served.ask(
                    wire,
                    stream=stream,
                    json=None,
                    content=content,
                    headers={"content-type": "application/json"},
                )
                kind, message = error_of(wire, answer)
                assert (answer.status_code, kind) == (400, wire.kinds[400])
                assert message
            refusals = served.events(RequestRefused)
            assert [(refusal.format, refusal.status) for refusal in refusals] == [(name, 400)] * 2
            assert refusals[0].message == message
            assert refusals[0].path == wire.path
            assert refusals[0].body == content.decode("utf-8", "replace")[:2000]
            assert outcomes(served.journal) == []

    run(main())


def test_a_body_over_the_limit_is_refused_in_the_providers_shape(wire):
    script = Script()
    script.on(user="hello").reply("hi")

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, json=None, content=bytes(MAX_BODY + 1))
            kind, message = error_of(wire, answer)
            assert (answer.status_code, kind) == (413, wire.kinds[413])
            assert "exceeds the maximum" in message
            [refusal] = served.events(RequestRefused)
            assert (refusal.status, len(refusal.body)) == (413, 2000)
            assert await served.text(wire) == "hi"

    run(main())


@pytest.mark.parametrize(
    ("name", "method", "path"),
    [
        ("openai-chat", "POST", "/v1/nothing"),
        ("openai-chat", "POST", "/"),
        ("openai-chat", "POST", "/v1/chat/completions/"),
        ("anthropic", "POST", "/v1/messages/batches"),
        ("gemini", "POST", "/v1beta/models/m:unheardOf"),
        ("gemini", "POST", "/v1beta/files"),
    ],
)
def test_a_path_that_no_provider_has_is_a_404_in_the_shape_of_the_nearest_and_says_what_is_served(
    name, method, path
):
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.request(method, path)
            kind, message = error_of(WIRES[name], answer)
            assert (answer.status_code, kind) == (404, WIRES[name].kinds[404])
            assert f"{method} {path}" in message
            own = {
                "openai-chat": "/v1/responses",
                "anthropic": "/v1/messages/count_tokens",
                "gemini": ":streamGenerate",
            }
            assert [one for one in own if own[one] in message] == [name]
            [refusal] = served.events(RequestRefused)
            assert (refusal.path, refusal.status) == (path, 404)

    run(main())


@pytest.mark.parametrize(
    ("name", "method", "path", "allowed"),
    [
        ("openai-chat", "GET", "/v1/chat/completions", "POST"),
        ("openai-chat", "OPTIONS", "/v1/responses", "POST"),
        ("openai-chat", "DELETE", "/v1/models/m", "GET, HEAD"),
        ("anthropic", "PUT", "/v1/messages", "POST"),
        ("gemini", "GET", "/v1beta/models/m:generateContent", "POST"),
        ("gemini", "POST", "/v1beta/models", "GET, HEAD"),
    ],
)
def test_another_method_at_a_path_is_a_405_that_names_the_right_one(name, method, path, allowed):
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.request(method, path)
            assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
            assert f"{method} {path}. Soundstage serves it with {allowed}" in error_of(WIRES[name], answer)[1]
            [refusal] = served.events(RequestRefused)
            assert (refusal.path, refusal.status) == (path, 405)

    run(main())


def test_a_head_request_has_the_headers_of_a_get_and_no_body():
    """Clients ask for `HEAD /` to see whether the provider is there."""

    async def main():
        async with serving(Script()) as served:
            for path, status in (("/", 200), ("/v1/models", 200), ("/nowhere", 404)):
                got, head = await served.http.get(path), await served.http.head(path)
                assert (got.status_code, head.status_code, head.content) == (status, status, b"")
                assert int(head.headers["content-length"]) == len(got.content) + (
                    path == "/nowhere"
                )  # GET, HEAD

    run(main())


def test_an_unknown_path_says_that_soundstage_does_not_serve_it_and_a_websocket_that_there_is_none():
    """codex asks for a WebSocket first, and falls back to POST at once when it is told 426."""

    async def main():
        async with serving(Script()) as served:
            missing = await served.http.get("/v1/files")
            assert missing.status_code == 404
            assert "Soundstage does not serve it" in missing.json()["error"]["message"]
            upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
            for path in ("/v1/responses", "/openai/v1/responses"):
                told = await served.http.get(path, headers=upgrade)
                assert told.status_code == 426
                assert (told.headers["upgrade"], told.headers["connection"].lower()) == (
                    "HTTP/1.1",
                    "upgrade",
                )
                assert "use POST" in error_of(WIRES["openai-responses"], told)[1]

    run(main())


def test_a_deployment_names_the_model_of_embeddings():
    async def main():
        async with serving(Script()) as served:
            path = "/openai/deployments/text-embedding-3-large/embeddings"
            answer = (await served.http.post(path, json={"input": "x"})).json()
            assert (answer["model"], len(answer["data"][0]["embedding"])) == ("text-embedding-3-large", 3072)

    run(main())
