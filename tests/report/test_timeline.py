"""Lanes, bars and marks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import Noted, Record, ToolCalled
from soundstage.report._timeline import _Slots, timeline_of
from soundstage.trace import build_trace


def record(event, position, source="s", time=0.0):
    return Record(position=position, time=time, run="r", source=source, cause=None, event=event)


def test_agents_come_first_then_the_other_sources_that_say_something(team):
    timeline = timeline_of(build_trace(team))
    names = [lane.name for lane in timeline.lanes]
    assert names == ["orchestrator", "coder", "reviewer", "console", "team", "workspace", "hooks", "network"]


def test_every_step_and_every_tool_call_is_a_bar_from_its_event_to_its_end(team):
    timeline = timeline_of(build_trace(team))
    types = {record.position: type(record.event).__name__ for record in team}
    steps = [(types[bar.position], types[bar.end], bar.bad) for bar in timeline.bars if not bar.tool]
    tools = [(bar.label, types[bar.position], types[bar.end], bar.bad) for bar in timeline.bars if bar.tool]
    failed, good = ("ModelRequested", "ModelFailed", 1), ("ModelRequested", "ModelResponded", 0)
    assert steps == [good, good, failed, good, good, good, failed, good, good]
    assert tools == [
        ("read_file", "ToolCalled", "ToolReturned", 0),
        ("run_tests", "ToolCalled", "ToolReturned", 1),
        ("write_file", "ToolCalled", "ToolReturned", 0),
    ]
    assert timeline.ends == {bar.position: bar.end for bar in timeline.bars}


def test_a_tool_that_only_the_wire_knows_begins_with_the_reply_that_asked_for_it(team):
    on_the_wire = [record for record in team if not type(record.event).__name__.startswith("Tool")]
    timeline = timeline_of(build_trace(on_the_wire))
    types = {record.position: type(record.event).__name__ for record in team}
    tools = [bar for bar in timeline.bars if bar.tool]
    assert len(tools) == 3
    assert {types[bar.position] for bar in tools} == {"ModelResponded"}
    assert {types[bar.end] for bar in tools} == {"ModelRequested"}
    assert not set(timeline.ends) & {bar.position for bar in tools}


def test_what_never_ends_has_no_end_and_keeps_its_slot():
    calls = [ToolCalled(call_id=f"c{number}", name="wait", agent="a") for number in range(3)]
    trace = build_trace([record(call, number) for number, call in enumerate(calls, start=1)])
    assert [(bar.slot, bar.end) for bar in timeline_of(trace).bars] == [(0, 0), (1, 0), (2, 0)]


def test_a_mark_of_a_source_that_is_an_agent_stands_in_the_agents_lane(team):
    noted = record(Noted(text="x"), len(team) + 1, source="coder")
    timeline = timeline_of(build_trace([*team, noted]))
    assert timeline.marks[-1].lane == [lane.name for lane in timeline.lanes].index("coder")


def test_a_journal_without_agents_has_lanes_for_its_sources_only():
    timeline = timeline_of(build_trace([record(Noted(text="x"), 1, source="")]))
    assert [lane.name for lane in timeline.lanes] == ["(none)"]
    assert timeline_of(build_trace([])).lanes == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=30))
def test_bars_in_one_slot_never_overlap(spans):
    slots = _Slots()
    placed = [(slots.take(start, start + length), start, start + length) for start, length in sorted(spans)]
    for number, (slot, start, end) in enumerate(placed):
        others = [other for place, other in enumerate(placed) if other[0] == slot and place != number]
        assert all(other[2] <= start or other[1] >= end for other in others)
    assert len(slots) <= len(spans)
