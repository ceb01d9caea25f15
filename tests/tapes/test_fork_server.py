"""Forks on the wire: what providers of each format are asked, what the program gets, and what the branch keeps."""

from __future__ import annotations

import contextlib

import httpx
import msgspec
import pytest

from soundstage.clock import SystemClock
from soundstage.journal import Journal, ModelRequested
from soundstage.messages import call
from soundstage.models import Script
from soundstage.tapes import Tape
from soundstage.tapes._fork import Fork
from soundstage.tapes._fork_server import ForkServer
from support.taping import provider, recording, replaying, served, upstreams, with_sockets

PROMPT = "You are a weather agent."
FORMATS = {
    "openai": ("/openai/v1/chat/completions", "messages"),
    "responses": ("/openai/v1/responses", "input"),
    "anthropic": ("/anthropic/v1/messages", "messages"),
    "gemini": ("/gemini/v1beta/models/gemini-2.5-flash:generateContent", "contents"),
}


def bodies(name):
    """Two requests of a program: with a system prompt, then with the result of a tool."""
    path, _ = FORMATS[name]
    if name == "openai":
        said = {
            "id": "c1",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city":"Paris"}'},
        }
        first = [{"role": "system", "content": PROMPT}, {"role": "user", "content": "tool"}]
        more = [
            {"role": "assistant", "tool_calls": [said]},
            {"role": "tool", "tool_call_id": "c1", "content": "sun"},
        ]
        return path, {"model": "m", "messages": first}, {"model": "m", "messages": first + more}
    if name == "responses":
        said = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Paris"}'}
        first = {"model": "m", "instructions": PROMPT, "input": [{"role": "user", "content": "tool"}]}
        more = [said, {"type": "function_call_output", "call_id": "c1", "output": "sun"}]
        return path, first, {**first, "input": first["input"] + more}
    if name == "anthropic":
        said = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}
        first = {
            "model": "m",
            "max_tokens": 9,
            "system": PROMPT,
            "messages": [{"role": "user", "content": "tool"}],
        }
        more = [
            {"role": "assistant", "content": [said]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sun"}]},
        ]
        return path, first, {**first, "messages": first["messages"] + more}
    first = {"systemInstruction": {"parts": [{"text": PROMPT}]}, "contents": [{"parts": [{"text": "tool"}]}]}
    more = [
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Paris"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"result": "sun"}}}]},
    ]
    return path, first, {**first, "contents": first["contents"] + more}


def weather_script(answer):
    script = Script()
    for told in ("sun", "hail"):
        script.on(tool_result=told).reply(answer)
    script.otherwise(call("weather", {"city": "Paris"}, id="c1"), check_calls=False)
    return script


async def talk(server, name):
    """The bytes of both answers."""
    path, *both = bodies(name)
    async with httpx.AsyncClient(trust_env=False) as client:
        answers = [await client.post(server.url + path, json=body) for body in both]
    assert [answer.status_code for answer in answers] == [200, 200], answers[-1].text
    return [answer.content for answer in answers]


@contextlib.asynccontextmanager
async def forking(path, branch, change, upstream, at=2):
    """A server of a fork of a tape that goes on with a stand-in."""
    fork = Fork(Tape.load(path), at, change)
    tape = fork.branch(str(branch))
    async with served(
        ForkServer(fork, tape, Journal(), upstreams=upstreams(upstream), clock=SystemClock())
    ) as made:
        yield made


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("change", "prompt", "told"),
    [
        ("llm.system+= Be brief.", f"{PROMPT} Be brief.", "sun"),
        ("llm.system=Be brief.", "Be brief.", "sun"),
        ("tool.weather.result=hail", PROMPT, "hail"),
    ],
)
@with_sockets
async def test_the_provider_of_each_format_is_asked_with_the_change(tmp_path, name, change, prompt, told):
    path, branch = tmp_path / "t.tape", tmp_path / "b.tape"
    async with provider(weather_script("fine")) as upstream, recording(path, upstream) as server:
        first, _ = await talk(server, name)
    async with provider(weather_script("snow")) as upstream:
        async with forking(path, branch, change, upstream) as server:
            answers = await talk(server, name)
            assert server.playback.finish(until=2) is None
        (asked,) = [record.event.request for record in upstream.journal.read(type=ModelRequested)]
    assert answers[0] == first
    assert b"snow" in answers[1]
    assert asked.system_text == prompt
    assert [part.text for part in asked.tool_results] == [told]
    played, made = Tape.load(branch).exchanges
    assert played.frames == Tape.load(path).exchanges[0].frames
    assert not played.edited
    assert (played.request.system_text, made.request.system_text) == (PROMPT, prompt)
    assert msgspec.structs.replace(made.request, caller=asked.caller) == asked
    async with replaying(branch) as server:
        assert await talk(server, name) == answers
        assert server.playback.finish() is None


@pytest.mark.parametrize("name", FORMATS)
@with_sockets
async def test_a_changed_reply_goes_out_in_frames_of_its_format_and_the_branch_keeps_them(tmp_path, name):
    path, branch = tmp_path / "t.tape", tmp_path / "b.tape"
    async with provider(weather_script("fine")) as upstream, recording(path, upstream) as server:
        await talk(server, name)
    async with (
        provider(weather_script("snow")) as upstream,
        forking(path, branch, "llm.reply=h\u00e9", upstream) as server,
    ):
        answers = await talk(server, name)
        assert (server.played, server.recorded) == (2, 0)
        assert not list(upstream.journal.read(type=ModelRequested))
    assert "h\u00e9" in answers[1].decode()
    async with replaying(branch) as server:
        assert await talk(server, name) == answers


@with_sockets
async def test_the_times_of_a_branch_go_on_from_those_of_its_tape(tmp_path):
    path, branch = tmp_path / "t.tape", tmp_path / "b.tape"
    async with provider(weather_script("fine")) as upstream, recording(path, upstream) as server:
        await talk(server, "openai")
    tape = Tape.load(path)
    late = [
        msgspec.structs.replace(one, started_ms=one.number * 60_000.0, latency_ms=50_000.0)
        for one in tape.exchanges
    ]
    Tape(late, head=tape.head).save(path)
    async with provider(weather_script("snow")) as upstream:
        async with forking(path, branch, "llm.system=x", upstream) as server:
            await talk(server, "openai")
    first, second = Tape.load(branch).exchanges
    assert (first.started_ms, first.latency_ms) == (60_000.0, 50_000.0)
    assert 120_000 <= second.started_ms < 150_000


@with_sockets
async def test_a_request_in_which_the_change_cannot_be_made_is_told_and_not_handed_on(tmp_path):
    path, branch = tmp_path / "t.tape", tmp_path / "b.tape"
    items = [
        {"role": "user", "content": "go"},
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}, "status": "completed"},
        {"type": "shell_call_output", "call_id": "c1", "output": [
            {"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        ]},
    ]  # fmt: skip
    body = {"model": "m", "tools": [{"type": "shell"}], "input": items}
    script = Script()
    script.otherwise("fine")
    async with provider(script) as upstream:
        async with recording(path, upstream) as server, httpx.AsyncClient(trust_env=False) as client:
            recorded = await client.post(server.url + "/openai/v1/responses", json=body)
            assert recorded.status_code == 200, recorded.text
        asked = len(list(upstream.journal.read(type=ModelRequested)))
        async with forking(path, branch, "tool.c1.result=y", upstream, at=1) as server:
            async with httpx.AsyncClient(trust_env=False) as client:
                answer = await client.post(server.url + "/openai/v1/responses", json=body)
            assert answer.status_code == 502
            assert ["a shell_call_output is no text" in problem for problem in server.unreachable] == [True]
        assert len(list(upstream.journal.read(type=ModelRequested))) == asked
