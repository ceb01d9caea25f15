"""A scene: agents that ask a scripted model behind a journal, on virtual time; and records made by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from soundstage.clock import run
from soundstage.journal import Event, Journal, Record
from soundstage.messages import (
    Caller,
    Message,
    ModelRequest,
    ModelResponse,
    ToolDefinition,
    Usage,
    tool,
    user,
)
from soundstage.models import JournaledModel, Reply, Script, ScriptedModel, When, complete
from soundstage.scripts import Rule
from soundstage.trace import Trace

MODEL = "claude-opus-5-5"


class AnyCalls(Script):
    """A script whose calls nobody checks: scenes are about what was said, and few offer tools."""

    def add(self, when: When, reply: Any, **options: Any) -> Rule:
        if isinstance(reply, Reply):
            reply = msgspec.structs.replace(reply, check_calls=False)
        return super().add(when, reply, **options)


class Scene:
    """Parts to make a trace: a script, agents that ask, and a journal for everything else."""

    def __init__(self) -> None:
        self.script = AnyCalls()
        self.journal = Journal()
        self.model = JournaledModel(ScriptedModel(self.script), self.journal)

    def add(self, event: Event, *, source: str = "app", cause: int | None = None) -> int:
        return self.journal.append(event, source=source, cause=cause)

    async def ask(
        self,
        agent: str,
        *messages: Message,
        conversation: str = "c",
        tools: tuple[str, ...] = (),
        purpose: str = "main",
        model: str = MODEL,
        parent: str = "",
        phase: str = "",
    ) -> ModelResponse:
        """One request of an agent."""
        request = ModelRequest(
            model=model,
            messages=messages or (user("go on"),),
            tools=tuple(ToolDefinition(name=name) for name in tools),
            purpose=purpose,
            caller=Caller(agent=agent, conversation=conversation, parent=parent, phase=phase),
        )
        return await complete(self.model, request)

    async def work(self, agent: str, task: str, results: dict[str, str] | None = None, **options: Any) -> str:
        """Ask until the model wants no more tools; every tool returns what `results` says."""
        history = [user(task)]
        while True:
            answer = await self.ask(agent, *history, **options)
            history.append(answer.message())
            if not answer.tool_calls:
                return answer.text
            history += [tool(call.id, (results or {}).get(call.name, "ok")) for call in answer.tool_calls]


class Tape:
    """Records made by hand, ten a second."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, event: Event, *, cause: int | None = None, source: str = "m") -> int:
        position = len(self.records) + 1
        self.records.append(
            Record(position=position, time=position / 10, run="r", source=source, cause=cause, event=event)
        )
        return position


@pytest.fixture(scope="session")
def traced() -> Callable[[Callable[[Scene], Awaitable[None]]], Trace]:
    """Play a scene on virtual time; the trace of its journal."""

    def play(body: Callable[[Scene], Awaitable[None]]) -> Trace:
        async def main() -> Trace:
            scene = Scene()
            await body(scene)
            return Trace.of(scene.journal)

        return run(main())

    return play


@pytest.fixture
def tape() -> Tape:
    return Tape()


@pytest.fixture(scope="session")
def new_tape() -> type[Tape]:
    """For tests that need many, such as those with generated input."""
    return Tape


@pytest.fixture
def routed(traced) -> Trace:
    """An orchestrator routes to an executor with two tools, then a tester, then ends: the usual trace."""
    from soundstage.journal import MessageReceived, MessageSent, PhaseChanged, Routed

    async def body(scene: Scene) -> None:
        script, usage = scene.script, Usage(input_tokens=10, output_tokens=5)
        script.on(agent="orchestrator", iteration=1).reply("the executor shall do it", usage=usage)
        script.on(agent="executor", iteration=1).reply(
            text="I read first",
            usage=usage,
            tool_calls=[
                {"name": "Read", "arguments": {"path": "src/auth.py"}},
                {"name": "Bash", "arguments": {"command": "ls -l", "limits": {"seconds": 5}}},
            ],
        )
        script.on(agent="executor", iteration=2).reply("done, passwords are stored as plaintext", usage=usage)
        script.on(agent="tester", iteration=1).reply("Plaintext is not acceptable", usage=usage)
        script.on(agent="orchestrator", iteration=2).reply("that is all", usage=usage)
        tools = ("Read", "Bash", "Write")
        scene.add(MessageReceived(text="add a login", channel="console", sender="alice"), source="console")
        await scene.ask("orchestrator", phase="chat")
        route = Routed(agents=("executor", "tester"), phase="execute", reason="work to do", conversation="c")
        scene.add(route)
        scene.add(PhaseChanged(left="chat", entered="execute", conversation="c"))
        await scene.work("executor", "add a login", {"Read": "def login()"}, tools=tools, phase="execute")
        scene.add(PhaseChanged(left="execute", entered="verification", conversation="c"))
        await scene.ask("tester", phase="verification")
        await scene.ask("orchestrator", phase="verification")
        scene.add(MessageSent(text="Your login is ready", channel="console"), source="console")

    return traced(body)
