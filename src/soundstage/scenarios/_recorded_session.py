"""A session of a driver that does what a recording says: for a runner, without a program and without the SDK."""

from __future__ import annotations

from typing import Any, NamedTuple

from soundstage.clock import Clock, time_limit
from soundstage.drivers import DriverTurn
from soundstage.errors import InvalidStateError, ReplayMismatchError, WaitTimeout
from soundstage.journal import Journal
from soundstage.scenarios._folder import ScenarioRecording
from soundstage.scenarios._frame_log import FrameLog


class RecordedTurn(NamedTuple):
    """The last words of the agent in a turn, and whether it reported a failure."""

    text: str
    is_error: bool


class RecordedSession:
    """A recorded run, prompt for prompt, at the recorded times on the journal's clock.

    Args:
        recording: of `load_recording`.
        journal: where it goes.
    """

    def __init__(self, recording: ScenarioRecording, journal: Journal) -> None:
        self.name = recording.name
        self._recording = recording
        self._clock: Clock = journal.clock
        self._log = FrameLog(journal, recording)
        self._frames = list(recording.frames)
        self._at = 0.0

    async def prompt(self, text: str, *, within: float) -> DriverTurn:
        """Play the next recorded turn.

        Raises:
            ReplayMismatchError: if another prompt was recorded, or no further one.
            WaitTimeout: if it takes longer than `within` seconds.
        """
        try:
            async with time_limit(within):
                return await self._turn(text)
        except TimeoutError:
            raise WaitTimeout(
                f"the recorded turn of {self.name} takes longer than {within:g} s", hint="give it more time"
            ) from None

    async def interrupt(self, *, within: float) -> None:
        """Nobody can say what the agent would have done then.

        Raises:
            InvalidStateError: always.
        """
        raise InvalidStateError("a recording cannot be interrupted", hint="record a run that was interrupted")

    async def end(self) -> int:
        """Play no more."""
        self._frames.clear()
        return 0

    async def _turn(self, text: str) -> RecordedTurn:
        reply: RecordedTurn | None = None
        asked = False
        while self._frames:
            frame = self._frames[0]
            line = self._recording.line_of(frame)
            prompted = frame.kind == "send" and line.get("type") == "user"
            if reply is not None and (prompted or frame.kind == "open"):
                break  # the next turn begins here
            if prompted and not asked:
                asked = True
                self._require(text, line)
            self._frames.pop(0)
            await self._clock.sleep(max(frame.at - self._at, 0.0))
            self._at = frame.at
            self._log.played(frame, line)
            if frame.kind == "say" and line.get("type") == "result":
                reply = RecordedTurn(str(line.get("result") or ""), bool(line.get("is_error")))
        if reply is None:
            raise ReplayMismatchError(
                f"the recording {self.name} has no further turn", seen=f"the prompt {text!r}"
            )
        return reply

    def _require(self, text: str, line: dict[str, Any]) -> None:
        recorded = (line.get("message") or {}).get("content")
        if recorded != text:
            raise ReplayMismatchError(
                f"the recording {self.name} is of another prompt",
                expected=repr(recorded),
                seen=repr(text),
                hint=f"give the recorded prompt, or: soundstage scenario record {self.name}",
            )
