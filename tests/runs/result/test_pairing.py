"""Pairing holds whatever is lost, told twice, or comes in another order: no result moves to another call."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import Event, HookFired, Journal, Record, ToolCalled, ToolReturned
from soundstage.runs import build_result
from support.cases import cases

CALLS = [f"c{number}" for number in range(5)]


def of_call(call: str, conversation: str) -> list[Event]:
    """A whole tool use: hook, call, result, hook."""
    given = {"tool_name": "look", "tool_input": {"at": call}}
    return [
        HookFired(hook="before", event="PreToolUse", call_id=call, input=given, paired=True),
        ToolCalled(call_id=call, name="look", arguments={"at": call}, conversation=conversation),
        ToolReturned(call_id=call, text=f"result of {call}"),
        HookFired(hook="after", event="PostToolUse", call_id=call, input=given),
    ]


@st.composite
def journals(draw: st.DrawFn) -> list[Record]:
    """Tool uses of two conversations, interleaved; each keeps its own order."""
    uses = [of_call(call, draw(st.sampled_from(["", "other"]))) for call in CALLS]
    journal = Journal()
    while any(uses):
        use = draw(st.sampled_from([use for use in uses if use]))
        journal.append(use.pop(0), source="agent")
    return journal.read()


def pairs(records: Sequence[Record]) -> dict[str, str | None]:
    return {use.call_id: use.result for use in build_result(records).tools}


@cases(50)
@given(journals())
def test_every_call_has_its_own_result_however_they_are_interleaved(records):
    result = build_result(records)
    assert (result.status, result.missing, result.warnings) == ("complete", (), ())
    assert pairs(records) == {call: f"result of {call}" for call in CALLS}


@cases(100)
@given(journals(), st.data())
def test_a_lost_record_costs_its_own_call_alone_and_is_told(records, data):
    lost = data.draw(st.sampled_from(records))
    call, kind = lost.event.call_id, type(lost.event)
    left = [record for record in records if record is not lost]
    result = build_result(left)
    found = pairs(left)
    assert {other: found[other] for other in CALLS if other != call} == {
        other: f"result of {other}" for other in CALLS if other != call
    }
    ends = isinstance(lost.event, HookFired) and lost.event.event == "PostToolUse"
    assert result.missing == ((call,) if ends else ())
    assert result.status == ("partial" if ends else "complete")
    assert found[call] is not None or kind is ToolReturned


@cases(50)
@given(journals(), st.sets(st.sampled_from(CALLS)))
def test_calls_that_are_cut_off_are_the_missing_ones(records, cut):
    left = [
        record
        for record in records
        if record.event.call_id not in cut or isinstance(record.event, ToolCalled)
    ]
    result = build_result(left)
    assert set(result.missing) == cut
    assert (result.status == "partial") == bool(cut)
    assert {use.call_id for use in result.tools if use.result is None} == cut


@cases(50)
@given(journals(), st.sets(st.sampled_from(CALLS)))
def test_results_whose_begin_is_lost_are_the_orphans(records, cut):
    left = [
        record
        for record in records
        if record.event.call_id not in cut or isinstance(record.event, ToolReturned)
    ]
    result = build_result(left)
    assert {use.call_id for use in result.tools if use.orphan} == cut
    assert pairs(left) == {call: f"result of {call}" for call in CALLS}


@cases(50)
@given(journals(), st.data())
def test_what_is_told_twice_changes_nothing_but_a_warning(records, data):
    again = data.draw(st.lists(st.sampled_from(records), min_size=1, max_size=5, unique_by=id))
    doubled = [one for record in records for one in ([record, record] if record in again else [record])]
    result, plain = build_result(doubled), build_result(records)
    assert msgspec.structs.replace(result, warnings=()) == plain
    assert result.warnings == (f"{len(again)} records were there twice and count once",)


@cases(50)
@given(journals(), st.data())
def test_two_neighbours_in_the_wrong_order_lose_no_result_and_move_none(records, data):
    at = data.draw(st.integers(0, len(records) - 2))
    swapped = [*records[:at], records[at + 1], records[at], *records[at + 2 :]]
    found: dict[str, set[str | None]] = {}
    for use in build_result(swapped).tools:
        found.setdefault(use.call_id, set()).add(use.result)
    assert all(results - {None} == {f"result of {call}"} for call, results in found.items())
    assert set(found) == set(CALLS)


@cases(50)
@given(journals())
def test_the_timeline_is_the_journal_in_order(records):
    assert build_result(records).timeline == tuple(records)
