"""A tape as the model of many runs: the good runs of a sweep with faults, each from the beginning of the tape.

On the wire an answer has the very bytes that were recorded. What was recorded as failed is left out: a good run is one
in which nothing goes wrong, and the attempt that came after it is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from soundstage.clock import SystemClock
from soundstage.messages import ByteDelivery, ModelRequest, StartChunk
from soundstage.tapes._answers import pieces_of
from soundstage.tapes._exchange import RecordedExchange, TimedChunk
from soundstage.tapes._program import KEPT_ON_RECORD
from soundstage.tapes._replay import ReplayModel
from soundstage.tapes._surroundings import Surroundings
from soundstage.tapes._tape import Tape


class TapedModel(ReplayModel):
    """Answers from a tape; on the wire, with the recorded bytes."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables that a program has while it is recorded."""
        return KEPT_ON_RECORD

    def work_in(self, folder: Path, home: Path) -> None:
        """Take these for the recorded working folder and home folder."""
        here = msgspec.structs.replace(self.playback.here, cwd=str(folder), home=str(home))
        self.playback.settle(here)

    def pieces(self, exchange: RecordedExchange, request: ModelRequest) -> list[TimedChunk]:
        """The pieces of an exchange; the first one brings the bytes, if they are those of the request's format."""
        found, frames, asked = pieces_of(exchange), exchange.frames, exchange.request
        if frames is None or asked is None or exchange.edited or not found:
            return found
        if (asked.format, asked.stream) != (request.format, request.stream):
            return found
        delivery = ByteDelivery(body=frames.body)
        first = found[0]
        if isinstance(first.chunk, StartChunk):
            start = msgspec.structs.replace(first.chunk, delivery=delivery)
            return [msgspec.structs.replace(first, chunk=start), *found[1:]]
        return [TimedChunk(at_ms=first.at_ms, chunk=StartChunk(delivery=delivery)), *found]


class _ModelsOfTape:
    """Makes the models of a tape. Another interpreter reads the tape again: what knows its secrets is not sent."""

    def __init__(self, path: str) -> None:
        recorded = Tape.load(path)
        recorded.require_models_alone("a sweep of faults")
        whole = [exchange for exchange in recorded.exchanges if exchange.failure is None]
        self._path = path
        self._tape = Tape(whole, name=recorded.name, redactor=recorded.redactor, head=recorded.head)
        self._here = Surroundings.here(SystemClock().wall())

    def __call__(self) -> TapedModel:
        return TapedModel(self._tape, here=self._here)

    def __reduce__(self) -> tuple[type[_ModelsOfTape], tuple[str]]:
        return (_ModelsOfTape, (self._path,))


def models_of_tape(path: Path | str) -> Callable[[], TapedModel]:
    """The models of a tape, one for each run.

    Raises:
        TapeError: if it cannot be read.
    """
    return _ModelsOfTape(str(Path(path).resolve()))
