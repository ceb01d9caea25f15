"""A scene: agents that ask a scripted model behind a journal, on virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from soundstage.clock import run
from soundstage.journal import Event, Journal
from soundstage.messages import (
    Caller,
    Message,
    ModelRequest,
    ModelResponse,
    ToolDefinition,
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
