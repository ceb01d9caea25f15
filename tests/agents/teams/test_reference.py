"""One feedback cycle of a team, told once: in process, over each provider's format, as a program of its own.

An executor implements something badly, a verifier sends it back, the executor mends it, the verifier is content; the
orchestrator decides before each turn. Eight replies, of which the seventh is never needed: the third, older one fits
too and says the same.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from soundstage.agents.scenarios import TeamStage, complete, hand_on, route
from soundstage.clock import SystemClock
from soundstage.clock import run as run_virtual
from soundstage.drivers import Command
from soundstage.host import HostBuilder
from soundstage.journal import Journal, read_journal
from soundstage.models import Script
from soundstage.trace import (
    Trace,
    assert_agent_sequence,
    assert_feedback_propagated,
    assert_phase_transitions,
    assert_tool_calls,
    build_trace,
    diff,
    normalise,
)
from support.models import MODELS

ROOT = Path(__file__).resolve().parents[3]
MESSAGE = "Implement authentication"
CYCLE = ["orchestrator", "executor", "orchestrator", "test-pm"] * 2


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def reference_script() -> Script:
    script = Script(strict=False)  # the rule of step 3 answers step 7 too: it is older, and says the same
    for slug in ("orchestrator", "executor", "test-pm"):
        script.agent(slug, system=f"/^You are the {slug}/")
    orchestrator = {"system": "/orchestrator/i"}
    script.on(**orchestrator, user="/implement auth/i", iteration=1, priority=100).reply(
        route("executor", phase="execute", reason="It has to be implemented first")
    )
    script.on(agent="executor", iteration=1, priority=90).reply(
        "Auth is there, with passwords in plaintext", tool_calls=[hand_on("verification")]
    )
    script.on(**orchestrator, previous_agent="executor", priority=90).reply(
        route("test-pm", phase="verification", reason="The executor is done")
    )
    script.on(agent="test-pm", iteration=1, priority=90).reply(
        "Security problem: the passwords are stored in plaintext",
        tool_calls=[hand_on("execute", "Hash the passwords")],
    )
    script.on(**orchestrator, previous_agent="test-pm", contains="/plaintext/i", priority=90).reply(
        route("executor", phase="execute", reason="The verifier found a problem")
    )
    script.on(agent="executor", iteration=2, priority=90).reply(
        "The passwords are hashed with bcrypt", tool_calls=[hand_on("verification")]
    )
    script.on(**orchestrator, previous_agent="executor", contains="/bcrypt/i", priority=90).reply(
        route("test-pm", phase="verification", reason="The problem is mended")
    )
    script.on(agent="test-pm", iteration=2, priority=90).reply(
        "Secure now", tool_calls=[complete("Auth approved")]
    )
    return script


def check(trace: Trace) -> None:
    """Check the events that must have happened, whichever way the model was asked."""
    assert len(trace.main_steps) == 8
    assert_agent_sequence(trace, *CYCLE)
    assert_phase_transitions(trace, "execute", "verification", "execute", "verification")
    assert_tool_calls(trace, "continue", "continue", agent="executor")
    assert_tool_calls(
        trace, ("continue", {"phase": "execute", "feedback": "Hash"}), "complete", agent="test-pm"
    )
    assert assert_feedback_propagated(trace, "test-pm", "executor", "plaintext") is True
    assert trace.stop_reason == "complete"
    assert [route.left for route in trace.routes] == ["discovery", "execute", "verification", "execute"]
    assert [route.iteration for route in trace.routes] == [1, 2, 3, 4]
    mended = trace.runs[5].steps[0].request
    assert "plaintext" in mended.messages[-2].text  # the feedback really is in what the executor reads


async def converse(model, journal: Journal) -> None:
    from examples.team.team import make_router

    router = make_router(model, journal)
    await router.run(router.coordinator.create(MESSAGE))


def in_process() -> Trace:
    async def body(host):
        await converse(host.model, host.journal)
        return host.trace

    return HostBuilder().with_script(reference_script()).run(body)


def over_the_wire(make) -> Trace:
    async def body(host):
        journal, model = Journal(clock=SystemClock()), make(host.server)
        try:
            await converse(model, journal)
        finally:
            if hasattr(model, "close"):
                await model.close()
        assert_agent_sequence(host.trace, *CYCLE)  # what the server saw
        return Trace.of(journal)

    return HostBuilder().with_script(reference_script()).with_server().run(body)


def as_a_program(folder: Path) -> Trace:
    path = folder / "journal.jsonl"
    argv = [sys.executable, "-m", "examples.team", MESSAGE, "--journal", path]

    async def body(host):
        program = Command(argv, host.journal, cwd=ROOT, environment=host.server.environment())
        await program.start()
        try:
            assert await program.wait(within=30) == 0, program.lines("stderr")
        finally:
            await program.stop()
        assert program.lines()[-2:] == ["Secure now", "stopped: complete"]
        assert program.lines()[1] == "executor [execute]"
        assert_agent_sequence(host.trace, *CYCLE)

    HostBuilder().with_script(reference_script()).with_server().run(body)
    return build_trace(read_journal(path))


@pytest.mark.parametrize("way", ["in process", *MODELS, "as a program"])
def test_the_feedback_cycle_is_the_same_whichever_way_the_model_is_asked(way, tmp_path):
    if way == "in process":
        trace = in_process()
    elif way == "as a program":
        trace = as_a_program(tmp_path)
    else:
        trace = over_the_wire(MODELS[way])
    check(trace)
    assert diff(normalise(in_process()), normalise(trace)) == ""


def test_two_runs_in_process_have_the_same_journal():
    assert in_process().records == in_process().records


def test_the_cycle_as_a_test_reads_on_a_stage():
    from examples.team.team import TEAM

    seen = []

    async def main():
        async with TeamStage(agents=TEAM, script=reference_script()) as stage:
            conversation = stage.create("Implement auth")
            trace = await stage.run(
                conversation,
                MESSAGE,
                on_agent_execution=lambda agent, phase: seen.append((agent, phase)),
            )
            check(trace)
            return [rule.number for rule in stage.host.scripted.unused()]

    assert run_virtual(main()) == [7]
    assert seen[:3] == [("orchestrator", "discovery"), ("executor", "execute"), ("orchestrator", "execute")]


def test_the_program_without_a_key_says_what_is_missing(tmp_path):
    async def body():
        program = Command(
            [sys.executable, "-m", "examples.team", "x"], Journal(clock=SystemClock()), cwd=ROOT
        )
        await program.start()
        try:
            assert await program.wait(1, within=30) == 1
        finally:
            await program.stop()
        assert any("OPENAI_API_KEY" in line for line in program.lines("stderr"))

    asyncio.run(body())
