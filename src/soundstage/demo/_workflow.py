"""A workflow of two stages, recorded once and replayed: a program says what to pack, an agent in process notes it.

The models of both stages are on one tape. In the second run nobody asks the provider any more: it is gone. Both runs
are in one journal, and each result is a view of its part.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask, workspace_tools
from soundstage.demo._scenario import DemoScenario
from soundstage.drivers import Command
from soundstage.errors import ExpectationError
from soundstage.host import Host, HostBuilder
from soundstage.journal import Journal, Noted
from soundstage.models import CallSpec, Model, Script
from soundstage.tapes import Playback, RecordingModel, ReplayModel, Tape, TapeServer
from soundstage.trace import assert_model_requests, assert_no_egress, assert_tool_calls
from soundstage.wire import ModelServer
from soundstage.workflows import Stage, Workflow, WorkflowContext, WorkflowResult

PACKING: Final = "You help people to pack."
ANSWER: Final = "A raincoat, a warm sweater, shoes that may get wet."
NOTED: Final = "It is in list.md."
TAPE: Final = "trip.tape"
CLERK: Final = AgentDefinition(
    slug="clerk", prompt="You note lists.", tools=("write_file",), permissions=frozenset({"write"})
)


def _script() -> Script:
    script = Script(strict=True)
    forecast = CallSpec(name="forecast", arguments={"city": "Bergen"})
    script.on(user="Bergen", iteration=1).reply(tool_calls=[forecast])
    script.on(tool_result="rain from noon").reply(ANSWER)
    write = CallSpec(name="write_file", arguments={"path": "list.md", "content": f"{ANSWER}\n"})
    script.on(user=ANSWER, iteration=1).reply(tool_calls=[write])
    script.on(after_tool="write_file").reply(NOTED)
    return script


def setup(builder: HostBuilder) -> HostBuilder:
    """A folder, and the script of the provider."""
    return builder.with_script(_script()).with_workspace()


async def body(host: Host) -> None:
    """Run the workflow on a provider, then on the tape alone; both come to the same."""
    folder = host.workspace
    folder.write("prompt.txt", PACKING)
    path = folder.root / TAPE
    tape = Tape.create(path)
    provider = ModelServer(host.scripted, Journal())
    await provider.start()
    try:
        server = TapeServer(tape, host.journal, upstreams={"anthropic": provider.anthropic_url})
        recorded = await _trip(host, server, RecordingModel(host.scripted, tape))
    finally:
        await provider.stop()
    folder.path("list.md").unlink()
    host.journal.append(
        Noted(text=f"the provider is gone, all answers are in {TAPE}: run again"), source="demo"
    )
    played = await _play(host, path)
    if _facts(played) != _facts(recorded) or folder.read("list.md") != f"{ANSWER}\n":
        raise ExpectationError(
            "a replay is the recorded workflow", expected=repr(_facts(recorded)), seen=repr(_facts(played))
        )
    assert_tool_calls(host.trace, *["forecast", "write_file"] * 2)
    assert_model_requests(host.trace, 8)
    assert_no_egress(host.trace)


async def _play(host: Host, path: Path) -> WorkflowResult:
    tape = Tape.load(path)
    tape.name = TAPE  # verdicts call it so; the folder lives no longer than the run
    playback = Playback(tape)
    server = TapeServer(tape, host.journal, playback=playback)
    return await _trip(host, server, ReplayModel(tape, playback=playback))


async def _trip(host: Host, server: TapeServer, model: Model) -> WorkflowResult:
    """The workflow, with its models behind a server and in process."""
    registry = AgentRegistry([CLERK], workspace_tools(host.workspace.root))
    loop = AgentLoop(model, registry, journal=host.journal, default_model="claude-haiku-5-5")

    async def packer(city: str, _: Any) -> str:
        return await _lines(host, server, city)

    async def clerk(prompt: str, _: Any) -> str:
        return (await loop.run(AgentTask(id="1", agent="clerk", prompt=prompt))).output

    trip = Workflow(
        Stage("pack", prompt="Bergen", target=packer),
        Stage("note", prompt=lambda context: f"Note this: {context.output}", target=clerk),
        name="trip",
    )
    return await trip.run(WorkflowContext(host.journal))


async def _lines(host: Host, server: TapeServer, city: str) -> str:
    """Run the program with a server between it and the model; what it prints."""
    await server.start()
    program = Command(
        [sys.executable, "-m", "soundstage.demo.packing_agent", city],
        host.journal,
        name="agent",
        cwd=host.workspace.root,
        environment=server.environment(),
    )
    try:
        await program.start()
        await program.wait(within=30)
        return "\n".join(program.lines())
    finally:
        await program.stop()
        await server.stop()


def _facts(result: WorkflowResult) -> list[Any]:
    return [
        (
            stage.name,
            stage.status,
            stage.result.output,
            stage.result.usage,
            [file.path for file in stage.result.files],
        )
        for stage in result.stages
    ]


SCENARIO = DemoScenario(
    "a workflow of two stages, recorded and replayed",
    "A program says what to pack, an agent in process notes it; the second run has no provider and comes to the same.",
    setup,
    body,
)
