"""Error handling: one conversation in which everything goes wrong once, and the team comes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from soundstage.agents.runtime import Tool, ToolError, tool
from soundstage.agents.scenarios._scenario import TeamScenario
from soundstage.agents.scenarios._team import complete, hand_on, introduce, route, team
from soundstage.errors import ExpectationError, ScriptError
from soundstage.models import Script
from soundstage.trace import Trace, assert_text

_MISHAPS: Final = 7  # turns of the executor before it goes round in a circle
_LONGEST: Final = 12  # rounds of the circle that a run has room for
_BROKEN: Final = '{"command": "make'


def shell() -> Tool:
    """The tool `shell(command)`: a build that fails unless it is told to keep going. Nothing is run."""

    @tool(name="shell")
    async def run_command(command: str) -> str:
        """Run a command.

        Args:
            command: the command line.
        """
        if command == "make":
            raise ToolError("exit code 2: missing separator")
        return f"ok: {command}"

    return run_command


def error_handling(*, delay: float = 5.0, loops: int = 5, long: int = 10_000) -> TeamScenario:
    """A tool fails and the agent recovers; a reply is late; arguments are no JSON; the model is overloaded, answers
    nothing, proposes a phase that there is not, answers at length, goes round in a circle until that is broken.

    Args:
        delay: seconds of the late reply.
        loops: how often the executor hands on without doing anything before the circle is broken, 1 to 12.
        long: characters of the long reply.

    Raises:
        ScriptError: if `loops` is out of range.
    """
    if not 1 <= loops <= _LONGEST:
        raise ScriptError(f"a run has room for 1 to {_LONGEST} rounds of a circle", seen=f"loops={loops}")
    agents = team("shell")

    def write(script: Script) -> None:
        introduce(script, *agents)
        for number in range(1, _MISHAPS + 1):
            script.on(agent="orchestrator", iteration=number).reply(route("executor", phase="execute"))
        _mishaps(script, delay, long)
        for number in range(loops):
            script.on(agent="orchestrator", iteration=_MISHAPS + 1 + number).reply(route("executor"))
            script.on(agent="executor", iteration=12 + number).reply(tool_calls=[hand_on("verification")])
        script.on(agent="orchestrator", iteration=_MISHAPS + 1 + loops).reply(
            "This goes round in a circle.", tool_calls=[complete("given up")]
        )

    def check(traces: Sequence[Trace]) -> None:
        [trace] = traces
        _check(trace, delay)
        assert_text(trace, "x" * long, agent="executor")
        if [step.agent for step in trace.steps][-1] != "orchestrator" or trace.stop_reason != "complete":
            raise ExpectationError("the circle was not broken", seen=trace.stop_reason)

    return TeamScenario(
        name="error-handling",
        about="Everything goes wrong once, and the team comes through.",
        agents=agents,
        tools=lambda: (shell(),),
        write=write,
        messages=("Build the project",),
        check=check,
    )


def _mishaps(script: Script, delay: float, long: int) -> None:
    """The replies of the executor, request by request."""

    def says(iteration: int, *text: str, **fields: Any) -> None:
        script.on(agent="executor", iteration=iteration).reply(*text, **fields)

    says(1, tool_calls=[{"name": "shell", "arguments": {"command": "make"}}])
    script.on(agent="executor", iteration=2, tool_result="missing separator").reply(
        tool_calls=[{"name": "shell", "arguments": {"command": "make -k"}}]
    )
    says(3, "Recovered.", delay=delay, tool_calls=[hand_on("verification")])
    says(4, tool_calls=[{"name": "shell", "raw": _BROKEN}])
    script.on(agent="executor", iteration=5, tool_result="not a JSON object").reply("I stop here.")
    script.on(agent="executor", iteration=6).error(429, "slow down", retry_after=1)
    says(7, fault={"type": "empty"})
    says(8, tool_calls=[hand_on("party")])
    script.on(agent="executor", iteration=9, tool_result="no phase 'party'").reply(
        tool_calls=[hand_on("verification")]
    )
    says(10, "x" * long)
    says(11, "Nothing left to do.")


def _check(trace: Trace, delay: float) -> None:
    errors = [use.name for use in trace.tools if use.is_error]
    failed = [step.failure.status for step in trace.steps if step.failure is not None]
    facts = (
        ("the tools that failed", ["shell", "shell", "continue"], errors),
        ("the errors of the model", [429], failed),
        ("a reply is late", True, trace.duration >= delay),
        ("the phases entered", ["execute"], [phase.entered for phase in trace.phases]),
    )
    for what, expected, seen in facts:
        if expected != seen:
            raise ExpectationError(what, expected=repr(expected), seen=repr(seen), hint="trace.format()")
