"""Drivers: start a real agent, send prompts, stream its events into the journal, stop it.

A driver is a daemon. What it drives is a session: one conversation of the agent, prompt by prompt.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from soundstage.drivers._isolation import Level


class DriverTurn(Protocol):
    """The result of one prompt."""

    @property
    def text(self) -> str:
        """The agent's final words."""
        ...

    @property
    def is_error(self) -> bool:
        """Whether the agent reported a failure."""
        ...


@runtime_checkable
class DriverSession(Protocol):
    """One conversation with an agent."""

    async def prompt(self, text: str, *, within: float) -> DriverTurn:
        """Send a prompt and wait for the end of the turn.

        Raises:
            WaitTimeout: if it takes longer than `within` seconds; the agent is ended.
            AppError: if the agent exits instead.
        """
        ...

    async def interrupt(self, *, within: float) -> None:
        """Break off the turn that is under way; the session goes on."""
        ...

    async def end(self) -> int:
        """End the agent, with all that it started. Returns its exit code."""
        ...


@runtime_checkable
class Driver(Protocol):
    """Starts and stops a real program."""

    name: str
    isolation: Level

    async def start(self) -> None:
        """Start; return when it is ready for use."""
        ...

    async def stop(self) -> None:
        """Stop; nothing of it is left."""
        ...
