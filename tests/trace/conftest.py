"""Records made by hand, and the usual trace."""

from __future__ import annotations

import pytest

from soundstage.journal import Event, Record
from soundstage.messages import Usage
from soundstage.trace import Trace
from support.scenes import Scene, traced

__all__ = ["traced"]


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
