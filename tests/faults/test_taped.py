"""Sweeps on tapes: the good runs are the recorded ones, and faults of the wire act on the recorded bytes."""

from __future__ import annotations

import httpx
import msgspec
import pytest

from soundstage.clock import run
from soundstage.errors import ModelError
from soundstage.faults import sweep
from soundstage.faults._calls import calls_of
from soundstage.faults._cases import Injection, Terms
from soundstage.faults._kinds import cases_of, kinds_named
from soundstage.faults._model import SweptModel
from soundstage.faults._source import source_in
from soundstage.journal import Journal
from soundstage.messages import ByteDelivery, ModelRequest, StartChunk, respond, user
from soundstage.models import PlacedModel, Script, ScriptedModel, complete
from soundstage.tapes import RecordedFailure, RecordingModel, Surroundings, Tape
from soundstage.tapes._frames import pack
from soundstage.wire import ModelServer
from support.taping import body_of, provider, recording, with_sockets

SAID = "Knock knock. Who is there? \u00dcn\u00efcode."
WIRES = ["chat", "responses", "anthropic", "gemini"]


async def taped(path, name, *, stream=True):
    """A tape of one call of a format, whose bytes no codec of ours makes."""
    async with provider() as upstream, recording(path, upstream) as server:
        await ask(server, name, stream=stream, base="")
    (exchange,) = Tape.load(path).exchanges
    odd = b": from a gateway\n\n" + exchange.frames.body if stream else exchange.frames.body + b"\n "
    frames = msgspec.structs.replace(pack(200, exchange.frames.headers, [(1.0, odd)]), of=exchange.frames.of)
    Tape([msgspec.structs.replace(exchange, frames=frames)]).save(path)
    return odd


async def ask(server, name, *, stream=True, base="/v1"):
    """The bytes of an answer, and whether it broke off."""
    path, body = body_of(name, "joke", stream=stream)
    places = {"/openai/v1": base, "/anthropic": "", "/gemini": ""} if base else {}
    for before, now in places.items():
        path = path.replace(before, now, 1)
    pieces = []
    async with httpx.AsyncClient(trust_env=False) as client:
        try:
            async with client.stream("POST", server.url + path, json=body) as answer:
                assert answer.status_code == 200, await answer.aread()
                async for piece in answer.aiter_raw():
                    pieces.append(piece)
        except httpx.HTTPError:
            return b"".join(pieces), True
    return b"".join(pieces), False


async def answered(path, name, injection, *, stream=True):
    """The bytes of a run of a sweep, whether they broke off, and its journal."""
    journal = Journal()
    server = ModelServer(SweptModel(source_in(path)(), injection, limit=9), journal)
    await server.start()
    try:
        return *await ask(server, name, stream=stream), journal
    finally:
        await server.stop()


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@with_sockets
async def test_a_good_run_sends_the_recorded_bytes(tmp_path, name, stream):
    odd = await taped(tmp_path / "t.tape", name, stream=stream)
    assert (await answered(tmp_path / "t.tape", name, None, stream=stream))[:2] == (odd, False)


@pytest.mark.parametrize("name", WIRES)
@with_sockets
async def test_faults_of_the_wire_act_on_the_recorded_bytes(tmp_path, name):
    path = tmp_path / "t.tape"
    odd = await taped(path, name)
    _, _, journal = await answered(path, name, None)
    kinds = kinds_named(["cut-text", "crlf", "utf-8", "cut-at", "empty"])
    cases = {
        case.kind: case for case in cases_of(calls_of(journal.read()), kinds, Terms(wire=True, cuts=1), 7)
    }
    assert set(cases) == {"cut-text", "crlf", "utf-8", "cut-at", "empty"}
    seen = {kind: (await answered(path, name, case.injection))[:2] for kind, case in cases.items()}
    assert seen["crlf"] == (odd.replace(b"\n", b"\r\n"), False)
    assert seen["utf-8"] == (odd, False)
    assert cases["cut-at"].injection.remark == f"of {len(odd)} bytes"
    place = int(cases["cut-at"].id.partition("@")[2])
    assert seen["cut-at"] == (odd[:place], True)
    assert seen["cut-text"][1]
    assert odd.startswith(seen["cut-text"][0])
    assert 0 < len(seen["cut-text"][0]) < len(odd)
    assert b"from a gateway" not in seen["empty"][0]


@with_sockets
async def test_an_app_in_process_gets_no_bytes_of_a_wire(tmp_path):
    path = tmp_path / "t.tape"
    await taped(path, "chat")
    request = msgspec.structs.replace(Tape.load(path).exchanges[0].request, format="")
    chunks = [chunk async for chunk in source_in(path)().stream(request)]
    assert [chunk.delivery for chunk in chunks if isinstance(chunk, StartChunk)] in ([], [None])
    assert respond(chunks).text == SAID


@with_sockets
async def test_a_request_that_is_sent_again_after_a_cut_gets_the_recorded_bytes(tmp_path):
    path = tmp_path / "t.tape"
    odd = await taped(path, "chat")
    cut = Injection(1, delivery=ByteDelivery(cut=30))
    server = ModelServer(SweptModel(source_in(path)(), cut, limit=9), Journal())
    await server.start()
    try:
        assert [await ask(server, "chat"), await ask(server, "chat")] == [(odd[:30], True), (odd, False)]
    finally:
        await server.stop()


async def agent(model):
    """Asks once, and once more after a failure."""
    request = ModelRequest(model="m", messages=(user("hello"),))
    for _ in range(2):
        try:
            reply = await complete(model, request)
        except ModelError:
            continue
        if reply.text:
            return reply.text
    raise RuntimeError("no answer")


@pytest.fixture
def tape(tmp_path):
    """A tape of the agent."""
    script, made = Script(), Tape()
    script.otherwise("good day")
    run(agent(RecordingModel(ScriptedModel(script), made)))
    made.save(tmp_path / "t.tape")
    return tmp_path / "t.tape"


def test_in_process_a_tape_is_swept_like_its_script(tape):
    script = Script()
    script.otherwise("good day")
    kinds = ["429", "500", "cut-start", "cut-text", "garbled", "empty", "slow", "coalesced"]
    taped, scripted = sweep(agent, source_in(tape), kinds=kinds), sweep(agent, script, kinds=kinds)
    assert [(row.case, row.verdict, row.retries) for row in taped.rows] == [
        (row.case, row.verdict, row.retries) for row in scripted.rows
    ]
    assert {row.verdict for row in taped.rows} == {"survived"}


def test_an_app_that_asks_something_else_after_a_fault_has_a_wrong_result(tape):
    async def other(model):
        try:
            return await agent_once(model, "hello")
        except ModelError:
            return await agent_once(model, "hello?")

    async def agent_once(model, text):
        return (await complete(model, ModelRequest(model="m", messages=(user(text),)))).text

    (row,) = sweep(other, source_in(tape), kinds=["500"]).rows
    assert (row.verdict, "asked what has no answer" in row.reason) == ("wrong result", True)


def test_an_attempt_that_was_recorded_as_failed_is_no_part_of_a_good_run(tape):
    (exchange,) = Tape.load(tape).exchanges
    failure = RecordedFailure(type="error", message="busy", status=429)
    failed = msgspec.structs.replace(exchange, number=1, response=None, failure=failure, chunks=())
    Tape([failed, msgspec.structs.replace(exchange, number=2)]).save(tape)
    (row,) = sweep(agent, source_in(tape), kinds=["500"]).rows
    assert (row.verdict, row.retries) == ("survived", 1)


def test_the_folders_of_a_run_stand_for_the_recorded_ones(tape, tmp_path):
    recorded = Tape.load(tape)
    (exchange,) = recorded.exchanges
    asked = msgspec.structs.replace(
        exchange.request, messages=(user("in /recorded/shop, not in /root/me/.config"),)
    )
    head = recorded.head.at(Surroundings(cwd="/recorded/shop", home="/root/me"))
    Tape([msgspec.structs.replace(exchange, request=asked)], head=head).save(tape)
    model = source_in(tape)()
    assert isinstance(model, PlacedModel)
    model.work_in(tmp_path / "here", tmp_path / "home")
    said = user(f"in {tmp_path}/here, not in {tmp_path}/home/.config")
    request = ModelRequest(model="m", messages=(said,))
    assert run(complete(model, request)).text == "good day"
