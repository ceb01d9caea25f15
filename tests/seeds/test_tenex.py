"""Multi-agent conversations of TENEX, tested from the user's message to the trace.

An orchestrator decides before every round who works next. An executor implements, a project manager verifies. The model
is scripted; coordinator, registry, agent loop and router are those of production.
"""

from __future__ import annotations

import json

import pytest

from soundstage import Script
from soundstage.agents.runtime import tool
from soundstage.agents.scenarios import SCENARIOS, TeamStage, complete, hand_on, play, route, team
from soundstage.clock import run
from soundstage.errors import ExpectationError
from soundstage.journal import EgressTried
from soundstage.trace import (
    assert_agent_sequence,
    assert_feedback_propagated,
    assert_no_egress,
    assert_phase_transitions,
    assert_tool_calls,
    diff,
    normalise,
)


@tool
async def write_context_file(path: str, content: str) -> str:
    """Write down what the team knows.

    Args:
        path: where.
        content: what.
    """
    return f"{path} is written"


@tool
async def shell(command: str) -> str:
    """Run a command of the project.

    Args:
        command: the command.
    """
    return "42 passed"


def context(**options):
    """A fresh environment: folder, coordinator, registry, scripted model."""
    return TeamStage(agents=team("write_context_file", "shell"), tools=[write_context_file, shell], **options)


# The example, complete: implement, verify, fix, verify


def executor_verification_cycle(script: Script) -> None:
    # 1. the user's request goes to the executor
    script.on(system="/orchestrator/i", user="/implement auth/i", iteration=1, priority=100).reply(
        route("executor", phase="execute", reason="Routing to executor for implementation")
    )
    # 2. the executor implements
    script.on(agent="executor", iteration=1, priority=90).reply(
        "Implemented basic auth with plaintext passwords",
        tool_calls=[{"name": "continue", "arguments": {"phase": "verification"}}],
    )
    # 3. what it did goes to the PM
    script.on(system="/orchestrator/i", previous_agent="executor", priority=90).reply(
        route("test-pm", phase="verification", reason="Executor completed, routing to PM for verification")
    )
    # 4. the PM finds an issue
    script.on(agent="test-pm", iteration=1, priority=90).reply(
        "SECURITY ISSUE: Passwords stored in plaintext!",
        tool_calls=[{"name": "continue", "arguments": {"phase": "execute", "feedback": "Hash passwords"}}],
    )
    # 5. back to the executor
    script.on(system="/orchestrator/i", previous_agent="test-pm", contains="/plaintext/i", priority=90).reply(
        route("executor", phase="execute", reason="PM found security issues, routing back to executor")
    )
    # 6. the executor fixes it
    script.on(agent="executor", iteration=2, priority=90).reply(
        "Implemented bcrypt password hashing",
        tool_calls=[{"name": "continue", "arguments": {"phase": "verification"}}],
    )
    # 7. to the PM again; the rule of step 3 is older and fits too, and says the same
    script.on(system="/orchestrator/i", previous_agent="executor", contains="/bcrypt/i", priority=90).reply(
        route("test-pm", phase="verification", reason="Executor fixed issues, routing to PM for verification")
    )
    # 8. the PM approves
    script.on(agent="test-pm", iteration=2, priority=90).reply(
        "All security checks passed!",
        tool_calls=[{"name": "complete", "arguments": {"summary": "Auth system approved"}}],
    )


def cycle(**options):
    async def flow():
        async with context(**options) as stage:
            executor_verification_cycle(stage.script)
            conversation = stage.create("Implement auth")
            return await stage.run(conversation, "Implement authentication", max_iterations=20)

    return run(flow())


def test_implement_verify_fix_verify_is_completed():
    trace = cycle()

    assert_agent_sequence(
        trace,
        "orchestrator",  # initial routing
        "executor",  # first implementation
        "orchestrator",  # re-routing
        "test-pm",  # first verification: fails
        "orchestrator",  # re-routing with feedback
        "executor",  # fix
        "orchestrator",  # re-routing
        "test-pm",  # final verification: passes
    )
    assert_phase_transitions(trace, "execute", "verification", "execute", "verification")
    assert assert_feedback_propagated(trace, "test-pm", "executor", "plaintext") is True
    assert_tool_calls(trace, "executor", "continue", "continue")
    assert_tool_calls(trace, "test-pm", "continue", "complete")
    assert trace.stop_reason == "complete"


def test_the_starting_phase_may_be_named_too():
    assert_phase_transitions(cycle(), "discovery", "execute", "verification", "execute", "verification")


# Deterministic mocking: triggers


def test_all_conditions_of_a_trigger_have_to_hold():
    trigger = {
        "system": "/You are the executor/i",
        "user": "/implement auth/i",
        "agent": "executor",
        "iteration": 2,
        "previous_agent": "test-pm",
        "contains": "/security/i",
    }
    wrong = {
        "system": "/You are the tester/i",
        "user": "/buy milk/",
        "agent": "test-pm",
        "iteration": 3,
        "previous_agent": "executor",
        "contains": "/performance/",
    }

    async def fixed(conditions):
        async with context() as stage:
            stage.script.on(**conditions, priority=120).reply("I've fixed the security issues")
            executor_verification_cycle(stage.script)
            trace = await stage.run(stage.create("Implement auth"))
            return any("fixed the security" in step.text for step in trace.steps)

    assert run(fixed(trigger))
    for name, value in wrong.items():
        assert not run(fixed({**trigger, name: value})), name


def test_the_highest_priority_is_asked_first_and_the_default_answers_the_rest():
    async def flow():
        async with context() as stage:
            stage.script.otherwise(route("END"))
            stage.script.on(agent="executor").reply("low")
            stage.script.on(agent="executor", priority=110).reply("high")
            stage.script.on(agent="orchestrator", iteration=1).reply(route("executor"))
            return await stage.run(stage.create("Go"))

    trace = run(flow())
    assert [one.text for one in trace.runs if one.agent == "executor"] == ["high"]
    assert trace.runs[-1].text == route("END")


def test_conversations_do_not_share_their_counters():
    async def flow():
        async with context() as stage:
            stage.script.on(agent="orchestrator", iteration=1).reply(route("executor"))
            stage.script.on(agent="orchestrator", iteration=2).reply(route("END"))
            stage.script.on(agent="executor", iteration=1).reply("first time")
            return await stage.run_all(["one", "two"])

    for trace in run(flow()):
        assert_agent_sequence(trace, "orchestrator", "executor", "orchestrator")
        assert trace.runs[1].text == "first time"


def test_errors_and_delays_are_scripted_like_anything_else():
    async def flow():
        async with context() as stage:
            stage.script.on(agent="orchestrator", iteration=1).reply(route("executor"))
            stage.script.on(agent="executor").reply(TimeoutError("the model is slow"))
            stage.script.on(agent="orchestrator", contains="the model is slow").reply(route("END"), delay=30)
            return await stage.run(stage.create("Go"))

    trace = run(flow())
    assert trace.runs[1].outcome == "failure"
    assert trace.stop_reason == "end"
    assert trace.duration == 30


# Execution tracing


def test_the_trace_has_who_executed_what_was_called_and_how_it_was_routed():
    async def flow():
        async with context() as stage:
            stage.script.on(agent="orchestrator", iteration=1).reply(
                route("executor", phase="execute", reason="it is clear")
            )
            note = {"name": "write_context_file", "arguments": {"path": "auth.md", "content": "JWT"}}
            stage.script.on(agent="executor", tool_result="auth.md is written").reply(
                tool_calls=[{"name": "shell", "arguments": {"command": "make test"}}]
            )
            stage.script.on(agent="executor", tool_result="42 passed").reply(
                "Done", tool_calls=[hand_on("verification")]
            )
            stage.script.on(agent="executor").reply(tool_calls=[note])
            stage.script.on(agent="orchestrator", iteration=2).reply(route("test-pm", phase="verification"))
            stage.script.on(agent="test-pm").reply("Security issues found", tool_calls=[complete()])
            conversation = stage.create("Implement auth")
            return conversation, await stage.run(conversation)

    conversation, trace = run(flow())
    assert trace.conversations == (conversation,)
    assert [(one.agent, one.phase) for one in trace.runs] == [
        ("orchestrator", "discovery"),
        ("executor", "execute"),
        ("orchestrator", "execute"),  # a proposed phase is not entered before it is decided
        ("test-pm", "verification"),
    ]
    assert_tool_calls(trace, "executor", ("write_context_file", {"path": "auth.md"}), "shell", "continue")
    assert [(one.agents, one.phase, one.reason) for one in trace.routes] == [
        (("executor",), "execute", "it is clear"),
        (("test-pm",), "verification", ""),
    ]
    assert [(one.sender, one.receiver) for one in trace.handovers] == [
        ("orchestrator", "executor"),
        ("executor", "orchestrator"),
        ("orchestrator", "test-pm"),
    ]
    told = trace.format()
    assert "=> executor [execute]: it is clear" in told
    assert '-> write_context_file(path="auth.md"' in told


# The loop


def test_the_orchestrator_goes_first_in_every_round_and_the_rounds_are_limited():
    seen = []

    async def flow():
        async with context() as stage:
            stage.script.on(agent="orchestrator").reply(route("executor", phase="execute"))
            stage.script.on(agent="executor").reply("not yet")
            return await stage.run(
                stage.create("Implement authentication with JWT"),
                max_iterations=3,
                on_agent_execution=lambda agent, phase: seen.append((agent, phase)),
            )

    trace = run(flow())
    assert trace.stop_reason == "max_iterations"
    assert_agent_sequence(trace, *["orchestrator", "executor"] * 3)
    assert (
        seen
        == [("orchestrator", "discovery"), ("executor", "execute")]
        + [
            ("orchestrator", "execute"),
            ("executor", "execute"),
        ]
        * 2
    )


def test_targets_work_in_order_until_end():
    async def flow():
        async with context() as stage:
            stage.script.on(agent="orchestrator").reply(route("executor", "END", "test-pm"))
            stage.script.on(agent="executor").reply("done")
            return await stage.run(stage.create("Go"))

    trace = run(flow())
    assert trace.stop_reason == "end"
    assert_agent_sequence(trace, "orchestrator", "executor")


def test_a_message_that_the_user_sends_again_is_heard_again():
    async def flow():
        async with context() as stage:
            stage.script.on(agent="orchestrator").reply(route("executor", "END"))
            stage.script.on(agent="executor").reply("done")
            conversation = stage.create("Go on")
            await stage.run(conversation, "Go on")  # the words of the beginning: heard once
            return await stage.run(conversation, "Go on")

    first, second = [one.steps[0].request for one in run(flow()).runs if one.agent == "orchestrator"]
    heard = [sum(message.text.count("Go on") for message in request.messages) for request in (first, second)]
    assert heard == [1, 2]


# Assertions: what is wrong is said in the words of the workflow


def test_an_assertion_that_does_not_hold_says_where():
    trace = cycle()
    with pytest.raises(ExpectationError, match=r"^agent 3 was not expected: 'orchestrator'"):
        assert_agent_sequence(trace, "orchestrator", "executor", "test-pm", "orchestrator")
    with pytest.raises(ExpectationError, match=r"^tool call complete\(.*\) came second, expected first"):
        assert_tool_calls(trace, "test-pm", "complete", "continue")
    with pytest.raises(ExpectationError, match="'test-pm' never mentions 'performance'"):
        assert_feedback_propagated(trace, "test-pm", "executor", "performance")


def test_feedback_that_does_not_arrive_has_not_propagated():
    trace = cycle()
    assert_feedback_propagated(trace, "test-pm", "orchestrator", "plaintext")
    with pytest.raises(ExpectationError, match="'executor' is never at work after"):
        assert_feedback_propagated(trace, "test-pm", "executor", "checks passed")


# Scenarios that are ready


@pytest.mark.parametrize(
    "name",
    [
        "error-handling",
        "concurrency-workflow",
        "state-persistence",
        "network-resilience",
        "threading-workflow",
        "feedback-loop",
    ],
)
def test_a_predefined_scenario_can_be_played(name):
    assert name in SCENARIOS
    assert run(play(name))


# Principles: determinism, isolation, clear boundaries


def test_every_run_gives_the_same_trace():
    first, second = cycle(seed=7), cycle(seed=7)
    assert diff(normalise(first), normalise(second)) == ""
    assert first.records == second.records


def test_each_test_has_an_environment_of_its_own_that_goes_also_when_it_fails():
    folders = []

    async def flow(fails):
        async with context() as stage:
            folders.append(stage.folder)
            (stage.folder / "notes.md").write_text("x")
            stage.create("Go")
            assert len(stage.coordinator.ids) == 1
            assert list(stage.folder.iterdir()) == [stage.folder / "notes.md"]
            if fails:
                raise RuntimeError("the test fails")

    with pytest.raises(RuntimeError, match="the test fails"):
        run(flow(fails=True))
    run(flow(fails=False))
    assert len(set(folders)) == 2
    assert not any(folder.exists() for folder in folders)


def test_nothing_leaves_the_set():
    trace = cycle()
    assert_no_egress(trace)
    assert not any(isinstance(one.event, EgressTried) for one in trace.records)
    assert json.loads(trace.runs[0].text)["agents"] == ["executor"]
