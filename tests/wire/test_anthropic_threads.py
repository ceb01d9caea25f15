"""Threads of Anthropic, with the provider's own Python client: its threads, its tool runner, its classes of errors."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx
import pytest

from soundstage.journal import ModelRequested
from soundstage.messages import ToolResult
from soundstage.models import Script
from support.wires import run, serving


def client_of(served: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=served.server.anthropic_url, api_key="test", max_retries=0)


def says(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def create(client: anthropic.AsyncAnthropic, previous: str = "", text: str = "hello", **more: Any) -> Any:
    thread = {"type": "continue", "previous_message_id": previous} if previous else {"type": "create"}
    asked = {"model": "m", "max_tokens": 99, "messages": [says(text)], "thread": thread, **more}
    return client.beta.messages.create(**asked)


def echo() -> Script:
    script = Script()
    script.on(user="/./").reply(lambda request: f"{request.turn}: {request.last_user_text}")
    return script


@anthropic.beta_async_tool
async def weather(city: str) -> str:
    """The weather.

    Args:
        city: where.
    """
    return f"sunny in {city}"


def test_the_tool_runner_sends_new_messages_alone_and_the_model_sees_the_whole_conversation():
    script = Script()
    script.on(tool_result="sunny in Rome").reply("It is sunny.")
    script.on(user="weather").reply(tool_calls=[{"name": "weather", "arguments": {"city": "Rome"}}])
    sent = []

    async def note(request: Any) -> None:
        sent.append(request.content)

    async def main():
        async with serving(script) as served, client_of(served) as client:
            client._client.event_hooks["request"].append(note)
            runner = client.beta.messages.tool_runner(
                model="m", max_tokens=99, system="Be brief.", messages=[says("weather?")], tools=[weather]
            )
            final = await runner.until_done()
            assert final.content[0].text == "It is sunny."
            asked = served.events(ModelRequested)[-1].request
            assert [message.role for message in asked.messages] == ["system", "user", "assistant", "user"]
            assert isinstance(asked.messages[-1].parts[0], ToolResult)
            assert [tool.name for tool in asked.tools] == ["weather"]
            assert len(served.events(ModelRequested)) == 2

    run(main())
    first, second = map(anthropic_body, sent)
    assert first["thread"] == {"type": "create"}
    assert second["thread"]["type"] == "continue"
    assert len(second["messages"]) == 1, "the client left the history to the server"
    assert "tools" not in second


def anthropic_body(content: bytes) -> dict[str, Any]:
    return httpx.Response(200, content=content).json()


@pytest.mark.parametrize("stream", [False, True])
def test_a_thread_goes_on_turn_by_turn(stream):
    async def main():
        async with serving(echo()) as served, client_of(served) as client:
            thread = client.beta.messages.thread(model="m", max_tokens=99, messages=[])
            for number, text in enumerate(["one", "two", "three"], 1):
                if stream:
                    async with thread.stream(says(text)) as answer:
                        reply = await answer.get_final_message()
                else:
                    reply = await thread.send(says(text))
                assert reply.content[0].text == f"{number}: {text}"
            assert len(served.events(ModelRequested)[-1].request.messages) == 5

    run(main())


def test_each_refusal_is_the_class_that_the_sdk_has_for_it():
    async def main():
        async with serving(echo()) as served, client_of(served) as client:
            with pytest.raises(anthropic.types.ThreadNotFoundError):
                await create(client, "msg_nobody")
            first = await create(client, system="Be brief.")
            with pytest.raises(
                anthropic.types.ThreadFingerprintMismatchError, match="`system` must stay the same"
            ):
                await create(client, first.id, system="Be long.")
            second = await create(client, first.id, "go on", system="Be brief.")
            assert second.content[0].text == "2: go on"
            with pytest.raises(anthropic.types.ThreadAlreadyContinuedError):
                await create(client, first.id)
            for name, value in [
                ("context_management", {"edits": [{"type": "clear_tool_uses_20250919"}]}),
                ("cache_control", {"type": "ephemeral"}),
            ]:
                with pytest.raises(anthropic.types.ThreadUnsupportedRequestError) as caught:
                    await create(client, second.id, **{name: value})
                assert caught.value.body["error"]["details"]["unsupported"] == [name]
            for thread in ({"type": "fork"}, {"type": "continue"}, {"type": "create", "name": "x"}, "create"):
                with pytest.raises(anthropic.BadRequestError, match="thread"):
                    await create(client, thread=thread)
            with pytest.raises(anthropic.BadRequestError, match="thread"):
                await client.beta.messages.count_tokens(
                    model="m", messages=[says("x")], extra_body={"thread": {"type": "create"}}
                )
            assert (await create(client, second.id, "still")).content[0].text == "3: still"

    run(main())


def test_a_request_that_fails_continues_nothing():
    script = Script()
    script.on(user="fail", times=1).error(529, "busy")
    script.on(user="/./").reply("ok")

    async def main():
        async with serving(script) as served, client_of(served) as client:
            first = await create(client)
            with pytest.raises(anthropic.InternalServerError):
                await create(client, first.id, "fail")
            with pytest.raises(anthropic.BadRequestError):
                await create(client, first.id, "x", max_tokens=-1)
            assert (await create(client, first.id, "again")).content[0].text == "ok"

    run(main())


def test_two_requests_do_not_continue_one_answer_at_the_same_time():
    script = Script()
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(_: Any) -> str:
        asked.set()
        await go.wait()
        return "slow"

    script.on(user="slow").reply(slow)
    script.on(user="/./").reply("ok")

    async def main():
        async with serving(script) as served, client_of(served) as client:
            first = await create(client)
            waiting = asyncio.create_task(create(client, first.id, "slow"))
            await asked.wait()
            with pytest.raises(anthropic.types.ThreadContinueInFlightError):
                await create(client, first.id, "meanwhile")
            go.set()
            assert (await waiting).content[0].text == "slow"
            with pytest.raises(anthropic.types.ThreadAlreadyContinuedError):
                await create(client, first.id, "later")

    run(main())


def test_a_server_that_runs_for_long_keeps_the_newest_threads_and_says_so():
    async def main():
        async with serving(echo(), answers=2) as served, client_of(served) as client:
            made = [(await create(client)).id for _ in range(3)]
            with pytest.raises(anthropic.types.ThreadNotFoundError, match="keeps the newest 2; 1 older"):
                await create(client, made[0])
            assert (await create(client, made[2], "on")).content[0].text == "2: on"
            # The SDK's own thread sends everything again, and goes on.
            thread = client.beta.messages.thread(model="m", max_tokens=99, messages=[])
            await thread.send(says("one"))
            for _ in range(3):
                await create(client)
            assert (await thread.send(says("two"))).content[0].text == "2: two"

    run(main())
