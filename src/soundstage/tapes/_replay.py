"""Replay in process: a tape in the place of a model.

A request is answered by the exchange that asked the same (`Playback`); one that was not recorded is a divergence, with
its cause. Relaxed, which the user has to ask for, the exchange of its lane that comes nearest answers; every difference
is kept as data and goes into the journal with the reply. A tape that is played whatever is asked answers for an app
that has changed, and the test stays green.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from soundstage.clock import Clock, running_clock
from soundstage.errors import ScriptError
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest
from soundstage.scripts import in_words
from soundstage.tapes._answers import pieces_of
from soundstage.tapes._exchange import RecordedExchange, TimedChunk
from soundstage.tapes._playback import Playback, Played, remapped
from soundstage.tapes._surroundings import NOWHERE, Surroundings
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import Verdict


class ReplayModel:
    """Answers from a tape.

    Args:
        tape: what to play.
        relaxed: play on when a request differs from the recorded one; it is kept in `verdicts`, and `served_by` of
            the reply lists what differs.
        here: folders and the day of this run, which count as those of the recording.
        clock: whose seconds recorded delays take; the running loop's unless given.
        speed: 1 keeps the recorded pace, 2 is twice as fast; without it there are no delays.
        playback: one that others play, too, in the place of `relaxed` and `here`.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.messages import ModelResponse, Text, user
        >>> from soundstage.models import complete
        >>> request = ModelRequest(model="m", messages=(user("hello"),))
        >>> reply = ModelResponse(parts=(Text(text="hi"),))
        >>> tape = Tape([RecordedExchange(number=1, request=request, response=reply)])
        >>> run(complete(ReplayModel(tape), request)).text
        'hi'
    """

    def __init__(
        self,
        tape: Tape,
        *,
        relaxed: bool = False,
        here: Surroundings = NOWHERE,
        clock: Clock | None = None,
        speed: float | None = None,
        playback: Playback | None = None,
    ) -> None:
        if speed is not None and not speed > 0:
            raise ScriptError(
                "a speed is more than 0", seen=in_words(speed), hint="leave it out for no delays"
            )
        self.tape = tape
        self.playback = playback if playback is not None else Playback(tape, here=here, relaxed=relaxed)
        self._clock = clock
        self._speed = speed

    @property
    def verdicts(self) -> list[Verdict]:
        """The divergences so far."""
        return self.playback.verdicts

    @property
    def unplayed(self) -> tuple[RecordedExchange, ...]:
        """The exchanges that have not been played."""
        return self.playback.unplayed

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded reply, in the recorded pieces; a recorded failure is raised again.

        Raises:
            DivergenceError: if the request was not recorded, unless the replay is relaxed.
        """
        played = self.playback.take(request)
        exchange = remapped(played.exchange, self.tape.head.places, self.playback.here)
        passed = 0.0
        for timed in self.pieces(exchange, request):
            passed = await self.wait(passed, timed.at_ms)
            chunk = timed.chunk
            if isinstance(chunk, FinishChunk):
                chunk = msgspec.structs.replace(chunk, served_by=self.served_by(played))
            yield chunk
        if exchange.failure is not None:
            await self.wait(passed, exchange.latency_ms)
            raise exchange.failure.exception()

    def pieces(self, exchange: RecordedExchange, request: ModelRequest) -> list[TimedChunk]:
        """The pieces in which an exchange is played."""
        return pieces_of(exchange)

    def served_by(self, played: Played) -> str:
        """Where a reply comes from, for the journal."""
        told = f"exchange {played.exchange.number} of {self.tape.name}"
        if played.verdict is None:
            return told
        listed = [played.verdict.line, *map(str, played.verdict.differences)]
        return f"{told}, though the request differs: {'; '.join(' '.join(part.split()) for part in listed)}"

    async def wait(self, passed: float, until: float) -> float:
        """Wait from one recorded moment to another; both are milliseconds."""
        if self._speed is not None and until > passed:
            clock = self._clock if self._clock is not None else running_clock()
            await clock.sleep((until - passed) / 1000 / self._speed)
        return max(passed, until)
