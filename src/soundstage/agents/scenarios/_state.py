"""State persistence: a conversation is saved in the middle of its work, and goes on after a restart."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.agents.scenarios._scenario import TeamScenario, TeamUnderTest
from soundstage.agents.scenarios._team import complete, hand_on, introduce, route, team
from soundstage.errors import ExpectationError
from soundstage.models import Script
from soundstage.trace import Trace, assert_agent_sequence, assert_phase_transitions


def state_persistence(
    *,
    message: str = "Build a page",
    later: str = "Go on where you stopped",
    remembered: str = "three columns",
) -> TeamScenario:
    """A conversation is saved in the middle of its work; after a restart it goes on in its phase, with its history.

    Args:
        message: what the user wants.
        later: what the user says after the restart.
        remembered: what is said before the restart and needed after it.
    """
    agents = team()

    def write(script: Script) -> None:
        introduce(script, *agents)
        script.on(agent="orchestrator", iteration=1).reply(route("executor", "END", phase="plan"))
        script.on(agent="executor", iteration=1).reply(
            f"The plan: {remembered}", tool_calls=[hand_on("execute")]
        )
        script.on(agent="orchestrator", user=later, contains=remembered, phase="plan").reply(
            route("executor", phase="execute")
        )
        script.on(agent="executor", contains=remembered, phase="execute").reply(f"Built with {remembered}")
        script.on(agent="orchestrator", phase="execute").reply(route("test-pm", phase="verification"))
        script.on(agent="test-pm").reply("As planned.", tool_calls=[complete("built")])

    async def drive(stage: TeamUnderTest) -> Sequence[Trace]:
        conversation = stage.create(message)
        await stage.router.run(conversation)
        before = stage.coordinator.get(conversation)
        stage.restart()
        after = stage.coordinator.get(conversation)
        if after != before:
            raise ExpectationError(
                "the conversation is not what it was before the restart",
                expected=repr(before),
                seen=repr(after),
            )
        await stage.router.run(conversation, later)
        return [stage.trace.only(conversation=conversation)]

    def check(traces: Sequence[Trace]) -> None:
        [trace] = traces
        turns = ["orchestrator", "executor"]
        assert_agent_sequence(trace, *turns, *turns, "orchestrator", "test-pm")
        assert_phase_transitions(trace, "plan", "execute", "verification")

    return TeamScenario(
        name="state-persistence",
        about="A conversation is saved in the middle of its work, and goes on after a restart.",
        agents=agents,
        write=write,
        messages=(message,),
        check=check,
        drive=drive,
    )
