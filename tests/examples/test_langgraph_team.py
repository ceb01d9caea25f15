"""The travel desk on LangGraph: the same assertions on the wire, on spans, in process, as a program."""

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
from soundstage.otel import JournalSpanExporter, OtlpReceiver, SpanMatched
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
QUESTION = "A day in Bern from Zurich, please"
ANSWER = "See the clock tower in Bern, the train is 51.00 CHF."
PROGRAM = [sys.executable, "-m", "examples.langgraph_team", QUESTION]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def scripted(script: Script) -> Script:
    """The supervisor hands a task to each worker in turn; one of the planner's calls fails."""
    for name in ("supervisor", "researcher", "planner"):
        script.agent(name, system=f"You are the {name}")
    script.on(agent="supervisor", iteration=1).reply(
        tool_calls=[{"name": "transfer_to_researcher", "arguments": {"task": "sights in Bern"}}]
    )
    script.on(agent="researcher", iteration=1).reply(
        tool_calls=[{"name": "look_up", "arguments": {"place": "Bern"}}]
    )
    script.on(agent="researcher", after_tool="look_up").reply("Bern has a clock tower.")
    script.on(agent="supervisor", iteration=2).reply(
        text="Now the price.",
        tool_calls=[{"name": "transfer_to_planner", "arguments": {"task": "Zurich to Bern"}}],
    )
    script.on(agent="planner", iteration=1).reply(
        tool_calls=[
            {"name": "fare", "arguments": {"start": "Bern", "end": "Zurich"}},
            {"name": "fare", "arguments": {"start": "Zurich", "end": "Bern"}},
        ]
    )
    script.on(agent="planner", after_tool="fare").reply("The train is 51.00 CHF.")
    script.on(agent="supervisor", iteration=3).reply(ANSWER)
    return script


def check(trace: Trace) -> None:
    """Check the facts that hold for every way in which a run can be seen."""
    assert_agent_sequence(trace, "supervisor", "researcher", "supervisor", "planner", "supervisor")
    assert_tool_calls(
        trace,
        ("transfer_to_researcher", {"task": "Bern"}),
        ("look_up", {"place": {"equals": "Bern"}}),
        "transfer_to_planner",
        ("fare", {"start": "Bern"}),
        ("fare", {"end": "Bern"}),
    )
    assert_tool_calls(trace, "fare", "fare", agent="planner")
    assert_no_tool(trace, "fare", agent="supervisor")
    assert_feedback_propagated(trace, "researcher", "supervisor", "clock tower")
    assert_text(trace, ANSWER)
    assert_no_failures(trace)
    results = {use.name: use.result for use in trace.tools}
    assert results["transfer_to_researcher"] == "Bern has a clock tower."
    assert results["look_up"] == "the clock tower, the bear park, the rose garden"
    wrong, right = (use.result for use in trace.tools if use.name == "fare")
    assert "no train goes from Bern to Zurich" in wrong
    assert right == "51.00 CHF"
    assert [(one.sender, one.receiver, one.via) for one in trace.handovers] == [
        ("supervisor", "researcher", "transfer_to_researcher"),
        ("researcher", "supervisor", ""),
        ("supervisor", "planner", "transfer_to_planner"),
        ("planner", "supervisor", ""),
    ]


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


def run_in_process(callbacks) -> str:
    from examples.langgraph_team.team import answer

    return asyncio.run(answer(QUESTION, callbacks))


def spans_into(journal: Journal):
    from examples.langgraph_team.team import AGENTS
    from soundstage.otel.langchain import LangChainTracing

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JournalSpanExporter(journal)))
    return [LangChainTracing(provider, agents=AGENTS)]


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
    assert {what: matched.count(what) for what in matched} == {"model": 7, "tool": 3, "agent": 5}


def test_the_wire_and_spans_see_the_same(script, model_server, journal, elsewhere, monkeypatch):
    scripted(script)
    point_at(monkeypatch, model_server)
    run_in_process([])
    point_at(monkeypatch, elsewhere)
    seen = Journal()
    run_in_process(spans_into(seen))

    def told(trace):
        return [(step.agent, step.text, [use.name for use in step.tools]) for step in trace.steps]

    assert told(Trace.of(seen)) == told(Trace.of(journal))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([QUESTION], "OPENAI_API_KEY is not set"), ([], "usage: python -m examples.langgraph_team")],
)
async def test_the_program_says_what_is_missing(command, arguments, expected):
    program = await command([*PROGRAM[:3], *arguments], cwd=ROOT, environment={"OPENAI_API_KEY": ""})
    await program.expect(expected)
    assert await program.wait(2, within=30) == 2
