"""Network resilience: a relay that fails some times, and is tried again."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.agents.runtime import Tool, ToolError, tool
from soundstage.agents.scenarios._scenario import TeamScenario
from soundstage.agents.scenarios._team import complete, hand_on, introduce, route, team
from soundstage.errors import ExpectationError, ScriptError
from soundstage.models import Script
from soundstage.trace import Trace, assert_agent_sequence, assert_phase_transitions, assert_tool_calls

PUBLISH = "relay_publish"


def relay_publish(failures: int) -> Tool:
    """The tool `relay_publish(text)`, which fails so many times before it succeeds. Nothing leaves the process.

    Args:
        failures: how often it cannot reach the relay.
    """
    left = failures

    @tool(name=PUBLISH)
    async def publish(text: str) -> str:
        """Publish a text on the relay.

        Args:
            text: what to publish.
        """
        nonlocal left
        if left > 0:
            left -= 1
            raise ToolError("relay: connection reset")
        return f"published: {text}"

    return publish


def network_resilience(*, failures: int = 2, text: str = "release notes") -> TeamScenario:
    """A relay fails; the executor tries again, and the flow still comes to its end.

    Args:
        failures: how often the relay cannot be reached.
        text: what is published.

    Raises:
        ScriptError: if `failures` is below 0.
    """
    if failures < 0:
        raise ScriptError("a relay cannot fail less than never", seen=f"failures={failures}")
    agents = team(PUBLISH)

    def write(script: Script) -> None:
        introduce(script, *agents)
        send = {"name": PUBLISH, "arguments": {"text": text}}
        script.on(agent="orchestrator", iteration=1).reply(route("executor", phase="execute"))
        if failures:
            script.on(agent="executor", tool_result="connection reset").reply("Again.", tool_calls=[send])
        script.on(agent="executor", tool_result="published").reply(
            "It is out.", tool_calls=[hand_on("verification")]
        )
        script.on(agent="executor").reply(tool_calls=[send])
        script.on(agent="orchestrator", contains="It is out").reply(route("test-pm", phase="verification"))
        script.on(agent="test-pm", contains="It is out").reply(
            "It is there.", tool_calls=[complete("published")]
        )

    def check(traces: Sequence[Trace]) -> None:
        [trace] = traces
        assert_agent_sequence(trace, "orchestrator", "executor", "orchestrator", "test-pm")
        assert_phase_transitions(trace, "execute", "verification")
        assert_tool_calls(trace, *[PUBLISH] * (failures + 1), "continue", agent="executor")
        failed = [use.is_error for use in trace.tools if use.name == PUBLISH]
        if failed != [True] * failures + [False]:
            raise ExpectationError(
                "the relay did not fail as often as it should",
                expected=f"{failures} failures and a success",
                seen=f"{sum(failed)} failures of {len(failed)} calls",
            )

    return TeamScenario(
        name="network-resilience",
        about="A relay fails; the executor tries again, and the flow still ends.",
        agents=agents,
        tools=lambda: (relay_publish(failures),),
        write=write,
        messages=(f"Publish the {text}",),
        check=check,
    )
