"""Spans of the SDK itself, and of a framework that makes them by itself."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.trace import StatusCode

from soundstage.journal import Journal
from soundstage.otel import JournalSpanExporter, SpanReceived
from soundstage.trace import Trace, assert_agent_sequence, assert_tool_calls


def test_spans_of_the_sdk_are_part_of_the_run_when_their_root_ends():
    journal = Journal()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("root") as root:
        root.add_event("noticed", {"n": 1})
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            pass
        assert not Trace.of(journal).steps
    assert len(Trace.of(journal).steps) == 1
    kept = {event.name: event for event in journal.events(SpanReceived)}
    assert kept["chat"].parent == kept["root"].span
    assert kept["root"].events[0]["attributes"] == {"n": 1}
    assert kept["root"].scope == "test"


def test_a_span_that_raised_is_an_error():
    journal = Journal()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    with pytest.raises(ValueError, match="broken"):
        with provider.get_tracer("test").start_as_current_span("chat", attributes=attributes):
            raise ValueError("broken")
    [step] = Trace.of(journal).steps
    assert "broken" in step.failure.message


def test_texts_that_utf_8_cannot_hold_are_kept_with_visible_escapes():
    journal = Journal()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    half = "caf\udce9"
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": half,
        "gen_ai.agent.name": half,
        "gen_ai.output.type": half,
    }
    with provider.get_tracer(half).start_as_current_span(half, attributes=attributes) as span:
        span.add_event(half, {half: half})
        span.set_status(StatusCode.ERROR, half)
    visible = "caf\\udce9"
    [kept] = journal.events(SpanReceived)
    assert (kept.name, kept.message, kept.scope) == (visible, visible, visible)
    assert kept.attributes["gen_ai.request.model"] == visible
    [event] = kept.events
    assert (event["name"], event["attributes"]) == (visible, {visible: visible})
    [step] = Trace.of(journal).steps
    assert (step.request.model, step.request.caller.agent) == (visible, visible)


def test_flushing_and_shutting_down_tell_what_has_no_root():
    journal = Journal()
    exporter = JournalSpanExporter(journal)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    root = tracer.start_span("root")
    from opentelemetry.trace import set_span_in_context

    attributes = {"gen_ai.operation.name": "chat"}
    tracer.start_span("chat", context=set_span_in_context(root), attributes=attributes).end()
    provider.force_flush()
    assert exporter.force_flush()
    assert len(Trace.of(journal).steps) == 1
    provider.shutdown()


def test_pydantic_ai_is_seen_by_its_own_spans():
    """A framework whose instrumentation we did not write, with a model that is not ours."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages, info):
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("look", {"at": "Bern"})])
        return ModelResponse(parts=[TextPart("4 degrees")])

    journal = Journal()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    agent = Agent(FunctionModel(model), name="forecaster", instructions="You are brief.")

    @agent.tool_plain
    def look(at: str) -> str:
        return f"{at}: 4 C"

    _instrument(agent, provider)
    assert asyncio.run(agent.run("weather in Bern?")).output == "4 degrees"
    trace = Trace.of(journal)
    assert_agent_sequence(trace, "forecaster")
    assert_tool_calls(trace, ("look", {"at": "Bern"}))
    assert trace.tools[0].result == "Bern: 4 C"
    assert [step.text for step in trace.steps] == ["", "4 degrees"]
    assert trace.steps[0].request.system_text == "You are brief."
    assert trace.steps[0].request.last_user_text == "weather in Bern?"
    assert trace.usage.output_tokens > 0


def _instrument(agent, provider) -> None:
    from pydantic_ai.models.instrumented import InstrumentationSettings

    agent.instrument = InstrumentationSettings(tracer_provider=provider)
