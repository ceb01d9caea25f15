"""The feedback loop: work, a verification that fails, a fix, a verification that passes."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.agents.scenarios._scenario import TeamScenario
from soundstage.agents.scenarios._team import complete, hand_on, introduce, route, team
from soundstage.errors import ScriptError
from soundstage.models import Script
from soundstage.trace import (
    Trace,
    assert_agent_sequence,
    assert_feedback_propagated,
    assert_phase_transitions,
    assert_tool_calls,
)


def feedback_loop(
    *,
    message: str = "Implement auth",
    issue: str = "plaintext",
    rounds: int = 1,
    executor: str = "executor",
    verifier: str = "test-pm",
) -> TeamScenario:
    """A verifier sends work back until it is right.

    Args:
        message: what the user wants.
        issue: the word that the verifier's complaint has, and that has to reach the executor.
        rounds: how often the verification fails before it passes.
        executor: who works.
        verifier: who verifies, and ends the conversation.

    Raises:
        ScriptError: if `rounds` is below 1.

    Example:
        >>> feedback_loop(rounds=3).messages
        ('Implement auth',)
    """
    if rounds < 1:
        raise ScriptError("a feedback loop has at least one round", seen=f"rounds={rounds}")
    agents = team(executor=executor, verifier=verifier)

    def write(script: Script) -> None:
        introduce(script, *agents)
        for attempt in range(1, rounds + 2):
            last = attempt == rounds + 1
            script.on(agent="orchestrator", iteration=2 * attempt - 1).reply(
                route(executor, phase="execute", reason="work on it" if attempt == 1 else "fix it")
            )
            known = message if attempt == 1 else issue
            script.on(agent=executor, iteration=attempt, contains=known).reply(
                f"Attempt {attempt}", tool_calls=[hand_on("verification")]
            )
            script.on(agent="orchestrator", iteration=2 * attempt, previous_agent=executor).reply(
                route(verifier, phase="verification", reason="verify it")
            )
            script.on(agent=verifier, iteration=attempt).reply(
                "All checks passed" if last else f"Problem: {issue}",
                tool_calls=[complete("approved") if last else hand_on("execute", f"get rid of: {issue}")],
            )

    def check(traces: Sequence[Trace]) -> None:
        [trace] = traces
        turns = rounds + 1
        assert_agent_sequence(trace, *["orchestrator", executor, "orchestrator", verifier] * turns)
        assert_phase_transitions(trace, *["execute", "verification"] * turns)
        assert_feedback_propagated(trace, verifier, executor, issue)
        assert_tool_calls(trace, *["continue"] * turns, agent=executor)
        assert_tool_calls(trace, *["continue"] * rounds, "complete", agent=verifier)
        assert trace.stop_reason == "complete"

    return TeamScenario(
        name="feedback-loop",
        about="A verifier sends work back until it is right.",
        agents=agents,
        write=write,
        messages=(message,),
        check=check,
    )
