"""The help desk on the OpenAI Agents SDK: the same assertions on the wire, on spans, in process, as a program."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from soundstage import Script
from soundstage.journal import Journal
from soundstage.lifecycle import LoopThread
from soundstage.models import ScriptedModel
from soundstage.otel import JournalSpanExporter, OtlpReceiver, SpanMatched, SpanReceived
from soundstage.trace import (
    Trace,
    assert_agent_sequence,
    assert_feedback_propagated,
    assert_no_failures,
    assert_no_tool,
    assert_text,
    assert_tool_calls,
)
from soundstage.wire import ModelServer

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Invoice 17 is wrong, I want my money back"
ANSWER = "You get 49.90 EUR back."
PROGRAM = [sys.executable, "-m", "examples.openai_agents_team", QUESTION]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def scripted(script: Script) -> Script:
    """Triage hands over, billing looks the invoice up and pays back."""
    for name in ("triage", "billing", "support"):
        script.agent(name, system=f"/You are the {name} agent/")
    script.on(agent="triage").reply(tool_calls=[{"name": "transfer_to_billing", "arguments": {}}])
    script.on(agent="billing", iteration=1).reply(
        text="One moment, I look for invoice 17.",
        tool_calls=[{"name": "find_invoice", "arguments": {"number": "17"}}],
    )
    script.on(agent="billing", after_tool="find_invoice").reply(
        tool_calls=[{"name": "refund", "arguments": {"number": "17", "amount": 49.9}}]
    )
    script.on(agent="billing", after_tool="refund").reply(ANSWER)
    return script


def check(trace: Trace) -> None:
    """Check the facts that hold for every way in which a run can be seen."""
    assert_agent_sequence(trace, "triage", "billing")
    assert_tool_calls(
        trace,
        "transfer_to_billing",
        ("find_invoice", {"number": {"equals": "17"}}),
        ("refund", {"amount": 49.9}),
    )
    assert_tool_calls(trace, "find_invoice", "refund", agent="billing")
    assert_no_tool(trace, "refund", agent="triage")
    assert_feedback_propagated(trace, "triage", "billing", "transfer_to_billing")
    assert_text(trace, ANSWER)
    assert_no_failures(trace)
    assert [use.result for use in trace.tools] == [
        '{"assistant": "billing"}',
        "invoice 17: 49.90 EUR",
        "refunded 49.90 EUR",
    ]
    [handover] = trace.handovers
    assert (handover.sender, handover.receiver, handover.via) == ("triage", "billing", "transfer_to_billing")
    assert trace.usage.total_tokens > 0


@pytest.fixture
def elsewhere():
    """The scripted model behind a server whose journal nobody looks at."""
    server = ModelServer(ScriptedModel(scripted(Script())), Journal())
    with LoopThread("the model elsewhere") as thread:
        thread.call(server.start())
        yield server
        thread.call(server.stop())


def point_at(monkeypatch, server: ModelServer) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)


def run_in_process(processors) -> str:
    from agents import set_trace_processors
    from examples.openai_agents_team.team import answer

    set_trace_processors(processors)
    try:
        return asyncio.run(answer(QUESTION))
    finally:
        set_trace_processors([])


def spans_into(journal: Journal):
    from soundstage.otel.openai_agents import AgentsTracing

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    return [AgentsTracing(provider)]


def test_in_process_through_the_wire(script, model_server, trace, monkeypatch):
    scripted(script)
    point_at(monkeypatch, model_server)
    assert run_in_process([]) == ANSWER
    check(trace())


async def test_as_a_program_through_the_wire(script, command, trace):
    scripted(script)
    program = await command(PROGRAM, cwd=ROOT)
    await program.expect(ANSWER, within=30)
    assert await program.wait(within=30) == 0
    check(trace())


def test_in_process_from_spans_alone(elsewhere, journal, monkeypatch):
    point_at(monkeypatch, elsewhere)
    assert run_in_process(spans_into(journal)) == ANSWER
    check(Trace.of(journal))
    assert [step.agent for step in Trace.of(journal).steps] == ["triage", *["billing"] * 3]


async def test_as_a_program_from_spans_alone(elsewhere, command, journal):
    receiver = OtlpReceiver(journal)
    await receiver.start()
    try:
        program = await command(
            PROGRAM, cwd=ROOT, environment=elsewhere.environment() | receiver.environment()
        )
        await program.expect(ANSWER, within=30)
        assert await program.wait(within=30) == 0
        check(Trace.of(journal))
    finally:
        await receiver.stop()


def test_the_wire_and_spans_together_count_nothing_twice(script, model_server, journal, monkeypatch):
    scripted(script)
    point_at(monkeypatch, model_server)
    assert run_in_process(spans_into(journal)) == ANSWER
    check(Trace.of(journal))
    matched = [event.what for event in journal.events(SpanMatched)]
    assert sorted(matched) == [
        "agent",
        "agent",
        "handoff",
        "model",
        "model",
        "model",
        "model",
        "tool",
        "tool",
    ]
    assert len(journal.events(SpanReceived)) > len(matched)


def test_the_wire_and_spans_see_the_same(script, model_server, journal, elsewhere, monkeypatch):
    scripted(script)
    point_at(monkeypatch, model_server)
    run_in_process([])
    point_at(monkeypatch, elsewhere)
    seen = Journal()
    run_in_process(spans_into(seen))
    assert Trace.of(seen).normalised() == Trace.of(journal).normalised()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([QUESTION], "OPENAI_API_KEY is not set"), ([], "usage: python -m examples.openai_agents_team")],
)
async def test_the_program_says_what_is_missing(command, arguments, expected):
    program = await command([*PROGRAM[:3], *arguments], cwd=ROOT, environment={"OPENAI_API_KEY": ""})
    await program.expect(expected)
    assert await program.wait(2, within=30) == 2
