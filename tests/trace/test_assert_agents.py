"""Assertions on who was at work."""

from __future__ import annotations

import pytest

from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import PhaseChanged
from soundstage.messages import user
from soundstage.models import CallSpec, Reply
from soundstage.trace import (
    assert_agent_count,
    assert_agent_sequence,
    assert_feedback_propagated,
    assert_phase_transitions,
    assert_tool_calls,
    build_trace,
    check_agent_sequence,
    check_feedback_propagated,
    check_phase_transitions,
)

SEQUENCE = ("orchestrator", "executor", "tester", "orchestrator")


def test_the_exact_sequence_of_agents_holds(routed):
    assert check_agent_sequence(routed, *SEQUENCE)
    assert (
        assert_agent_sequence(routed, "Orchestrator", "/exec/", ["tester", "reviewer"], "orchestrator")
        is None
    )


@pytest.mark.parametrize(
    "wrong",
    [
        SEQUENCE[:-1],
        SEQUENCE[1:],
        (*SEQUENCE, "tester"),
        ("orchestrator", "tester", "executor", "orchestrator"),
        ("orchestrator", "exec", "tester", "orchestrator"),
    ],
)
def test_any_other_sequence_fails(routed, wrong):
    finding = check_agent_sequence(routed, *wrong)
    assert not finding
    assert not finding.passed
    with pytest.raises(ExpectationError):
        assert_agent_sequence(routed, *wrong)


def test_a_failure_shows_both_sequences_and_the_trace_where_they_part(routed):
    with pytest.raises(AssertionError) as caught:
        assert_agent_sequence(routed, "orchestrator", "executor", "orchestrator")
    message = str(caught.value)
    assert message.startswith("agent 3 was not expected: 'tester'\n")
    assert "expected: 'orchestrator', 'executor', 'orchestrator'" in message
    assert "    + " in message
    assert "> 3. tester [verification] in c" in message
    assert "1. orchestrator" not in message


def test_an_agent_that_never_ran_is_a_failure_with_the_nearest_name(routed):
    with pytest.raises(ExpectationError, match=r"did you mean 'executor'\?"):
        assert_agent_sequence(routed, "orchestrator", "exeutor", "tester", "orchestrator")


def test_the_agent_without_a_name_is_main(traced):
    async def body(scene):
        await scene.ask("")

    assert_agent_sequence(traced(body), "main")


def test_no_agents_is_no_expectation(routed):
    with pytest.raises(ScriptError, match="no agent is expected"):
        check_agent_sequence(routed)
    with pytest.raises(ScriptError, match="empty"):
        check_agent_sequence(routed, None)


def test_agents_may_be_expected_with_others_between_or_in_any_order(routed):
    assert_agent_sequence(routed, "executor", "orchestrator", order="in_order")
    assert_agent_sequence(routed, "tester", "executor", order="any_order")
    with pytest.raises(
        ExpectationError, match=r"^agent 'executor' came second, expected after 'tester', which came third\n"
    ):
        assert_agent_sequence(routed, "tester", "executor", order="in_order")
    with pytest.raises(ExpectationError, match=r"^agent 'tester' is missing\n"):
        assert_agent_sequence(routed, "tester", "tester", order="any_order")
    with pytest.raises(ScriptError, match="unknown order 'sorted'"):
        assert_agent_sequence(routed, "tester", order="sorted")


def test_turns_of_an_agent_are_counted(routed):
    assert_agent_count(routed, "Orchestrator", 2)
    assert_agent_count(routed, "/r$/", 4)
    assert_agent_count(routed, "reviewer", 0)
    with pytest.raises(ExpectationError, match="'orchestrator' had 2 turns, expected no turns") as caught:
        assert_agent_count(routed, "orchestrator", 0)
    assert "> " in str(caught.value)
    with pytest.raises(ExpectationError, match="'reviewer' had no turns, expected 1 turn\n"):
        assert_agent_count(routed, "reviewer", 1)


def test_an_agent_that_seems_to_be_misspelt_is_not_away_by_accident(routed):
    with pytest.raises(ScriptError, match=r"did you mean 'executor'\?"):
        assert_agent_count(routed, "exeutor", 0)
    assert_agent_count(routed, "executors", 0, known=["executors", "qa"])
    with pytest.raises(ScriptError, match="no agent 'reviewer' is known"):
        assert_agent_count(routed, "reviewer", 0, known=["executors", "qa"])
    with pytest.raises(ScriptError, match="the trace is empty"):
        assert_agent_count(build_trace([]), "qa", 0)
    for wrong in (-1, True, 1.5):
        with pytest.raises(ScriptError, match="whole numbers"):
            assert_agent_count(routed, "executor", wrong)


def test_phases_may_be_expected_with_others_between_or_in_any_order(routed):
    assert_phase_transitions(routed, "verification", order="in_order")
    assert_phase_transitions(routed, "chat", "verification", order="in_order")
    assert_phase_transitions(routed, "verification", "execute", order="any_order")
    with pytest.raises(ExpectationError, match=r"^phase 'execute' came first, expected after 'verification'"):
        assert_phase_transitions(routed, "verification", "execute", order="in_order")


def test_a_misspelt_phase_is_a_failure_with_the_nearest_name(routed):
    with pytest.raises(ExpectationError, match=r"did you mean 'execute'\?"):
        assert_phase_transitions(routed, "exceute", "verification")


@pytest.mark.parametrize("phases", [("execute", "verification"), ("chat", "execute", "VERIFICATION")])
def test_entered_phases_are_compared_with_or_without_the_first(routed, phases):
    assert_phase_transitions(routed, *phases)


@pytest.mark.parametrize(
    "phases",
    [("execute",), ("chat", "execute"), ("verification", "execute"), ("plan", "execute", "verification")],
)
def test_other_phases_fail(routed, phases):
    with pytest.raises(ExpectationError, match="phase"):
        assert_phase_transitions(routed, *phases)


def test_without_events_the_phases_are_those_of_the_steps(traced):
    async def body(scene):
        for phase in ("plan", "plan", "", "execute", "plan"):
            await scene.ask("clerk", phase=phase, conversation="x")
            await scene.ask("clerk", phase="plan", conversation="y")

    trace = traced(body)
    with pytest.raises(ScriptError, match="several conversations, so it has several phases"):
        assert_phase_transitions(trace, "execute", "plan")
    trace = trace.only(conversation="x")
    assert_phase_transitions(trace, "execute", "plan")
    assert_phase_transitions(trace, "plan", "execute", "plan")
    assert not check_phase_transitions(trace, "plan")


def test_an_event_that_enters_the_same_phase_is_no_transition(tape):
    tape.add(PhaseChanged(left="plan", entered="plan"))
    tape.add(PhaseChanged(left="plan", entered="execute"))
    assert_phase_transitions(build_trace(tape.records), "execute")


def test_phases_of_a_trace_without_any_fail_and_no_phases_are_no_expectation(traced):
    async def body(scene):
        await scene.ask("clerk")

    trace = traced(body)
    with pytest.raises(ExpectationError, match=r"Caller\.phase"):
        assert_phase_transitions(trace, "plan")
    with pytest.raises(ScriptError, match="no phase"):
        assert_phase_transitions(trace)


def test_a_review_that_fails_once_reads_as_it_was_played(traced):
    """Two rounds of work and review under an orchestrator; the reviewer's words come back to the worker."""
    turns = [
        ("orchestrator", "chat", "to the executor", ()),
        ("executor", "execute", "implemented", ("continue",)),
        ("orchestrator", "execute", "to the reviewer", ()),
        ("test-pm", "verification", "passwords are stored as plaintext", ("continue",)),
        ("orchestrator", "verification", "back to the executor", ()),
        ("executor", "execute", "hashed now", ("continue",)),
        ("orchestrator", "execute", "to the reviewer", ()),
        ("test-pm", "verification", "all good", ("complete",)),
    ]

    async def body(scene):
        before, history = turns[0][1], [user("Implement auth")]
        for agent, phase, text, tools in turns:
            scene.script.queue(Reply(text=text, tool_calls=tuple(CallSpec(name=name) for name in tools)))
            if phase != before:
                scene.add(PhaseChanged(left=before, entered=phase, conversation="c"))
            before = phase
            await scene.ask(agent, *history, phase=phase)
            history.append(user(f"[{agent}] {text}"))

    trace = traced(body)
    round_of_four = ("orchestrator", "executor", "orchestrator", "test-pm")
    assert_agent_sequence(trace, *round_of_four, *round_of_four)
    assert_phase_transitions(trace, *("execute", "verification") * 2)
    assert_phase_transitions(trace, "chat", *("execute", "verification") * 2)
    assert_tool_calls(trace, "continue", "continue", agent="executor")
    assert_tool_calls(trace, "continue", "complete", agent="test-pm")
    assert_feedback_propagated(trace, "test-pm", "executor", "plaintext")
    assert not check_feedback_propagated(trace, "test-pm", "executor", "all good")
