"""Replay: a tape in the place of a model.

A request has to be the recorded one, and the error names the cause and what differs (`soundstage.differences`), or that
the request comes later on the tape, or has been played. Relaxed, which the user has to ask for, it plays one exchange
after the other, whatever is asked; every difference is kept as data and goes into the journal with the reply. A tape
that is played whatever is asked answers for an app that has changed, and the test stays green.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from soundstage.clock import Clock, running_clock
from soundstage.differences import Cause, Difference, differences, digest_of
from soundstage.errors import ReplayMismatchError, ScriptError, TapeError
from soundstage.match import preview
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest
from soundstage.scripts import in_words
from soundstage.tapes._tape import HOW_TO_RECORD, RecordedExchange, Tape


class Mismatch(NamedTuple):
    """A request that differs from the recorded one.

    Args:
        number: which exchange of the tape should have come, from 1.
        cause: what differs in the first place.
        differences: each part that differs.
        other: which exchange of the tape the request is instead, if it is one.
    """

    number: int
    cause: Cause
    differences: tuple[Difference, ...]
    other: int = 0

    def __str__(self) -> str:
        return "\n".join([f"exchange {self.number}: {self._reason}", *map(str, self.differences)])

    @property
    def in_one_line(self) -> str:
        """The reason, and every difference."""
        return "; ".join(" ".join(part.split()) for part in [self._reason, *map(str, self.differences)])

    @property
    def _reason(self) -> str:
        return f"{self.cause}: this is the request of exchange {self.other}" if self.other else self.cause


class ReplayModel:
    """Answers from a tape.

    Args:
        tape: what to play.
        relaxed: play on when a request differs from the recorded one; it is kept in `mismatches`, and `served_by` of
            the reply lists what differs.
        clock: whose seconds recorded delays take; the running loop's unless given.
        speed: 1 keeps the recorded pace, 2 is twice as fast; without it there are no delays.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.messages import ModelResponse, Text, user
        >>> from soundstage.models import complete
        >>> request = ModelRequest(model="m", messages=(user("hello"),))
        >>> reply = ModelResponse(parts=(Text(text="hi"),))
        >>> tape = Tape([RecordedExchange(timestamp="2026-01-01T00:00:00Z", request=request, response=reply)])
        >>> run(complete(ReplayModel(tape), request)).text
        'hi'
    """

    def __init__(
        self, tape: Tape, *, relaxed: bool = False, clock: Clock | None = None, speed: float | None = None
    ) -> None:
        if speed is not None and not speed > 0:
            raise ScriptError(
                "a speed is more than 0", seen=in_words(speed), hint="leave it out for no delays"
            )
        self.tape = tape
        self.relaxed = relaxed
        self.mismatches: list[Mismatch] = []
        self._clock = clock
        self._speed = speed
        self._exchanges = tape.exchanges
        self._next = 0

    @property
    def unplayed(self) -> tuple[RecordedExchange, ...]:
        """The exchanges that have not been played."""
        return self._exchanges[self._next :]

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded reply, in the recorded pieces; a recorded failure is raised again.

        Raises:
            ReplayMismatchError: if the request differs from the recorded one, unless the replay is relaxed.
            TapeError: if there are more requests than exchanges.
        """
        number, exchange, mismatch = self._take(request)
        clock = self._clock if self._clock is not None else running_clock()
        passed = 0.0
        for timed in exchange.pieces():
            passed = await self._wait(clock, passed, timed.at_ms)
            chunk = timed.chunk
            if isinstance(chunk, FinishChunk):
                chunk = msgspec.structs.replace(chunk, served_by=self._served_by(number, mismatch))
            yield chunk
        if exchange.failure is not None:
            await self._wait(clock, passed, exchange.latency_ms)
            raise exchange.failure.exception()

    def _served_by(self, number: int, mismatch: Mismatch | None) -> str:
        played = f"exchange {number} of {self.tape.name}"
        return played if mismatch is None else f"{played}, though the request differs: {mismatch.in_one_line}"

    async def _wait(self, clock: Clock, passed: float, until: float) -> float:
        """Wait from one recorded moment to another; both are milliseconds."""
        if self._speed is not None and until > passed:
            await clock.sleep((until - passed) / 1000 / self._speed)
        return max(passed, until)

    def _take(self, request: ModelRequest) -> tuple[int, RecordedExchange, Mismatch | None]:
        """The exchange to play, its number, and what differs. One that is refused is not used up."""
        if self._next >= len(self._exchanges):
            raise self._at_the_end(request)
        exchange = self._exchanges[self._next]
        found = differences(*_neutral(exchange.request, request))
        mismatch = None
        if found:
            mismatch = self._mismatch(request, found)
            self.mismatches.append(mismatch)
            if not self.relaxed:
                raise self._refused(exchange, mismatch)
        self._next += 1
        return self._next, exchange, mismatch

    def _mismatch(self, request: ModelRequest, found: tuple[Difference, ...]) -> Mismatch:
        number = self._next + 1
        alike = [
            place
            for place, other in enumerate(self._exchanges, start=1)
            if len(set(map(digest_of, _neutral(other.request, request)))) == 1
        ]
        later = next((place for place in alike if place > number), 0)
        earlier = next((place for place in alike if place < number), 0)
        if later:
            return Mismatch(number, "order swapped", found, later)
        if earlier:
            return Mismatch(number, "already played", found, earlier)
        return Mismatch(number, found[0].cause, found)

    def _refused(self, exchange: RecordedExchange, mismatch: Mismatch) -> ReplayMismatchError:
        return ReplayMismatchError(
            f"the request is not the one on the tape {self.tape.name}",
            expected=_summary(exchange.request),
            seen=str(mismatch),
            hint=f"if the app is right, {HOW_TO_RECORD}; or write relaxed=True to play it whatever is asked",
        )

    def _at_the_end(self, request: ModelRequest) -> TapeError:
        count = len(self._exchanges)
        return TapeError(
            f"the tape {self.tape.name} is at its end",
            expected=f"at most {count} request(s)",
            seen=f"request {count + 1}: {_summary(request)}",
            hint=HOW_TO_RECORD,
        )


def _neutral(recorded: ModelRequest, seen: ModelRequest) -> tuple[ModelRequest, ModelRequest]:
    """Two requests without what the app cannot tell from the reply: the wire format, and whether it streams."""
    settings = [recorded.settings, seen.settings] if recorded.format == seen.format else [{}, {}]
    one, other = (
        msgspec.structs.replace(request, format="", stream=False, settings=given)
        for request, given in zip((recorded, seen), settings, strict=True)
    )
    return one, other


def _summary(request: ModelRequest) -> str:
    """A request in one line."""
    tools = ", ".join(tool.name for tool in request.tools)
    roles = [message.role for message in request.messages if message.role != "system"]
    return f"user {preview(request.last_user_text or '')}, {len(roles)} message(s), tools: {tools or 'none'}"
