"""The server between a program and its providers: what passes is recorded, and comes back byte for byte."""

from __future__ import annotations

import httpx
import pytest

from soundstage.journal import Journal, ModelFailed, ModelRequested, ModelResponded
from soundstage.tapes import Tape
from support.taping import BODIES, KEY, body_of, provider, recording, replaying, with_sockets

WAYS = [
    pytest.param(name, stream, id=f"{name}-{'stream' if stream else 'whole'}")
    for name in BODIES
    for stream in (False, True)
]
HEADERS = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "anthropic-version": "2023-06-01"}


async def ask(server, name, prompt, *, stream=False):
    """Status and bytes of an answer; of one that broke off, what came."""
    path, body = body_of(name, prompt, stream=stream)
    pieces = []
    async with httpx.AsyncClient(trust_env=False) as client:
        try:
            async with client.stream("POST", server.url + path, json=body, headers=HEADERS) as response:
                async for piece in response.aiter_raw():
                    pieces.append(piece)
        except httpx.HTTPError:
            return response.status_code, b"".join(pieces), "broke off"
    return response.status_code, b"".join(pieces), response.headers.get("content-type")


@pytest.mark.parametrize(("name", "stream"), WAYS)
@pytest.mark.parametrize("prompt", ["joke", "tool", "busy", "broken"])
@with_sockets
async def test_an_answer_comes_back_byte_for_byte_and_failed_as_it_failed(tmp_path, name, stream, prompt):
    path = tmp_path / "t.tape"
    async with provider() as upstream, recording(path, upstream) as server:
        first = await ask(server, name, prompt, stream=stream)
    async with replaying(path) as server:
        assert await ask(server, name, prompt, stream=stream) == first
        assert server.playback.finish() is None
    assert first[0] == (429 if prompt == "busy" else 200)
    assert (first[2] == "broke off") is (prompt == "broken")


@pytest.mark.parametrize("name", BODIES)
@with_sockets
async def test_what_people_read_on_a_tape_is_what_was_said(tmp_path, name):
    path = tmp_path / "t.tape"
    async with provider() as upstream, recording(path, upstream) as server:
        await ask(server, name, "joke", stream=True)
    (exchange,) = Tape.load(path).exchanges
    assert exchange.request.last_user_text == "joke"
    assert exchange.response.text == "Knock knock. Who is there? \u00dcn\u00efcode."
    assert exchange.response.usage.output_tokens > 0
    assert not exchange.edited


@with_sockets
async def test_the_users_key_goes_to_the_provider_and_on_no_tape(tmp_path):
    path = tmp_path / "t.tape"
    async with provider() as upstream, recording(path, upstream) as server:
        for name in BODIES:
            await ask(server, name, f"{name}: my key is {KEY}")
        sent = [record.event.request for record in upstream.journal.read(type=ModelRequested)]
    assert len(sent) == len(BODIES)
    assert KEY not in path.read_text()
    assert path.read_text().count(": my key is [redacted]") == len(BODIES)


@pytest.mark.parametrize("name", BODIES)
@with_sockets
async def test_an_edited_response_is_what_is_played_in_frames_of_its_format(tmp_path, name):
    path = tmp_path / "t.tape"
    async with provider() as upstream, recording(path, upstream) as server:
        await ask(server, name, "joke", stream=True)
        await ask(server, name, "joke")
    path.write_text(path.read_text().replace("Knock knock", "Toc toc"))
    async with replaying(path) as server:
        streamed = await ask(server, name, "joke", stream=True)
        whole = await ask(server, name, "joke")
    for status, body, _ in (streamed, whole):
        assert status == 200
        assert b"Toc toc" in body
        assert b"Knock" not in body


@with_sockets
async def test_what_is_not_on_the_tape_is_refused_with_its_cause_and_on_record(tmp_path):
    path = tmp_path / "t.tape"
    async with provider() as upstream, recording(path, upstream) as server:
        await ask(server, "chat", "tell a joke")
    journal = Journal()
    async with replaying(path, journal) as server:
        status, body, _ = await ask(server, "chat", "tell a story")
        assert server.playback.verdicts[0].cause == "prompt edited"
    assert status == 400
    assert b"divergence: prompt edited" in body
    (failed,) = [record.event for record in journal.read(type=ModelFailed)]
    assert failed.reason == "replay_mismatch"


@with_sockets
async def test_a_replay_is_in_the_journal_like_any_other_model(tmp_path):
    path, journal = tmp_path / "t.tape", Journal()
    async with provider() as upstream, recording(path, upstream) as server:
        await ask(server, "anthropic", "joke", stream=True)
    async with replaying(path, journal) as server:
        await ask(server, "anthropic", "joke", stream=True)
    (answered,) = [record.event for record in journal.read(type=ModelResponded)]
    assert answered.response.text.startswith("Knock knock")
    assert answered.response.served_by == f"exchange 1 of {Tape.load(path).name}"


@with_sockets
async def test_a_call_that_asks_no_model_is_recorded_and_played_too(tmp_path):
    path = tmp_path / "t.tape"
    async with httpx.AsyncClient(trust_env=False, headers=HEADERS) as client:
        async with provider() as upstream, recording(path, upstream) as server:
            first = await client.get(f"{server.url}/openai/v1/models")
        async with replaying(path) as server:
            again = await client.get(f"{server.url}/openai/v1/models")
            other = await client.get(f"{server.url}/openai/v1/files")
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert other.status_code == 400
    assert "not on the tape" in other.text


@with_sockets
async def test_a_provider_that_cannot_be_reached_is_named_and_nothing_is_recorded(tmp_path):
    path = tmp_path / "t.tape"
    async with provider() as upstream:
        pass
    async with recording(path, upstream) as server:
        status, body, _ = await ask(server, "chat", "joke")
    assert status == 502
    assert b"cannot be reached" in body
    assert len(server.unreachable) == 1
    assert not path.exists()
