"""`soundstage tape accept`: what the last replay asked gets onto the tape, and what it did not ask is taken off."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from soundstage.errors import TapeError
from soundstage.messages import ModelRequest, ModelResponse, Text, assistant, user
from soundstage.tapes import DivergenceError, Playback, RecordedExchange, Tape
from soundstage.tapes._accept import accept
from soundstage.tapes._seen import keep_seen, seen_path

app = typer.Typer()
app.command()(accept)


def request(*said, purpose="main"):
    roles = [user if place % 2 == 0 else assistant for place in range(len(said))]
    messages = tuple(role(text) for role, text in zip(roles, said, strict=True))
    return ModelRequest(model="m", messages=messages, purpose=purpose)


@pytest.fixture
def tape(tmp_path, monkeypatch):
    """A tape of two conversations, the first with two turns, and of a title that is made beside them."""
    monkeypatch.chdir(tmp_path)
    asked = [
        request("hello"),
        request("hello", "reply 1", "and now?"),
        request("something else"),
        request("title", purpose="title"),
    ]
    exchanges = [
        RecordedExchange(
            number=number, request=one, response=ModelResponse(parts=(Text(text=f"reply {number}"),))
        )
        for number, one in enumerate(asked, 1)
    ]
    Tape(exchanges).save("t.tape")
    return tmp_path / "t.tape"


def replayed(tape, *requests):
    """A replay that is asked this; its verdict's cause."""
    playback = Playback(Tape.load(tape))
    try:
        for one in requests:
            playback.take(one)
    except DivergenceError:
        pass
    verdict = playback.finish()
    keep_seen(playback)
    return verdict.cause if verdict is not None else ""


def accepted():
    ended = CliRunner().invoke(app, ["t.tape"])
    if ended.exception is not None:
        raise ended.exception
    return ended.output.splitlines()


def test_calls_that_were_not_made_are_taken_off_and_the_next_replay_is_good(tape):
    asked = request("something else")
    assert replayed(tape, asked) == "missing call"
    assert accepted() == [
        "t.tape: exchange 1 is taken off: the run did not ask for it",
        "t.tape: exchange 2 is taken off: the run did not ask for it",
    ]
    assert [one.number for one in Tape.load(tape).exchanges] == [3, 4]
    assert replayed(tape, asked) == ""
    assert replayed(tape, request("hello")) == "prompt edited"


def test_what_goes_on_from_a_call_that_is_taken_off_is_kept_whole(tape):
    longer = request("hello", "reply 1", "and now?")
    assert replayed(tape, longer, request("something else")) == "missing call"
    assert accepted() == ["t.tape: exchange 1 is taken off: the run did not ask for it"]
    assert Tape.load(tape).exchanges[0].request == longer
    assert replayed(tape, longer, request("something else")) == ""


def test_a_run_that_asked_nothing_cannot_be_accepted(tape):
    before = tape.read_bytes()
    assert replayed(tape) == "missing call"
    with pytest.raises(TapeError, match="made none, and nothing would be left"):
        accepted()
    assert tape.read_bytes() == before


def test_an_edited_request_takes_the_place_of_the_recorded_one_also_in_what_goes_on_from_it(tape):
    assert replayed(tape, request("hello you")) == "prompt edited"
    assert accepted()[0] == "t.tape: exchange 1 has a new request, and keeps its reply"
    said = [one.request.messages[0].text for one in Tape.load(tape).exchanges]
    assert said == ["hello you", "hello you", "something else", "title"]


def test_a_call_that_is_new_is_refused_with_the_command_that_records_it(tape):
    asked = [request("hello"), request("hello", "reply 1", "and now?"), request("something else")]
    assert replayed(tape, *asked, request("hello")) == "already played"
    with pytest.raises(TapeError, match="divergence: already played") as caught:
        accepted()
    assert caught.value.hint == "soundstage record --tape t.tape --mode all -- COMMAND"


def test_after_a_good_replay_there_is_nothing_to_accept(tape):
    asked = [request("hello"), request("hello", "reply 1", "and now?"), request("something else")]
    replayed(tape, asked[0])
    assert seen_path(tape).exists()
    assert replayed(tape, *asked) == ""
    with pytest.raises(TapeError, match="nothing to accept"):
        accepted()
