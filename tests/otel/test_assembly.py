"""The events that spans stand for: from the spans of a trace to steps, tools, agents and their order."""

from __future__ import annotations

import itertools

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    Routed,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import Usage
from soundstage.otel import SpanReceived
from soundstage.otel import _names as names
from soundstage.otel._spans import LONGEST
from soundstage.trace import Trace, assert_agent_sequence, assert_tool_calls

MEANT = (
    AgentStarted,
    AgentFinished,
    ModelRequested,
    ModelResponded,
    ModelFailed,
    ToolCalled,
    ToolReturned,
    Routed,
)


def told(journal) -> list[str]:
    return [type(record.event).__name__ for record in journal.read(type=MEANT)]


def team(spans):
    """A router that asks a tool of its own and hands over to a worker with a tool."""
    root = spans.add("the app", 0, 1000)
    router = spans.agent("router", 10, 300, parent=root)
    spans.chat(20, 100, ("call_1", "look", {"at": "it"}), parent=router)
    spans.tool(
        "look", 110, 150, "seen", parent=router, attributes={"gen_ai.tool.call.arguments": '{"at":"it"}'}
    )
    answer = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "seen"}]}]
    spans.chat(160, 200, ("call_2", "transfer_to_worker", {}), parent=router, asked=answer)
    worker = spans.agent("worker", 310, 900, parent=root)
    spans.chat(320, 400, ("call_3", "look", {"at": "that"}), parent=worker)
    spans.tool("look", 410, 450, "seen too", parent=worker, attributes={"gen_ai.tool.call.id": "call_3"})
    spans.chat(500, 600, "done", parent=worker)
    return spans.made


def check_team(journal) -> None:
    trace = Trace.of(journal)
    assert_agent_sequence(trace, "router", "worker")
    assert_tool_calls(trace, ("look", {"at": "it"}), "transfer_to_worker", ("look", {"at": "that"}))
    assert [use.result for use in trace.tools] == ["seen", None, "seen too"]
    [handover] = trace.handovers
    assert (handover.sender, handover.receiver, handover.via) == ("router", "worker", "transfer_to_worker")


def test_the_names_of_attributes_are_those_of_the_conventions():
    known = {
        value for name, value in vars(gen_ai_attributes).items() if name.isupper() and isinstance(value, str)
    }
    ours = {
        value
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and value.startswith("gen_ai.")
    }
    ours |= set(names.SETTINGS) | {name for older in names.OLDER.values() for name in older}
    assert ours - known == {names.HANDOFF_FROM, names.HANDOFF_TO, "exception.type"}
    operations = {member.value for member in gen_ai_attributes.GenAiOperationNameValues}
    assert set(names.KINDS) - operations == {"handoff", "agent_handoff"}


def test_spans_become_agents_steps_tools_and_a_hand_over(journal, recorder, spans):
    recorder.add(team(spans))
    check_team(journal)


def test_what_spans_mean_does_not_depend_on_the_order_in_which_they_come(new_spans, journal, spans):
    """Every rotation and its reverse: children before parents, ends before beginnings, the root anywhere."""
    from soundstage.journal import Journal
    from soundstage.otel._recorder import SpanRecorder

    made = team(spans)
    for turn, reverse in itertools.product(range(len(made)), (False, True)):
        order = made[turn:] + made[:turn]
        other = Journal(clock=journal.clock)
        recorder = SpanRecorder(other)
        recorder.add(order[::-1] if reverse else order)
        check_team(other)


def test_times_are_those_of_the_spans(journal, recorder, spans):
    recorder.add(team(spans))
    trace = Trace.of(journal)
    assert [round(step.duration, 3) for step in trace.steps] == [0.08, 0.04, 0.08, 0.1]
    assert round(trace.tools[0].duration, 3) == 0.04
    assert (
        abs(trace.steps[0].started - 50.02) < 5
    )  # two clocks are read, and the machine may be busy in between
    assert round(trace.steps[1].started - trace.steps[0].started, 3) == 0.14
    assert not journal.read(type=Noted)


def test_causes_follow_the_tree_and_the_content(journal, recorder, spans):
    recorder.add(team(spans))
    by_position = {record.position: record for record in journal.read()}
    meant = journal.read(type=MEANT)

    def cause(number: int) -> object:
        return by_position[meant[number].cause].event

    order = "AgentStarted ModelRequested ModelResponded ToolCalled ToolReturned ModelRequested ModelResponded"
    assert " ".join(type(record.event).__name__ for record in meant[:7]) == order
    assert meant[0].cause is None
    assert cause(1) is meant[0].event
    assert cause(2) is meant[1].event
    assert cause(3) is meant[2].event, "the tool is run because a reply asked for it"
    assert cause(4) is meant[3].event
    assert cause(5) is meant[2].event, "the request brings the result of what that reply asked for"


def test_a_trace_is_told_when_its_root_comes(journal, recorder, spans):
    *made, root = team(spans)[::-1]
    recorder.add(made)
    assert told(journal) == []
    assert len(journal.events(SpanReceived)) == len(made)
    recorder.add([root])
    check_team(journal)


def test_a_trace_without_a_root_is_told_when_it_is_settled(journal, recorder, spans):
    recorder.add(team(spans)[1:])
    assert told(journal) == []
    recorder.settle()
    check_team(journal)
    recorder.settle()
    check_team(journal)


def test_a_span_that_comes_after_its_root_is_told_at_once(journal, recorder, spans):
    made = team(spans)
    recorder.add(made[:-1])
    recorder.add(made[-1:])
    trace = Trace.of(journal)
    assert [(step.agent, step.text) for step in trace.steps][-1] == ("worker", "done")
    assert [run.agent for run in trace.runs] == ["router", "worker", "worker"], "its run was over before"


def test_a_span_that_comes_twice_counts_once_whoever_receives_it(journal, recorder, spans):
    from soundstage.otel._recorder import SpanRecorder

    made = team(spans)
    recorder.add([*made, *made])
    recorder.add(made)
    SpanRecorder(journal).add(made)
    check_team(journal)
    assert len(journal.events(SpanReceived)) == len(made)


def test_spans_about_something_else_are_kept_and_mean_nothing(journal, recorder, spans):
    root = spans.add("GET /", 0, 100, attributes={"http.request.method": "GET"}, kind="server")
    spans.add("embeddings", 1, 2, parent=root, attributes={"gen_ai.operation.name": "embeddings"})
    spans.add("odd", 1, 2, parent=root, attributes={"gen_ai.operation.name": ["a", "list"]})
    recorder.add(spans.made)
    assert told(journal) == []
    assert [event.name for event in journal.events(SpanReceived)] == ["GET /", "embeddings", "odd"]
    assert journal.events(SpanReceived)[0].attributes == {"http.request.method": "GET"}


def test_an_agent_within_an_agent_has_it_as_its_parent_through_other_spans(journal, recorder, spans):
    outer = spans.agent("lead", 0, 100)
    between = spans.add("anything", 10, 90, parent=outer)
    inner = spans.agent("helper", 20, 80, parent=between)
    spans.chat(30, 40, "hi", parent=inner)
    recorder.add(spans.made)
    [step] = Trace.of(journal).steps
    assert (step.agent, step.parent) == ("helper", "lead")


def test_spans_whose_parents_go_round_in_a_circle_are_told_once(journal, recorder, spans):
    import msgspec

    first = spans.chat(0, 10, "a")
    second = spans.chat(20, 30, "b", parent=first)
    recorder.add([msgspec.structs.replace(first, parent=second.span), second])
    recorder.add([spans.add("itself", 0, 1, parent=first)])
    recorder.settle()
    assert [step.text for step in Trace.of(journal).steps] == ["a", "b"]


def test_a_very_deep_tree_is_told(journal, recorder, spans):
    parent = spans.agent("top", 0, 9000)
    for depth in range(3000):
        parent = spans.add("deeper", depth, 9000, parent=parent)
    spans.chat(4000, 5000, "hi", parent=parent)
    recorder.add(spans.made)
    assert Trace.of(journal).steps[0].agent == "top"


def test_a_conversation_is_named_by_any_span_around(journal, recorder, spans):
    root = spans.add("app", 0, 100)
    for number, begin in ((1, 0), (2, 50)):
        agent = spans.agent(
            "a", begin, begin + 40, parent=root, attributes={"gen_ai.conversation.id": f"c{number}"}
        )
        spans.chat(begin + 1, begin + 2, "hi", parent=agent)
    recorder.add(spans.made)
    assert Trace.of(journal).conversations == ("c1", "c2")


def test_without_a_conversation_each_trace_is_one(journal, recorder, spans):
    spans.chat(0, 1, "hi")
    recorder.add(spans.made)
    assert Trace.of(journal).conversations == (spans.trace,)


def test_a_trace_in_which_one_conversation_is_named_belongs_to_it(journal, recorder, spans):
    agent = spans.agent("a", 0, 100)
    spans.chat(1, 2, "hi", parent=agent, attributes={"gen_ai.conversation.id": "c1"})
    recorder.add(spans.made)
    assert journal.events(AgentStarted)[0].conversation == "c1"


def test_a_tool_span_without_an_id_is_the_call_with_its_name_and_arguments(journal, recorder, spans):
    agent = spans.agent("a", 0, 100)
    spans.chat(1, 2, ("one", "look", {"at": 1}), ("two", "look", {"at": 2}), parent=agent)
    for begin, at in ((10, 2), (20, 1)):
        arguments = {"gen_ai.tool.call.arguments": {"at": at}}
        spans.tool("look", begin, begin + 5, f"saw {at}", parent=agent, attributes=arguments)
    spans.tool("unasked", 40, 45, {"found": [1]}, parent=agent)
    recorder.add(spans.made)
    uses = Trace.of(journal).tools
    assert [(use.name, use.arguments, use.result) for use in uses] == [
        ("look", {"at": 1}, "saw 1"),
        ("look", {"at": 2}, "saw 2"),
        ("unasked", {}, '{"found":[1]}'),
    ]


def test_without_content_there_are_still_steps_tools_and_tokens(journal, recorder, spans):
    agent = spans.agent("a", 0, 100)
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    spans.chat(1, 2, parent=agent, attributes=bare)
    spans.tool("look", 10, 20, None, parent=agent, attributes={"gen_ai.tool.call.id": "c"})
    recorder.add(spans.made)
    trace = Trace.of(journal)
    assert [(use.name, use.result) for use in trace.tools] == [("look", "")]
    assert trace.usage == Usage(input_tokens=10, output_tokens=3)


def test_cached_tokens_are_taken_out_of_the_input(journal, recorder, spans):
    cached = {
        "gen_ai.usage.cache_read.input_tokens": 6,
        "gen_ai.usage.cache_creation.input_tokens": 1,
    }
    spans.chat(0, 1, "hi", attributes=cached)
    recorder.add(spans.made)
    usage = Usage(input_tokens=3, output_tokens=3, cache_read_tokens=6, cache_write_tokens=1)
    assert Trace.of(journal).usage == usage


def test_errors_are_failures(journal, recorder, spans):
    agent = spans.agent("a", 0, 100, status="error", message="gave up")
    spans.chat(1, 2, parent=agent, attributes={"error.type": "429"}, status="error", message="slow down")
    spans.tool("look", 3, 4, None, parent=agent, attributes={"error.type": "KeyError"}, message="'x'")
    recorder.add(spans.made)
    trace = Trace.of(journal)
    assert trace.steps[0].failure == ModelFailed(reason="error", message="slow down", status=429)
    assert (trace.tools[0].result, trace.tools[0].is_error) == ("'x'", True)
    assert journal.events(AgentFinished)[0].outcome == "failure"
    assert [failure.what for failure in trace.failures] == ["model", "agent"]


def test_a_hand_over_that_no_tool_tells_of_is_a_route(journal, recorder, spans):
    root = spans.add("app", 0, 100)
    one = spans.agent("one", 1, 20, parent=root)
    spans.chat(2, 3, "over to two", parent=one)
    handed = {
        "gen_ai.operation.name": "handoff",
        "gen_ai.handoff.from_agent": "one",
        "gen_ai.handoff.to_agent": "two",
    }
    spans.add("handoff", 21, 21, parent=root, attributes=handed)
    two = spans.agent("two", 22, 90, parent=root)
    spans.chat(23, 24, "here I am", parent=two)
    recorder.add(spans.made)
    [handover] = Trace.of(journal).handovers
    assert (handover.sender, handover.receiver, handover.via) == ("one", "two", "routing")


def test_a_clock_that_is_ahead_is_set_right_and_noted(journal, recorder, spans, new_spans):
    ahead = new_spans(spans.zero + 3600 * 1_000_000_000)
    recorder.add(team(ahead))
    check_team(journal)
    [note] = journal.read(type=Noted)
    assert "s ahead" in note.event.text
    trace = Trace.of(journal)
    assert [round(step.duration, 3) for step in trace.steps] == [0.08, 0.04, 0.08, 0.1]
    assert max(record.time for record in journal.read()) <= journal.clock.now()


def test_a_clock_that_is_behind_is_set_right_and_noted(journal, recorder, spans, new_spans):
    recorder.add(team(new_spans(0)))
    check_team(journal)
    assert "s behind" in journal.events(Noted)[0].text


def test_a_child_whose_clock_is_behind_begins_with_its_parent(journal, recorder, spans):
    agent = spans.agent("a", 100, 200)
    spans.chat(50, 150, "hi", parent=agent)
    recorder.add(spans.made)
    assert told(journal) == ["AgentStarted", "ModelRequested", "ModelResponded", "AgentFinished"]


def test_a_giant_attribute_is_whole_in_the_reply_and_cut_where_the_span_is_kept(journal, recorder, spans):
    spans.chat(0, 1, "x" * 2_000_000, attributes={"other": "y" * 50_000})
    recorder.add(spans.made)
    assert len(Trace.of(journal).steps[0].text) == 2_000_000
    kept = journal.events(SpanReceived)[0].attributes
    assert all(len(str(value)) < LONGEST + 100 for value in kept.values())
    assert kept["other"].endswith(f"({50_000 - LONGEST} characters more)")


def test_values_that_json_has_no_form_for_do_not_break_the_journal(tmp_path, spans):
    from soundstage.journal import Journal, read_journal
    from soundstage.otel._recorder import SpanRecorder

    journal = Journal(tmp_path / "journal.jsonl", clock=spans_clock())
    odd = {"nan": float("nan"), "half": "\ud800", "bytes": b"x", "gen_ai.usage.input_tokens": "many"}
    spans.chat(0, 1, "hi", attributes=odd)
    SpanRecorder(journal).add(spans.made)
    journal.close()
    assert Trace.of(journal).steps[0].text == "hi"
    assert len(read_journal(tmp_path / "journal.jsonl")) == len(journal)


def spans_clock():
    from soundstage.clock import SystemClock

    return SystemClock()


def test_agents_at_work_side_by_side_are_told_as_it_happened(journal, recorder, spans):
    root = spans.add("app", 0, 100)
    left = spans.agent("left", 1, 90, parent=root)
    right = spans.agent("right", 2, 80, parent=root)
    spans.chat(10, 15, "one", parent=left)
    spans.chat(40, 45, "three", parent=left)
    spans.chat(20, 25, "two", parent=right)
    recorder.add(spans.made)
    assert [step.text for step in Trace.of(journal).steps] == ["one", "two", "three"]


def test_of_several_tools_the_one_that_names_the_receiver_is_how_it_was_handed_over(journal, recorder, spans):
    root = spans.add("app", 0, 100)
    one = spans.agent("one", 1, 20, parent=root)
    spans.chat(2, 3, ("c1", "transfer_to_Two", {}), ("c2", "write_note", {}), parent=one)
    two = spans.agent("two", 30, 50, parent=root)
    spans.chat(31, 32, ("c3", "look", {}), parent=two)
    spans.chat(33, 34, "I am done", parent=two)
    again = spans.agent("one", 60, 90, parent=root)
    spans.chat(61, 62, "thanks", parent=again)
    recorder.add(spans.made)
    assert [handover.via for handover in Trace.of(journal).handovers] == ["transfer_to_Two", ""]


def test_a_fact_may_have_happened_before_it_is_told(journal, spans):
    position = journal.append(Noted(text="long ago"), at=1.5)
    assert journal.read()[position - 1].time == 1.5


def test_events_of_spans_say_in_words_what_they_are(journal, recorder, spans):
    spans.chat(0, 1500, "hi", status="error", message="too slow")
    recorder.add(spans.made)
    assert str(journal.events(SpanReceived)[0]) == "span 'chat gpt-4o' of 1.500 s, too slow"
