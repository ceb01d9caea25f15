"""Scripted faults, on each format, streamed and whole: the client sees them, the journal has them."""

from __future__ import annotations

import httpx
import pytest

from soundstage.errors import ProviderError
from soundstage.journal import DaemonChanged, ModelChunked, ModelFailed, event
from soundstage.messages import FinishChunk, TextChunk
from soundstage.models import ErrorSpec, FaultyModel, Reply, ReplyFault, Script, ScriptedModel
from soundstage.models._play import GARBAGE
from support.wires import WIRES, error_of, events_of, no_task_is_left, outcomes, run, said, serving

PIECES = ("one ", "two ", "three")
TEXT = "one two three"


@pytest.fixture(params=WIRES)
def wire(request):
    return WIRES[request.param]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param


def faulty(kind, *, after=0, seconds=None):
    """A script whose first reply goes wrong, and whose later ones do not."""
    script = Script()
    script.on(user="hello", times=1).fault(kind, Reply(chunks=PIECES), after=after, seconds=seconds)
    script.on(user="hello").reply("fine")
    return script


async def partial(served, wire, stream, **options):
    """The part of a broken answer that a client gets, and why it ends."""
    received = b""
    answer = None
    try:
        answer = await served.http.send(served.request(wire, stream=stream, **options), stream=True)
        async for data in answer.aiter_raw():
            received += data
    except httpx.TransportError as error:
        return answer, received.decode(), error
    return answer, received.decode(), None


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_has_the_status_and_the_shape_of_the_provider(wire, stream, status):
    script = Script()
    script.on(user="hello").error(status, "as scripted")

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, stream=stream)
            assert (answer.status_code, error_of(wire, answer)) == (
                status,
                (wire.kinds[status], "as scripted"),
            )
            assert "retry-after" not in answer.headers
            [failure] = served.events(ModelFailed)
            assert (failure.reason, failure.status) == ("error", status)
            assert "as scripted" in failure.message

    run(main())


def test_an_error_has_the_type_and_the_headers_of_the_script(wire, stream):
    script = Script()
    script.on(user="hello").error(
        529, "busy", type="overloaded_error", retry_after=1.5, should_retry=False, headers={"X-Limit": "0"}
    )

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, stream=stream)
            assert (answer.status_code, error_of(wire, answer)) == (529, ("overloaded_error", "busy"))
            headers = [answer.headers[name] for name in ("retry-after", "x-should-retry", "x-limit")]
            assert headers == ["1.5", "false", "0"]
            assert answer.headers["content-type"].startswith("application/json")
            assert served.events(ModelFailed)[0].kind == "overloaded_error"

    run(main())


def test_after_an_error_the_next_rule_answers(wire, stream):
    script = Script(strict=True)
    script.on(user="hello", times=2).error(503, "not yet")
    script.on(user="hello").reply("at last")

    async def main():
        async with serving(script) as served:
            statuses = [(await served.ask(wire, stream=stream)).status_code for _ in range(2)]
            assert statuses == [503, 503]
            assert await served.text(wire, stream=stream) == "at last"
            assert outcomes(served.journal) == ["error", "error", "ok"]

    run(main())


class FailsInTheMiddle:
    """A model that begins, and then has an error."""

    async def stream(self, request):
        yield TextChunk(index=0, text="one ")
        raise ProviderError("lost my thread", status=529, kind="overloaded_error")


def test_an_error_in_the_middle_of_a_stream_is_an_event_of_it(wire):
    async def main():
        async with serving(FailsInTheMiddle()) as served:
            answer = await served.ask(wire, stream=True)
            assert answer.status_code == 200
            assert "one " in answer.text
            assert "lost my thread" in answer.text
            assert "overloaded_error" in answer.text
            assert not wire.end(answer.text)
            assert outcomes(served.journal) == ["error"]

    run(main())


def test_an_error_in_the_middle_of_a_whole_answer_is_the_answer(wire):
    async def main():
        async with serving(FailsInTheMiddle()) as served:
            answer = await served.ask(wire)
            assert answer.status_code == 529
            assert error_of(wire, answer) == ("overloaded_error", "lost my thread")

    run(main())


@pytest.mark.parametrize("after", [0, 1, 2, 99])
def test_a_cut_stream_shows_so_many_pieces_and_then_breaks_off(wire, after):
    async def main():
        async with serving(faulty("cut", after=after)) as served:
            answer, received, error = await partial(served, wire, True)
            assert answer.status_code == 200
            assert isinstance(error, httpx.RemoteProtocolError)
            text = "".join(wire.piece(one) for one in events_of(received))
            assert text == "".join(PIECES[:after])
            assert not wire.end(received)
            await no_task_is_left()
            assert await served.text(wire, stream=True) == "fine"
            assert outcomes(served.journal) == ["cut", "ok"]
            assert len(served.events(ModelChunked)) == min(after, len(PIECES)) + 1

    run(main())


@pytest.mark.parametrize("after", [0, 1, 99])
def test_a_cut_answer_breaks_off_before_its_length(wire, after):
    async def main():
        async with serving(faulty("cut", after=after)) as served:
            answer, received, error = await partial(served, wire, False)
            assert answer.status_code == 200
            assert isinstance(error, httpx.RemoteProtocolError)
            assert 0 < len(received) < int(answer.headers["content-length"])
            await no_task_is_left()
            assert await served.text(wire) == "fine"
            assert outcomes(served.journal) == ["cut", "ok"]

    run(main())


def test_a_cut_keeps_the_headers_of_the_script(wire, stream):
    script = Script()
    fault = ReplyFault(type="cut", after=1)
    script.on(user="hello").reply(chunks=PIECES, headers={"x-limit": "7"}, fault=fault)

    async def main():
        async with serving(script) as served:
            answer, _, error = await partial(served, wire, stream)
            assert answer.headers["x-limit"] == "7"
            assert error is not None

    run(main())


@pytest.mark.parametrize("after", [0, 2])
def test_a_client_that_loses_patience_with_a_stall_is_on_record_and_leaves_nothing_behind(
    wire, stream, after
):
    async def main():
        async with serving(faulty("stall", after=after)) as served:
            _, received, error = await partial(served, wire, stream, timeout=1)
            assert isinstance(error, httpx.ReadTimeout)
            if stream:
                assert "".join(wire.piece(one) for one in events_of(received)) == "".join(PIECES[:after])
            gone = event(ModelFailed, reason="client_gone", message="the client has gone")
            await served.journal.wait_for(gone, within=10)
            await no_task_is_left()
            assert await served.text(wire, stream=stream) == "fine"
            assert outcomes(served.journal) == ["client_gone", "ok"]
            assert all(not change.error for change in served.events(DaemonChanged))

    run(main())


def test_a_short_stall_only_delays(wire, stream):
    async def main():
        async with serving(faulty("stall", after=1, seconds=0.01)) as served:
            assert await served.text(wire, stream=stream) == TEXT
            assert outcomes(served.journal) == ["ok"]
            await no_task_is_left()

    run(main())


def test_a_garbled_stream_has_bytes_that_no_format_allows_and_goes_on(wire):
    async def main():
        async with serving(faulty("garbled", after=1)) as served:
            answer = await served.ask(wire, stream=True)
            before, _, rest = answer.content.partition(GARBAGE)
            assert "".join(wire.piece(one) for one in events_of(before.decode())) == "one "
            assert "".join(wire.piece(one) for one in events_of(rest.decode())) == "two three"
            assert wire.end(answer.text)
            assert outcomes(served.journal) == ["ok"]

    run(main())


def test_a_garbled_answer_is_not_json(wire):
    async def main():
        async with serving(faulty("garbled", after=1)) as served:
            answer = await served.ask(wire)
            assert answer.status_code == 200
            assert GARBAGE in answer.content
            with pytest.raises(ValueError, match=r".*"):
                answer.json()
            assert await served.text(wire) == "fine"

    run(main())


def test_an_empty_reply_is_regular_and_says_nothing(wire, stream):
    script = Script()
    script.on(user="hello").fault("empty")

    async def main():
        async with serving(script) as served:
            answer = await served.ask(wire, stream=stream)
            assert said(wire, answer) == ""
            assert not stream or wire.end(answer.text)
            assert outcomes(served.journal) == ["ok"]

    run(main())


def test_delays_and_speed_hold_on_the_wire(wire, stream):
    script = Script()
    script.on(user="hello").reply(chunks=PIECES, delay=0.01, tokens_per_second=1000)

    async def main():
        async with serving(script) as served:
            assert await served.text(wire, stream=stream) == TEXT

    run(main())


def test_faults_come_on_the_calls_that_are_named(wire, stream):
    script = Script()
    script.on(user="hello").reply("fine")
    faults = {2: ErrorSpec(status=500, message="the second"), 3: ReplyFault(type="cut")}

    async def main():
        async with serving(FaultyModel(ScriptedModel(script), faults)) as served:
            assert await served.text(wire, stream=stream) == "fine"
            assert (await served.ask(wire, stream=stream)).status_code == 500
            assert (await partial(served, wire, stream))[2] is not None
            assert await served.text(wire, stream=stream) == "fine"
            assert outcomes(served.journal) == ["ok", "error", "cut", "ok"]

    run(main())


class Big:
    """A model with a reply that no buffer holds."""

    async def stream(self, request):
        for _ in range(32):
            yield TextChunk(index=0, text="x" * 262_144)
        yield FinishChunk()


def test_a_client_that_goes_away_in_a_big_answer_leaves_nothing_behind(wire, stream):
    async def main():
        async with serving(Big()) as served:
            answer = await served.http.send(served.request(wire, stream=stream), stream=True)
            assert await anext(answer.aiter_raw())
            await answer.aclose()
            await no_task_is_left()
            whole = await served.ask(wire, stream=stream)
            assert len(said(wire, whole)) == 32 * 262_144

    run(main())


GEMINI_ARRAY = "/v1beta/models/m:streamGenerateContent"


def test_gemini_streams_an_array_where_events_are_not_asked_for():
    wire = WIRES["gemini"]

    async def main():
        async with serving(faulty("cut", after=2)) as served:
            body = wire.body("hello", "")
            with pytest.raises(httpx.RemoteProtocolError):
                await served.http.post(GEMINI_ARRAY, json=body)
            answer = await served.http.post(GEMINI_ARRAY, json=body)
            assert answer.headers["content-type"] == "application/json; charset=UTF-8"
            assert "".join(wire.text(one) for one in answer.json()) == "fine"

    run(main())
