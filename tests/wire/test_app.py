"""From socket to journal and back: what all four formats share, over a real port."""

from __future__ import annotations

import asyncio
import json

import pytest

from soundstage.clock import IdSource, VirtualClock
from soundstage.errors import EnvironmentProblem
from soundstage.journal import (
    Journal,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RequestRefused,
    RequestServed,
)
from soundstage.messages import FinishChunk, TextChunk
from soundstage.models import ErrorSpec, FaultyModel, Script, ScriptedModel
from soundstage.wire import ModelServer
from support.wires import WIRES, error_of, events_of, outcomes, run, said, serving

TOKEN = "a-token-that-only-tests-know"


@pytest.fixture(params=WIRES)
def wire(request):
    return WIRES[request.param]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param


def script_with(*rules, **options):
    script = Script(**options)
    for user, reply in rules:
        script.on(user=user).reply(reply)
    return script


def test_a_reply_arrives_and_the_exchange_is_journaled(wire, stream):
    async def main():
        async with serving(script_with(("hello", "hi there"))) as served:
            answer = await served.ask(wire, stream=stream)
            assert said(wire, answer) == "hi there"
            [asked], [replied] = served.events(ModelRequested), served.events(ModelResponded)
            assert (asked.request.format, asked.request.stream) == (wire.name, stream)
            assert (asked.request.model, asked.request.last_user_text) == ("m", "hello")
            assert replied.response.text == "hi there"
            assert "rule 1" in replied.response.served_by
            assert outcomes(served.journal) == ["ok"]

    run(main())


def test_a_streamed_reply_ends_as_the_format_says(wire):
    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            answer = await served.ask(wire, stream=True)
            assert wire.end(answer.text)
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert answer.headers["cache-control"] == "no-cache"

    run(main())


class Stepwise:
    """A model that goes on only when the test lets it."""

    def __init__(self):
        self.go = asyncio.Event()

    async def stream(self, request):
        yield TextChunk(index=0, text="one ")
        await self.go.wait()
        yield TextChunk(index=0, text="two")
        yield FinishChunk()


def test_a_piece_reaches_the_client_before_the_model_has_the_next_one(wire):
    async def main():
        model = Stepwise()
        async with serving(model) as served:
            answer = await served.http.send(served.request(wire, stream=True), stream=True)
            text = ""
            async for data in answer.aiter_text():
                text += data
                if "one " in text:
                    model.go.set()  # without this the model would wait for ever
            assert "".join(wire.piece(event) for event in events_of(text)) == "one two"

    run(main())


def test_response_headers_and_the_models_name_are_the_scripts(wire, stream):
    script = Script()
    script.on(user="hello").reply(
        text="hi", model="other-model", headers={"X-Limit": "7", "Request-Id": "mine"}
    )

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, stream=stream)
            assert (answer.status_code, said(wire, answer)) == (200, "hi")
            assert answer.headers.get_list("x-limit") == ["7"]
            assert answer.headers.get_list("request-id") == ["mine"]
            assert "other-model" in answer.text
            assert '"m"' not in answer.text

    run(main())


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "anthropic"])
def test_every_answer_has_an_id_in_the_header_that_the_provider_uses(name, stream):
    header = {"anthropic": "request-id"}.get(name, "x-request-id")

    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            answers = [await served.ask(WIRES[name], stream=stream) for _ in range(2)]
            refused = await served.ask(WIRES[name], stream=stream, json={})
            ids = [answer.headers[header] for answer in (*answers, refused)]
            assert len(set(ids)) == 3
            assert all(one.startswith("req_") for one in ids)

    run(main())


def test_two_servers_with_one_seed_and_time_answer_with_the_same_bytes(wire, stream):
    async def bodies(seed):
        options = {"ids": IdSource(seed), "clock": VirtualClock()}
        async with serving(script_with(("hello", "hi")), **options) as served:
            return [(await served.ask(wire, stream=stream)).text for _ in range(2)]

    async def main():
        first, second, other = await bodies(3), await bodies(3), await bodies(4)
        assert first == second
        assert len({*first, *other}) == 4

    run(main())


def test_a_body_of_any_content_type_is_read_as_json(wire):
    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            content = json.dumps(wire.body("hello", "")).encode()
            for kind in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
                headers = {"content-type": kind}
                assert await served.text(wire, json=None, content=content, headers=headers) == "hi"

    run(main())


GIVEN = {
    "authorization": f"Bearer {TOKEN}",
    "x-api-key": TOKEN,
    "api-key": TOKEN,
    "x-goog-api-key": TOKEN,
    "x-soundstage-token": TOKEN,
}


@pytest.mark.parametrize("header", [*GIVEN, "any case"])
def test_the_token_may_come_in_any_header_that_a_provider_uses(wire, header):
    headers = {header: GIVEN[header]} if header in GIVEN else {"AUTHORIZATION": f"bearer {TOKEN}"}

    async def main():
        async with serving(script_with(("hello", "hi")), token=TOKEN) as served:
            assert await served.text(wire, headers=headers) == "hi"

    run(main())


def test_gemini_clients_may_give_the_token_in_the_query():
    async def main():
        async with serving(script_with(("hello", "hi")), token=TOKEN) as served:
            answer = await served.http.post(
                f"/v1beta/models/m:generateContent?key={TOKEN}", json=WIRES["gemini"].body("hello", "")
            )
            assert said(WIRES["gemini"], answer) == "hi"

    run(main())


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"x-api-key": TOKEN[:-1]},
        {"x-goog-api-key": ""},
        {"cookie": TOKEN},
    ],
)
def test_without_the_token_there_is_a_401_in_the_providers_shape(wire, stream, headers):
    async def main():
        async with serving(script_with(("hello", "hi")), token=TOKEN) as served:
            answer = await served.ask(wire, stream=stream, headers=headers)
            kind, _ = error_of(wire, answer)
            assert (answer.status_code, kind) == (401, wire.kinds[401])
            [refusal] = served.events(RequestRefused)
            assert (refusal.format, refusal.status) == (wire.name, 401)
            assert outcomes(served.journal) == []
            assert TOKEN not in answer.text + refusal.message

    run(main())


def test_only_health_is_open_without_the_token():
    async def main():
        async with serving(Script(), token=TOKEN) as served:
            assert (await served.http.get("/health")).json() == {"status": "ok"}
            assert (await served.http.get("/v1/models")).status_code == 401
            anthropic = await served.http.get("/v1/models", headers={"anthropic-version": "2023-06-01"})
            assert error_of(WIRES["anthropic"], anthropic)[0] == "authentication_error"

    run(main())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_an_address_that_others_can_reach_needs_a_token(host):
    with pytest.raises(EnvironmentProblem, match="can be reached from other machines") as caught:
        ModelServer(ScriptedModel(Script()), Journal(), host=host)
    assert "--token" in caught.value.hint
    ModelServer(ScriptedModel(Script()), Journal(), host=host, token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_loopback_address_needs_none(host):
    ModelServer(ScriptedModel(Script()), Journal(), host=host)


def test_a_deployment_in_the_path_is_the_model():
    async def main():
        async with serving(script_with(("hello", "hi"))) as served:
            answer = await served.http.post(
                "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
                json={"messages": [{"role": "user", "content": "hello"}]},
                headers={"api-key": "whatever"},
            )
            assert said(WIRES["openai-chat"], answer) == "hi"
            assert answer.json()["model"] == "my gpt"
            assert served.events(ModelRequested)[0].request.model == "my gpt"

    run(main())


def test_a_strict_script_without_a_rule_answers_with_the_nearest_ones_and_asks_not_to_retry(wire, stream):
    async def main():
        async with serving(script_with(("something else", "x"), strict=True)) as served:
            answer = await served.ask(wire, stream=stream)
            kind, message = error_of(wire, answer)
            assert (answer.status_code, kind) == (400, "soundstage_no_answer")
            assert answer.headers["x-should-retry"] == "false"
            assert "no rule answers this request" in message
            assert "something else" in message
            [failure] = served.events(ModelFailed)
            assert (failure.reason, failure.message) == ("no_match", message)
            assert served.events(RequestRefused) == []

    run(main())


def test_a_function_that_fails_is_an_error_that_nobody_retries(wire, stream):
    script = Script()

    def broken(request):
        raise LookupError("not found")

    script.on(user="hello").reply(broken)

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, stream=stream)
            assert answer.status_code == 500
            assert answer.headers["x-should-retry"] == "false"
            assert "LookupError: not found" in answer.text
            assert outcomes(served.journal) == ["harness"]

    run(main())


def test_a_header_in_a_script_that_http_does_not_allow_is_an_error_that_says_so(wire, stream):
    script = Script()
    script.on(user="hello").reply(text="hi", headers={"x-bad": "two\nlines"})

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, stream=stream)
            assert error_of(wire, answer)[0] == "soundstage_no_answer"
            assert "'x-bad'" in error_of(wire, answer)[1]

    run(main())


SIDE = [
    (
        "anthropic",
        "POST",
        "/v1/messages/count_tokens",
        WIRES["anthropic"].body("hello", ""),
        "token count: 2",
    ),
    ("gemini", "POST", "/v1beta/models/m:countTokens", WIRES["gemini"].body("hello", ""), "token count: 2"),
    ("openai-chat", "GET", "/v1/models", None, "model list"),
    ("openai-chat", "GET", "/v1/models/some-model", None, "model some-model"),
    ("gemini", "GET", "/v1beta/models", None, "model list"),
    ("gemini", "GET", "/v1beta/models/some-model", None, "model some-model"),
    ("openai-chat", "POST", "/v1/embeddings", {"model": "m", "input": "x"}, "embeddings"),
]


@pytest.mark.parametrize(("name", "method", "path", "body", "what"), SIDE, ids=[one[2] for one in SIDE])
def test_what_no_model_answers_takes_no_reply_and_counts_as_no_step(name, method, path, body, what):
    script = Script(strict=True)
    script.queue("first")
    script.on(iteration=2).reply("second")

    async def main():
        async with serving(script) as served:
            for expected in ("first", "second"):
                answer = await served.http.request(method, path, json=body)
                assert answer.status_code == 200, answer.text
                assert await served.text(WIRES[name]) == expected
            [event, _] = served.events(RequestServed)
            assert (event.format, event.path, event.what, event.status) == (name, path, what, 200)

    run(main())


def test_a_model_list_has_the_shape_that_the_client_expects():
    async def main():
        async with serving(Script()) as served:
            bodies = {
                name: (await served.http.get("/v1/models", headers=headers)).json()
                for name, headers in {
                    "openai": {},
                    "anthropic": {"anthropic-version": "2023-06-01"},
                    "gemini": {"x-goog-api-key": "k"},
                }.items()
            }
            assert bodies["openai"]["object"] == "list"
            assert bodies["anthropic"]["has_more"] is False
            assert bodies["gemini"]["models"]

    run(main())


def test_a_bad_side_request_is_refused_as_a_bad_request_is():
    async def main():
        async with serving(Script()) as served:
            answer = await served.http.post("/v1/messages/count_tokens", json={"model": "m"})
            assert error_of(WIRES["anthropic"], answer)[0] == "invalid_request_error"
            [refusal] = served.events(RequestRefused)
            assert refusal.path == "/v1/messages/count_tokens"
            assert served.events(RequestServed) == []

    run(main())


CLAUDE_CODE = {"x-claude-code-session-id": "s1"}
SIDES = {  # purpose -> text of the user, system prompt
    "probe": ("Hi", ""),
    "title": ("talk about drums", "You are a title generator. You output ONLY a thread title."),
    "summary": ("CRITICAL: Respond with TEXT ONLY. Summarise.", ""),
}


@pytest.mark.parametrize("purpose", SIDES)
def test_a_side_request_to_the_model_takes_no_queued_reply_and_counts_as_no_step(wire, stream, purpose):
    script = Script(strict=True)
    script.queue("first")
    script.on(iteration=2).reply("second")
    text, system = SIDES[purpose]
    options = {"stream": stream, "headers": CLAUDE_CODE}

    async def main():
        async with serving(script) as served:
            for expected in ("first", "second"):
                assert await served.text(wire, text, system=system, **options) == "ok"
                assert await served.text(wire, "go on", **options) == expected
            purposes = [event.request.purpose for event in served.events(ModelRequested)]
            assert purposes == [purpose, "main"] * 2

    run(main())


def test_conversations_side_by_side_never_share_counters(wire):
    script = Script(strict=True)
    for number in (1, 2, 3):
        script.on(iteration=number).reply(f"step {number}")

    async def conversation(served, name):
        headers = {"x-soundstage-conversation": name}
        return [await served.text(wire, headers=headers) for _ in range(3)]

    async def main():
        async with serving(script) as served:
            talks = await asyncio.gather(*(conversation(served, f"talk {number}") for number in range(10)))
            assert talks == [["step 1", "step 2", "step 3"]] * 10

    run(main())


def test_two_hundred_requests_at_once_get_each_its_own_answer(wire, stream):
    script = Script(strict=True)
    for number in range(200):
        script.on(user=f"number {number}!", times=1).reply(f"answer {number}")

    async def main():
        async with serving(script) as served:
            texts = await asyncio.gather(
                *(served.text(wire, f"number {number}!", stream=stream) for number in range(200))
            )
            assert texts == [f"answer {number}" for number in range(200)]
            assert outcomes(served.journal) == ["ok"] * 200

    run(main())


def test_queued_replies_are_each_served_once_to_requests_at_once(wire):
    script = Script(strict=True)
    script.queue(*(f"reply {number}" for number in range(50)))

    async def main():
        async with serving(script) as served:
            texts = await asyncio.gather(*(served.text(wire) for _ in range(50)))
            assert sorted(texts) == sorted(f"reply {number}" for number in range(50))

    run(main())


def test_a_response_is_continued_by_its_id():
    wire = WIRES["openai-responses"]
    script = Script(strict=True)
    script.on(step=1).reply("first")
    script.on(step=2, contains="first").reply("second")

    async def main():
        async with serving(script) as served:
            first = (await served.ask(wire)).json()
            body = {"model": "m", "input": "go on", "previous_response_id": first["id"]}
            assert await served.text(wire, json=body) == "second"
            unstored = (await served.ask(wire, json={**wire.body("hello", ""), "store": False})).json()
            answer = await served.ask(wire, json={**body, "previous_response_id": unstored["id"]})
            assert answer.json()["error"]["code"] == "previous_response_not_found"

    run(main())


def test_of_many_responses_the_newest_can_be_continued_and_who_asks_for_another_is_told():
    wire = WIRES["openai-responses"]
    script = Script()
    script.on(step=1).reply("first")
    script.on(step=2, contains="first").reply("second")

    async def main():
        async with serving(script, answers=2) as served:
            ids = [(await served.ask(wire)).json()["id"] for _ in range(2)]
            assert "let go" not in (await continued(served, "resp_unknown")).text
            ids.append((await served.ask(wire)).json()["id"])
            for kept in ids[1:]:
                assert (await continued(served, kept)).status_code == 200
            gone = await continued(served, ids[0])
            assert gone.status_code == 400
            error = gone.json()["error"]
            assert (error["code"], error["param"]) == ("previous_response_not_found", "previous_response_id")
            assert "keeps the newest 2 answers; 1 older ones have been let go" in error["message"]

    async def continued(served, previous):
        body = {"model": "m", "input": "go on", "previous_response_id": previous, "store": False}
        return await served.ask(wire, json=body)

    run(main())


def test_the_caller_is_identified_although_another_model_stands_around_the_script(wire):
    script = Script(strict=True)
    script.agent("executor", system="You are the executor")
    script.on(agent="executor").reply("at work")
    model = FaultyModel(ScriptedModel(script), {5: ErrorSpec(status=500)})

    async def main():
        async with serving(model) as served:
            assert await served.text(wire, system="You are the executor.") == "at work"
            assert served.events(ModelRequested)[0].request.caller.agent == "executor"
            assert (await served.http.get("/_soundstage/unused")).json() == {"unused": []}

    run(main())


def test_addresses_and_variables_for_clients():
    async def main():
        async with serving(Script()) as served:
            server = served.server
            assert (server.openai_url, server.anthropic_url) == (f"{server.url}/v1", server.url)
            variables = server.environment(key="k")
            assert variables["OPENAI_BASE_URL"] == server.openai_url
            assert variables["ANTHROPIC_BASE_URL"] == server.anthropic_url
            assert variables["GOOGLE_GEMINI_BASE_URL"] == server.gemini_url
            assert (
                variables["OPENAI_API_KEY"]
                == variables["ANTHROPIC_API_KEY"]
                == variables["GEMINI_API_KEY"]
                == "k"
            )

    run(main())
