"""A stage for a team: one run with a scripted model, real coordination, and a folder of its own.

    async with TeamStage(agents=team) as stage:
        stage.script.on(agent="executor").reply("done")
        conversation = stage.create("Implement auth")
        trace = await stage.run(conversation)
        assert_agent_sequence(trace, "orchestrator", "executor")

Everything but the model is the real thing: coordinator, registry, agent loop, router. What tools do outside (a relay, a
shell) is the tools' affair; those of the packaged scenarios stay inside of the process. The run ends with the block,
whatever happened in it: daemons stop, the folder goes, and what went wrong on the way is raised together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, Tool, ToolRegistry
from soundstage.agents.scenarios._named import scenario as named
from soundstage.agents.scenarios._scenario import TeamScenario
from soundstage.agents.teams import (
    ConversationCoordinator,
    Phases,
    TurnRouter,
    flow_tools,
)
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.host import Host, HostBuilder
from soundstage.journal import Journal
from soundstage.lifecycle import ScratchFolder
from soundstage.models import Model, Script
from soundstage.trace import Trace

MODEL = "test-model"


class TeamStage:
    """A team with everything around it, for one test. Use it with `async with`.

    Args:
        scenarios: packaged scenarios, by name or as made; their agents, tools and replies are added up.
        agents: the team; the orchestrator is among them.
        tools: tools of the agents besides `continue` and `complete`.
        script: what the model says; an empty one unless given.
        phases: those of the conversations; the usual ones unless given.
        verifiers: who may end a conversation with `complete`; see `TurnRouter`.
        model: puts another model in the place of the scripted one, or around it; gets the scripted one.
        seed: where ids come from.

    Raises:
        UnknownScenarioError: for the name of a scenario that there is not.
        UnknownNameError: at the beginning of the block, and where a rule is added in it, if a rule names an agent, a
            phase, a tool or a header that the stage does not have.
        ScriptError: if two scenarios give one slug to different agents.
    """

    def __init__(
        self,
        *scenarios: str | TeamScenario,
        agents: Sequence[AgentDefinition] = (),
        tools: Sequence[Tool] = (),
        script: Script | None = None,
        phases: Phases | None = None,
        verifiers: Sequence[str] | None = None,
        model: Callable[[Model], Model] = lambda inner: inner,
        seed: int = 0,
    ) -> None:
        self.scenarios = tuple(named(one) if isinstance(one, str) else one for one in scenarios)
        self.script = script if script is not None else Script()
        self.script.strict = bool(self.script.strict)  # a stage may try things out; `play` is strict
        self.phases = phases if phases is not None else Phases()
        self.agents = _together([*(a for one in self.scenarios for a in one.agents), *agents])
        own = [made for one in self.scenarios for made in one.tools()]
        self.tools = ToolRegistry([*flow_tools(self.phases), *own, *tools])
        for one in self.scenarios:
            one.write(self.script)
        self._verifiers = verifiers
        self._builder = HostBuilder("team", seed=seed).with_script(self.script).with_model(model)
        self._host: Host | None = None
        self._folder: ScratchFolder | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        if self._host is not None:
            raise InvalidStateError("this stage has been used", hint="make another TeamStage")
        self._host = self._builder.build()
        self._folder = ScratchFolder()
        try:
            self.registry = AgentRegistry(self.agents, self.tools)
            await self._host.__aenter__()
            self.coordinator = ConversationCoordinator(self.journal, phases=self.phases, ids=self._host.ids)
            self.router = self._router()
            self.script.bind("the stage", headers=())  # in process, requests have none
            self.script.validate_names()
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closed or self._host is None:
            return
        self._closed = True
        problems: list[Exception] = []
        try:
            await self._host.__aexit__(kind, error, trace)
        except Exception as problem:  # noqa: BLE001  (raised below, with the others)
            problems.append(problem)
        try:
            if self._folder is not None:
                self._folder.close()
        except OSError as problem:
            problems.append(problem)
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise ExceptionGroup("the stage could not be taken down", problems)

    async def close(self) -> None:
        """End the run before the block ends. Harmless when it has ended.

        Raises:
            ScriptError: if the script is strict and rules were not used.
            ExceptionGroup: if more than one thing went wrong.
        """
        await self.__aexit__(None, None, None)

    def _router(self) -> TurnRouter:
        loop = AgentLoop(
            self.host.model,
            self.registry,
            journal=self.journal,
            ids=self.host.ids,
            default_model=MODEL,
        )
        return TurnRouter(self.coordinator, loop, self.agents, verifiers=self._verifiers)

    @property
    def host(self) -> Host:
        """The run.

        Raises:
            InvalidStateError: before the block.
        """
        if self._host is None:
            raise InvalidStateError(
                "the stage has not been set up", hint="async with TeamStage(...) as stage:"
            )
        return self._host

    @property
    def journal(self) -> Journal:
        """The record of the run."""
        return self.host.journal

    @property
    def trace(self) -> Trace:
        """All conversations so far."""
        return self.host.trace

    @property
    def folder(self) -> Path:
        """A folder of this run alone; it goes when the run ends."""
        if self._folder is None:
            raise InvalidStateError(
                "the stage has not been set up", hint="async with TeamStage(...) as stage:"
            )
        return self._folder.path

    def create(self, message: str) -> str:
        """Begin a conversation; returns its id. See `ConversationCoordinator.create`."""
        return self.coordinator.create(message)

    async def run(self, conversation: str, message: str = "", **options: Any) -> Trace:
        """Let the team work until the conversation ends; returns its trace. Options are those of `TurnRouter.run`.

        When it raises, `stage.trace` has what happened until then.
        """
        await self.router.run(conversation, message, **options)
        return self.trace.only(conversation=conversation)

    async def run_all(self, messages: Sequence[str]) -> tuple[Trace, ...]:
        """Begin a conversation for each message and run them all at once; returns their traces."""
        conversations = [self.create(message) for message in messages]
        async with asyncio.TaskGroup() as group:
            for conversation in conversations:
                group.create_task(self.router.run(conversation))
        whole = self.trace
        return tuple(whole.only(conversation=conversation) for conversation in conversations)

    def restart(self) -> None:
        """Save the conversations in the stage's folder, and go on with a new coordinator that has read them."""
        self.coordinator.save(self.folder)
        self.coordinator = ConversationCoordinator.load(
            self.folder, self.journal, phases=self.phases, ids=self.host.ids
        )
        self.router = self._router()


def _together(agents: Sequence[AgentDefinition]) -> tuple[AgentDefinition, ...]:
    found: dict[str, AgentDefinition] = {}
    for agent in agents:
        if found.setdefault(agent.slug, agent) != agent:
            raise ScriptError(
                f"two scenarios have different agents with the slug {agent.slug!r}",
                hint="play them on stages of their own",
            )
    return tuple(found.values())


async def play(scenario: str | TeamScenario, **options: Any) -> tuple[Trace, ...]:
    """Play a scenario on a stage of its own and check what comes of it; returns the traces.

    Every reply of the scenario has to be used, and every request has to have one.

    Args:
        scenario: its name, or the scenario as made.
        **options: what `TeamStage` takes besides.

    Raises:
        UnknownScenarioError: if there is none of this name.
        ExpectationError: if an assertion of the scenario does not hold.
        ScriptError: if a reply was not used, or a request had none.

    Example:
        >>> from soundstage.clock import run
        >>> [trace.stop_reason for trace in run(play("feedback-loop"))]
        ['complete']
    """
    made = named(scenario) if isinstance(scenario, str) else scenario
    async with TeamStage(made, script=Script(strict=True, name=made.name), **options) as stage:
        traces = tuple(await made.drive(stage) if made.drive else await stage.run_all(made.messages))
        made.check(traces)
    return traces
