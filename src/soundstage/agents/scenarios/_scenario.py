"""Packaged scenarios: a team, the script of its model, and the expected outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from soundstage.agents.runtime import AgentDefinition, Tool
from soundstage.agents.teams import ConversationCoordinator, TurnRouter
from soundstage.models import Script
from soundstage.trace import Trace


class TeamUnderTest(Protocol):
    """The team that a scenario is played with; see `TeamStage`."""

    coordinator: ConversationCoordinator
    router: TurnRouter

    @property
    def trace(self) -> Trace:
        """All conversations so far."""
        ...

    def create(self, message: str) -> str:
        """Begin a conversation; returns its id."""
        ...

    def restart(self) -> None:
        """Save the conversations, and go on with what was saved."""
        ...


class TeamScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow of a team, ready to be played.

    Args:
        name: how it is called.
        about: what it shows, in a sentence.
        agents: the team, with the orchestrator.
        write: adds what the model says to a script.
        messages: the user's first words, one conversation each.
        check: the expected assertions; gets the trace of each conversation, in the order of `messages`.
        tools: makes the tools of one run besides `continue` and `complete`; what fails in them on purpose is counted
            for each run.
        drive: plays it on a stage and returns the traces; all conversations at once unless given.
    """

    name: str
    about: str
    agents: tuple[AgentDefinition, ...]
    write: Callable[[Script], None]
    messages: tuple[str, ...]
    check: Callable[[Sequence[Trace]], None]
    tools: Callable[[], Sequence[Tool]] = tuple
    drive: Callable[[TeamUnderTest], Awaitable[Sequence[Trace]]] | None = None

    @property
    def script(self) -> Script:
        """The model's replies, as a script of its own."""
        script = Script(name=self.name)
        self.write(script)
        return script
