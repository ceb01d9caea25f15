"""Steps, messages, failures, usage and causes of a trace."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ProviderError, ScriptError
from soundstage.journal import (
    AgentFinished,
    DaemonChanged,
    EgressTried,
    Event,
    FileChanged,
    FlowEnded,
    HostReached,
    Journal,
    MessageReceived,
    MessageSent,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    PhaseChanged,
    ProcessExited,
    RequestRefused,
    Routed,
    RunFinished,
    UnknownEvent,
)
from soundstage.messages import (
    Caller,
    ModelRequest,
    ModelResponse,
    StartChunk,
    Text,
    TextChunk,
    Usage,
    call,
    tool,
    user,
)
from soundstage.models import working_on
from soundstage.trace import build_trace


class HouseEvent(Event, frozen=True, kw_only=True):
    """An app's own event."""

    colour: str = "blue"


def requested(**caller):
    return ModelRequested(request=ModelRequest(model="m", messages=(user("go"),), caller=Caller(**caller)))


def test_a_step_has_the_facts_of_its_request_and_its_reply(traced):
    async def body(scene):
        scene.script.on(user="hello").reply(
            text="hi there", usage={"input_tokens": 7, "output_tokens": 2}, delay=1.5
        )
        await scene.ask("clerk", user("hello"), conversation="c1", parent="chief", phase="open")

    (step,) = traced(body).steps
    assert (step.agent, step.conversation, step.parent, step.phase) == ("clerk", "c1", "chief", "open")
    assert (step.position, step.source, step.cause, step.purpose) == (1, "model", None, "main")
    assert (step.text, step.model, step.usage) == (
        "hi there",
        "claude-opus-5-5",
        Usage(input_tokens=7, output_tokens=2),
    )
    assert (step.started, step.first_chunk, step.ended, step.duration) == (0.0, 1.5, 1.5, 1.5)
    assert step.request.last_user_text == "hello"
    assert step.failure is None
    assert step.answered_at == 3


def test_a_failed_step_keeps_why_it_failed(traced):
    async def body(scene):
        scene.script.on(user="hello").error(529, "busy")
        with pytest.raises(ProviderError):
            await scene.ask("clerk", user("hello"))

    trace = traced(body)
    (step,) = trace.steps
    assert step.response is None
    assert (step.failure.reason, step.failure.status, step.text) == ("error", 529, "")
    assert step.usage == Usage()
    assert [(failure.what, failure.position) for failure in trace.failures] == [("model", 2)]


def test_a_step_without_an_answer_is_open(tape):
    tape.add(requested())
    (step,) = build_trace(tape.records).steps
    assert (step.response, step.failure, step.ended, step.duration, step.answered_at) == (None,) * 5


def test_headers_that_come_early_are_no_first_piece_of_content(tape):
    asked = tape.add(requested())
    tape.add(ModelChunked(chunk=StartChunk(model="m")), cause=asked)
    first = tape.add(ModelChunked(chunk=TextChunk(index=0, text="a")), cause=asked)
    tape.add(ModelChunked(chunk=TextChunk(index=0, text="b")), cause=asked)
    assert build_trace(tape.records).steps[0].first_chunk == first / 10


def test_the_model_of_a_step_is_the_one_that_answered(tape):
    asked = tape.add(requested())
    tape.add(ModelResponded(response=ModelResponse(model="m-2026", usage=Usage(input_tokens=1))), cause=asked)
    tape.add(requested())
    trace = build_trace(tape.records)
    assert [step.model for step in trace.steps] == ["m-2026", "m"]
    assert trace.usage_by_model == {"m-2026": Usage(input_tokens=1)}


def test_replies_that_overlap_find_their_requests(tape):
    first, second = tape.add(requested(agent="a")), tape.add(requested(agent="b"))
    tape.add(ModelResponded(response=ModelResponse(parts=(Text(text="to b"),))), cause=second)
    tape.add(ModelResponded(response=ModelResponse(parts=(Text(text="to a"),))), cause=first)
    assert [(step.agent, step.text) for step in build_trace(tape.records).steps] == [
        ("a", "to a"),
        ("b", "to b"),
    ]


def test_an_answer_without_a_cause_belongs_to_no_step(tape):
    tape.add(requested())
    tape.add(ModelChunked(chunk=TextChunk(index=0, text="a")))
    tape.add(ModelResponded(response=ModelResponse(parts=(call("t", id="1"),))))
    tape.add(ModelFailed(reason="cut", message="gone"))
    trace = build_trace(tape.records)
    assert (trace.steps[0].first_chunk, trace.steps[0].answered_at, trace.tools) == (None, None, ())
    assert len(trace.failures) == 1


def test_a_part_of_a_journal_is_no_problem(routed):
    for start in range(len(routed.records)):
        trace = build_trace(routed.records[start:])
        assert len(trace.records) == len(routed.records) - start
        assert trace.format()


def test_side_requests_are_steps_and_belong_to_no_run(traced):
    async def body(scene):
        await scene.ask("clerk")
        await scene.ask("", purpose="title")
        await scene.ask("clerk")

    trace = traced(body)
    assert [step.purpose for step in trace.steps] == ["main", "title", "main"]
    assert [step.agent for step in trace.main_steps] == ["clerk", "clerk"]
    assert [(run.agent, len(run.steps)) for run in trace.runs] == [("clerk", 2)]
    assert trace.agents == ("clerk",)


def test_an_agent_without_a_name_is_main(traced):
    async def body(scene):
        await scene.ask("")
        await scene.ask("helper", parent="main")

    trace = traced(body)
    assert trace.agents == ("main", "helper")
    assert [run.agent for run in trace.runs] == ["main", "helper"]
    assert trace.runs[1].parent == "main"


def test_messages_show_their_direction(tape):
    tape.add(MessageReceived(text="hello", channel="console", sender="alice"), source="console")
    tape.add(MessageSent(text="hi", channel="console"), source="console")
    lines = build_trace(tape.records).messages
    assert [(line.direction, line.sender, line.text, line.position) for line in lines] == [
        ("in", "alice", "hello", 1),
        ("out", "", "hi", 2),
    ]
    assert (lines[0].source, lines[0].channel, lines[0].time) == ("console", "console", 0.1)


def test_other_events_are_there_by_their_class(tape):
    events = {
        "routes": Routed(agents=("a",)),
        "phases": PhaseChanged(entered="plan"),
        "files": FileChanged(path="a.py", change="added"),
        "egress": EgressTried(host="example.org", port=443),
        "notes": Noted(text="remember"),
        "daemons": DaemonChanged(daemon="app", status="running"),
    }
    for event in events.values():
        tape.add(event)
    tape.add(HouseEvent())
    tape.add(UnknownEvent(event_type="Later", line=b"{}"))
    trace = build_trace(tape.records)
    assert {name: getattr(trace, name) for name in events} == {
        name: (event,) for name, event in events.items()
    }
    assert trace.records[-2].event == HouseEvent()


FAILURES = [
    (ModelFailed(reason="cut", message="gone"), "model", "cut: gone"),
    (RequestRefused(format="x", path="/v1", status=400, message="no"), "request", "400 for /v1: no"),
    (DaemonChanged(daemon="app", status="running", error="ValueError: x"), "daemon", "app: ValueError: x"),
    (AgentFinished(agent="a", outcome="aborted", text="budget"), "agent", "a: aborted: budget"),
    (ProcessExited(code=3, stderr="Traceback\nbad thing\n"), "process", "exit code 3: bad thing"),
    (ProcessExited(code=127), "process", "exit code 127"),
    (RunFinished(outcome="failed", reason="no luck"), "run", "failed: no luck"),
]


@pytest.mark.parametrize(("event", "what", "message"), FAILURES)
def test_what_goes_wrong_is_a_failure(tape, event, what, message):
    tape.add(event)
    (failure,) = build_trace(tape.records).failures
    assert (failure.what, failure.message, failure.event) == (what, message, event)


@pytest.mark.parametrize(
    "event",
    [
        DaemonChanged(daemon="app", status="completed"),
        AgentFinished(agent="a"),
        ProcessExited(code=0),
        ProcessExited(code=-15),
        ProcessExited(code=128),
        ProcessExited(code=143),
        RunFinished(),
    ],
)
def test_an_end_without_trouble_is_no_failure(tape, event):
    tape.add(event)
    assert build_trace(tape.records).failures == ()


def test_time_runs_from_the_first_to_the_last_record(tape):
    for _ in range(3):
        tape.add(Noted(text="x"))
    trace = build_trace(tape.records)
    assert (trace.started, trace.ended) == (0.1, 0.3)
    assert trace.duration == pytest.approx(0.2)


def test_an_empty_trace_says_so_everywhere():
    trace = build_trace([])
    assert (trace.started, trace.ended, trace.duration) == (None, None, 0.0)
    assert (trace.steps, trace.runs, trace.tools, trace.agents, trace.usage) == ((), (), (), (), Usage())
    assert trace.children() == ()


def test_usage_sums_all_steps_by_model(traced):
    async def body(scene):
        scene.script.on(model="m1").reply(text="a", usage={"input_tokens": 1, "cache_read_tokens": 5})
        scene.script.on(model="m2").reply(text="b", usage={"output_tokens": 4})
        for model in ("m1", "m2", "m1"):
            await scene.ask("clerk", model=model)

    trace = traced(body)
    assert trace.usage_by_model == {
        "m1": Usage(input_tokens=2, cache_read_tokens=10),
        "m2": Usage(output_tokens=4),
    }
    assert trace.usage == Usage(input_tokens=2, output_tokens=4, cache_read_tokens=10)


def test_children_walk_the_tree_of_causes(traced):
    async def body(scene):
        heard = scene.add(MessageReceived(text="hello"))
        working_on.set(heard)
        await scene.ask("clerk")
        scene.add(MessageSent(text="hi"), cause=heard)

    trace = traced(body)
    kinds = {1: ["ModelRequested", "MessageSent"], 2: ["ModelChunked", "ModelResponded"], 5: []}
    for position, expected in kinds.items():
        assert [type(record.event).__name__ for record in trace.children(position)] == expected
    assert [record.position for record in trace.children()] == [1]


def test_causes_lead_from_the_first_known_one_to_the_record(tape):
    heard = tape.add(MessageReceived(text="hi"))
    asked = tape.add(ModelRequested(request=ModelRequest(model="m", messages=())), cause=heard)
    failed = tape.add(ModelFailed(reason="error", message="x"), cause=asked)
    loop = tape.add(MessageSent(text="me"), cause=4)
    trace = build_trace(tape.records)
    assert [record.position for record in trace.causes(failed)] == [heard, asked, failed]
    assert [record.position for record in trace.causes(heard)] == [heard]
    assert [record.position for record in trace.causes(loop)] == [loop]
    part = build_trace(tape.records[1:])
    assert [record.position for record in part.causes(failed)] == [asked, failed]
    with pytest.raises(ScriptError, match="position 9"):
        trace.causes(9)


def test_children_of_a_record_that_is_not_there_are_an_error(routed):
    with pytest.raises(ScriptError, match="position 999"):
        routed.children(999)


def test_a_trace_cannot_be_changed(routed):
    with pytest.raises(AttributeError):
        routed.steps = ()
    with pytest.raises(AttributeError):
        routed.steps[0].agent = "other"


def test_two_traces_of_the_same_records_are_equal(routed):
    assert build_trace(routed.records) == routed


def lines_executed(function, *args):
    """How many lines of Python run: a measure of work that does not depend on the machine."""
    count = 0

    def line(frame, event, arg):
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return count


def long_conversation(tape, steps, answered=True):
    """One conversation whose every request repeats the whole history."""
    history = [user("go")]
    for number in range(steps):
        request = ModelRequest(model="m", messages=tuple(history), caller=Caller(agent="ab"[number % 2]))
        asked = tape.add(ModelRequested(request=request))
        for piece in "abc":
            tape.add(ModelChunked(chunk=TextChunk(index=0, text=piece)), cause=asked)
        reply = ModelResponse(parts=(Text(text="abc"), call("look", id=f"id{number}")))
        tape.add(ModelResponded(response=reply), cause=asked)
        history.append(reply.message())
        if answered:
            history.append(tool(f"id{number}", "seen"))
    return tape.records


@pytest.mark.parametrize("answered", [True, False])
def test_the_work_of_building_grows_with_the_records_and_not_with_their_square(new_tape, answered):
    small, large = (long_conversation(new_tape(), steps, answered) for steps in (100, 400))
    assert len(large) == 4 * len(small)
    assert lines_executed(build_trace, large) < 4.4 * lines_executed(build_trace, small)


@given(st.lists(st.sampled_from(["request", "reply", "chunk", "fail", "message"]), max_size=30), st.randoms())
def test_any_order_of_events_gives_a_step_for_each_request(new_tape, kinds, random):
    tape = new_tape()
    for kind in kinds:
        cause = random.randint(0, len(tape.records) + 2) or None
        event = {
            "request": requested(agent=random.choice("ab"), conversation=random.choice("xy")),
            "reply": ModelResponded(response=ModelResponse(parts=(call("t", id=random.choice("12")),))),
            "chunk": ModelChunked(chunk=TextChunk(index=0, text="a")),
            "fail": ModelFailed(reason="cut", message="gone"),
            "message": MessageSent(text="hi"),
        }[kind]
        tape.add(event, cause=cause)
    trace = build_trace(tape.records)
    assert len(trace.steps) == kinds.count("request")
    assert sum(len(run.steps) for run in trace.runs) == kinds.count("request")
    assert len(trace.messages) == kinds.count("message")
    assert trace.format()


def test_the_reason_for_which_agents_stopped_is_that_of_the_last_flow():
    journal = Journal()
    assert build_trace(journal.read()).stop_reason == ""
    for reason in ("complete", "max_iterations"):
        journal.append(FlowEnded(reason=reason))
    assert build_trace(journal.read()).stop_reason == "max_iterations"


def test_each_list_of_a_trace_has_the_events_of_its_class_in_order():
    journal = Journal()
    kinds = {
        "phases": (PhaseChanged(entered="a"), PhaseChanged(entered="b")),
        "files": (FileChanged(path="a", change="added"), FileChanged(path="a", change="deleted")),
        "egress": (EgressTried(host="h", port=1), EgressTried(host="i", port=2)),
        "hosts": (HostReached(host="h", port=1), HostReached(host="i", port=2)),
        "notes": (Noted(text="a"), Noted(text="b")),
    }
    for events in zip(*kinds.values(), strict=True):
        for event in events:
            journal.append(event)
    trace = build_trace(journal.read())
    assert {name: getattr(trace, name) for name in kinds} == kinds
