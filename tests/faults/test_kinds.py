"""Kinds of faults: which cases a call has, what is drawn, and what happens in the place of a long wait."""

from __future__ import annotations

import msgspec
import pytest

from soundstage.errors import UnknownNameError
from soundstage.faults._calls import ModelCall
from soundstage.faults._cases import Terms, content, fine
from soundstage.faults._kinds import KINDS, cases_of, kinds_named
from soundstage.messages import Caller, FinishChunk, ModelRequest, TextChunk, ToolCallChunk, respond, user

REPLY = (
    TextChunk(index=0, text="Noting this: "),
    ToolCallChunk(index=1, id="c1", name="append_note", arguments='{"text":"milk and eggs"}'),
    FinishChunk(finish="tool_calls"),
)
REQUEST = ModelRequest(model="m", messages=(user("note"),), stream=True, format="openai-chat")
CALL = ModelCall(3, REQUEST, REPLY, began=0.0)
NO_WIRE = Terms()


def waiting(header, seconds):
    """The call of a client that says how long it waits."""
    caller = Caller(headers={header: seconds})
    return CALL._replace(request=msgspec.structs.replace(REQUEST, caller=caller))


def the_case(name, call=CALL, terms=NO_WIRE, seed=0):
    """The case of a kind."""
    return cases_of([call], kinds_named([name]), terms, seed)[0].injection


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_in_a_tool_argument_leaves_a_part_of_it_that_is_no_json(seed):
    injection = the_case("cut-tool", seed=seed)
    pieces = content(injection.reshape(REPLY))[: injection.fault.after]
    call = respond(pieces).tool_calls[0]
    assert call.raw.startswith('{"text":"')
    assert call.raw != '{"text":"milk and eggs"}'


def test_a_reply_without_tools_has_no_argument_to_cut_and_one_without_text_no_text():
    no_tools = CALL._replace(chunks=(REPLY[0], FinishChunk()))
    assert cases_of([no_tools], kinds_named(["cut-tool"]), Terms(), 0) == []
    no_text = CALL._replace(chunks=REPLY[1:])
    assert cases_of([no_text], kinds_named(["cut-text"]), Terms(), 0) == []


def test_pieces_of_one_character_are_the_same_reply():
    assert respond(fine(REPLY)) == respond(REPLY)
    assert len(content(fine(REPLY))) == len('Noting this: {"text":"milk and eggs"}')


@pytest.mark.parametrize("name", ["coalesced", "pieces"])
def test_other_pieces_are_the_same_reply(name):
    for case in cases_of([CALL], kinds_named([name]), Terms(), 5):
        assert respond(case.injection.reshape(fine(REPLY))) == respond(REPLY)


@pytest.mark.parametrize("header", ["x-stainless-read-timeout", "x-stainless-timeout"])
def test_a_stall_that_a_client_would_wait_for_too_long_is_a_closed_connection_and_says_so(header):
    terms = Terms(wire=True, patience=30)
    short = the_case("stall", waiting(header, "20"), terms)
    assert (short.fault.type, short.delivery, short.remark) == ("stall", None, "")
    long = the_case("stall", waiting(header, "600"), terms)
    assert (long.fault.type, long.delivery.dropped) == ("cut", True)
    assert long.remark == "closed at once, in the place of the client's own timeout of 600 s"


def test_a_client_that_does_not_say_how_long_it_waits_is_waited_for():
    assert the_case("stall", terms=Terms(wire=True, patience=1)).fault.type == "stall"


def test_every_place_of_a_stream_is_cut_on_the_wire_or_as_many_as_are_wanted():
    every = cases_of([CALL], kinds_named(["cut-at"]), Terms(wire=True), 0)
    length = int(every[0].injection.remark.split()[1])
    assert [case.id for case in every] == [f"3:cut-at@{place}" for place in range(1, length)]
    some = cases_of([CALL], kinds_named(["cut-at"]), Terms(wire=True, cuts=5), 0)
    assert len(some) == 5
    assert {case.id for case in some} < {case.id for case in every}


def test_kinds_of_one_stream_take_the_longest_reply_that_they_apply_to():
    accents = CALL._replace(number=1, chunks=(TextChunk(index=0, text="né"), FinishChunk()))
    found = cases_of([accents, CALL], kinds_named(["utf-8", "crlf"]), Terms(wire=True), 0)
    assert [case.id for case in found] == ["1:utf-8", "3:crlf"]


def test_a_kind_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(UnknownNameError, match="did you mean 'cut-tool'") as caught:
        kinds_named(["cut_tool"])
    assert all(name in str(caught.value) for name in KINDS)
