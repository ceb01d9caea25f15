"""A transport that answers from a recording. The SDK's own reader and parser get the recorded lines.

How it waits. The SDK reads in one task and writes in others. The reader goes through the frames in their order; at a
frame of the program it waits until that has been written, or something has failed. Whoever writes says so by an event.
So there is no polling, and a program that never sends what was recorded is told after `within` seconds, on whichever
clock runs.

A program that differs must learn it, and the SDK swallows what is raised while it answers a hook. So the first failure
is kept, and the reader raises it: the SDK hands that to whoever iterates, and to all who wait for an answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from soundstage.errors import ReplayMismatchError
from soundstage.journal import Redactor
from soundstage.scenarios._frames import RecordedFrame
from soundstage.scenarios._player import FramePlayer
from soundstage.scenarios._seam import sdk_transport


class ReplaySide(NamedTuple):
    """The questions that a transport asks whoever replays.

    Args:
        player_of: gives the session for an opening.
        played: is told each frame when it happens, with its line.
        delays: by what recorded delays are multiplied; 0 leaves them out.
        within: seconds that the program may take for each thing that it is to send.
    """

    player_of: Callable[[dict[str, Any]], FramePlayer]
    played: Callable[[RecordedFrame, dict[str, Any]], None]
    delays: Callable[[], float]
    within: float


class LineReader:
    """The lines of one session as they become due, on any event loop that anyio knows: the SDK's programs choose it."""

    def __init__(self, player: FramePlayer, side: ReplaySide) -> None:
        from anyio import Event

        self.player = player
        self._side = side
        self._event = Event
        self._news = Event()
        self._failed: ReplayMismatchError | None = None

    def tell(self) -> None:
        """Wake the reader."""
        news, self._news = self._news, self._event()
        news.set()

    def heard(self, line: dict[str, Any]) -> None:
        """The program sends a line.

        Raises:
            ReplayMismatchError: if it differs; not for an answer, because a task of the SDK would get that.
        """
        try:
            index = self.player.heard(line)
        except ReplayMismatchError as error:
            self._failed = self._failed or error
            if line.get("type") != "control_response":
                raise
        else:
            if index is not None:
                self._side.played(self.player.frames[index], line)
        finally:
            self.tell()

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        """All lines of the CLI, each when it is due."""
        from anyio import sleep

        at = 0.0
        for index, frame in enumerate(self.player.frames):
            if frame.of_the_sdk:
                await self._until(index)
            else:
                await sleep(max(frame.at - at, 0.0) * self._side.delays())
                self._raise_failure()
                line = self.player.line_of(index)
                self._side.played(frame, line)
                if frame.kind in ("say", "ask"):
                    yield line
            at = frame.at
        raise_exit(self.player.frames)

    async def _until(self, index: int) -> None:
        from anyio import move_on_after

        with move_on_after(self._side.within):
            while not self.player.has_happened(index) and self._failed is None:
                await self._news.wait()
        self._raise_failure()
        missing = self.player.missing(index + 1)
        if not self.player.has_happened(index) and missing is not None:
            self._failed = self.player.mismatch(missing)
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failed is not None:
            raise self._failed


def playback_transport(side: ReplaySide) -> Any:
    """The class that takes the place of the SDK's own transport.

    Args:
        side: whoever replays.
    """

    class PlaybackTransport(sdk_transport()):  # type: ignore[misc]
        """Answers from a recording."""

        async def connect(self) -> None:
            self._cli_path = "claude"
            opening = opening_of(self._build_command(), self._options)
            self._reader = LineReader(side.player_of(opening), side)
            self._reader.player.opened(opening)
            self._ready = True

        async def write(self, data: str) -> None:
            for text in data.splitlines():
                self._reader.heard(json.loads(text))

        async def end_input(self) -> None:
            self._reader.player.ended()
            self._reader.tell()

        async def close(self) -> None:
            self._ready = False

        def read_messages(self) -> AsyncIterator[dict[str, Any]]:
            return self._reader.lines()

    return PlaybackTransport


def opening_of(command: list[str], options: Any) -> dict[str, Any]:
    """A session as the program opens it: arguments, folder, variables."""
    return {
        "arguments": command[1:],
        "cwd": str(options.cwd or ""),
        "env": _without_secrets(dict(options.env or {})),
    }


def _without_secrets(variables: dict[str, str]) -> dict[str, str]:
    redactor = Redactor()
    redactor.add_environment(variables)
    return {name: redactor.text(value) for name, value in variables.items()}


def raise_exit(frames: Sequence[RecordedFrame]) -> None:
    """Raise what the SDK raises for a CLI that has failed, if the recorded one has."""
    code = next((frame.code for frame in frames if frame.kind == "exit"), 0)
    if code:
        from claude_agent_sdk import ProcessError

        raise ProcessError(
            f"Command failed with exit code {code}",
            exit_code=code,
            stderr="Check stderr output for details",
        )
