"""Spans and the journal's own model traffic together: nothing counts twice, and nothing is lost."""

from __future__ import annotations

import pytest

from soundstage.journal import AgentStarted, ModelRequested, ModelResponded
from soundstage.messages import ModelRequest, ModelResponse, Text, ToolCall, user
from soundstage.otel import SpanMatched
from soundstage.trace import Trace


@pytest.fixture
def wire(journal, spans):
    """A request as the wire would have it, some milliseconds after the spans' zero."""

    def ask(at: int, *parts, model: str = "gpt-4o") -> int:
        zero = spans.zero / 1e9 - journal.clock.wall().timestamp() + journal.clock.now()
        request = ModelRequest(model=model, messages=(user("go on"),))
        asked = journal.append(ModelRequested(request=request), source="wire", at=zero + at / 1000)
        journal.append(
            ModelResponded(response=ModelResponse(parts=parts)),
            source="wire",
            cause=asked,
            at=zero + at / 1000,
        )
        return asked

    return ask


def test_a_call_that_the_wire_saw_is_one_step(journal, recorder, spans, wire):
    position = wire(10, Text(text="hi"))
    agent = spans.agent("a", 0, 100)
    spans.chat(5, 20, "hi", parent=agent)
    recorder.add(spans.made)
    trace = Trace.of(journal)
    assert [(step.position, step.agent) for step in trace.steps] == [(position, "main")]
    matched = journal.read(type=SpanMatched)
    assert [(record.event.what, record.cause) for record in matched] == [("agent", None), ("model", position)]
    assert not journal.events(AgentStarted)


def test_without_content_the_time_tells(journal, recorder, spans, wire):
    wire(10, Text(text="one"))
    wire(50, Text(text="two"))
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    spans.chat(45, 60, attributes=bare)
    spans.chat(5, 20, attributes=bare)
    recorder.add(spans.made)
    recorder.settle()
    assert [step.text for step in Trace.of(journal).steps] == ["one", "two"]


def test_with_content_the_clock_may_be_wrong(journal, recorder, spans, new_spans, wire):
    wire(10, Text(text="hi"))
    ahead = new_spans(spans.zero + 7200 * 1_000_000_000)
    ahead.chat(5, 20, "hi")
    recorder.add(ahead.made)
    assert len(Trace.of(journal).steps) == 1


def test_of_two_calls_at_one_time_each_has_its_own(journal, recorder, spans, wire):
    second, first = wire(10, Text(text="two")), wire(11, Text(text="one"))
    spans.chat(5, 30, "one")
    spans.chat(5, 30, "two")
    recorder.add(spans.made)
    causes = [record.cause for record in journal.read(type=SpanMatched)]
    assert causes == [first, second]


def test_a_call_that_went_elsewhere_is_a_step_of_its_own_with_its_agent(journal, recorder, spans, wire):
    wire(10, Text(text="seen"))
    root = spans.add("app", 0, 200)
    seen = spans.agent("seen", 1, 50, parent=root)
    spans.chat(5, 20, "seen", parent=seen)
    other = spans.agent("other", 60, 100, parent=root)
    spans.chat(65, 70, "not seen", parent=other)
    recorder.add(spans.made)
    assert [(step.agent, step.text) for step in Trace.of(journal).steps] == [
        ("main", "seen"),
        ("other", "not seen"),
    ]
    assert [event.agent for event in journal.events(AgentStarted)] == ["other"]


def test_another_model_is_another_call(journal, recorder, spans, wire):
    wire(10, Text(text="hi"), model="claude")
    spans.chat(5, 20, "hi")
    recorder.add(spans.made)
    assert [step.model for step in Trace.of(journal).steps] == ["claude", "gpt-4o"]


def test_a_tool_that_the_wire_saw_asked_for_is_one_call(journal, recorder, spans, wire):
    wire(10, ToolCall(id="call_1", name="look", arguments={"at": 1}))
    spans.chat(5, 20, ("call_1", "look", {"at": 1}))
    spans.tool("look", 21, 30, attributes={"gen_ai.tool.call.id": "call_1"})
    spans.tool("write", 31, 40)
    recorder.add(spans.made)
    assert [use.name for use in Trace.of(journal).tools] == ["look", "write"]


def test_an_exchange_is_matched_once(journal, recorder, spans, wire):
    wire(10, Text(text="hi"))
    spans.chat(5, 20, "hi")
    spans.chat(6, 21, "hi")
    recorder.add(spans.made)
    assert len(Trace.of(journal).steps) == 2


def test_what_came_from_spans_is_no_evidence_against_other_spans(journal, recorder, spans, new_spans):
    for trace in ("a" * 32, "b" * 32):
        made = new_spans(spans.zero, trace)
        made.chat(0, 10, "hi")
        recorder.add(made.made)
    assert len(Trace.of(journal).steps) == 2
