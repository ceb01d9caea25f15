"""Several runs on one tape: each is recorded where it works, and all are kept as if they had worked in one place.

The folders of a run are its own, and those of the machine that records belong into no tape that others read. So they
are replaced by the same names for all runs; a replay takes its own folders for these, as for those of any recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from soundstage.clock import SystemClock
from soundstage.models import Model
from soundstage.tapes._playback import swapped
from soundstage.tapes._program import KEPT_ON_RECORD
from soundstage.tapes._recording import RecordingModel
from soundstage.tapes._surroundings import Surroundings
from soundstage.tapes._tape import Tape, TapeHead

_NAMES: Final = {name: f"/soundstage/{name}" for name in ("cwd", "home", "tmp")}


class RunRecordingModel(RecordingModel):
    """Records one run of several: it is told where the run works, as a tape is that is replayed."""

    def __init__(self, inner: Model) -> None:
        clock = SystemClock()
        here = Surroundings.here(clock.wall())
        super().__init__(inner, Tape(head=TapeHead(recorded=clock.wall().isoformat(), places=here)))

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables that a program has while it is recorded."""
        return KEPT_ON_RECORD

    def work_in(self, folder: Path, home: Path) -> None:
        """Take these for the working folder and the home folder of the run."""
        places = msgspec.structs.replace(self.tape.head.places, cwd=str(folder), home=str(home))
        self.tape.head = self.tape.head.at(places)


def join_tapes(parts: Iterable[Tape], *, name: str) -> Tape:
    """The exchanges of several recordings on one tape, in their order, without the folders of this machine.

    Args:
        parts: the recordings; each head says where its run worked.
        name: of the new tape, for messages.
    """
    parts = list(parts)
    first = parts[0].head if parts else TapeHead()
    places = Surroundings(**_NAMES, day=first.places.day)
    joined = Tape(name=name, head=TapeHead(recorded=first.recorded, places=places))
    for part in parts:
        for exchange in part.exchanges:
            number = joined.next_number()
            moved = swapped(exchange, part.head.places, places)
            # pieces may cut the name of a folder in two, so those of such a reply are made anew
            pieces = moved.chunks if moved.response == exchange.response else ()
            joined.append(msgspec.structs.replace(moved, number=number, chunks=pieces))
        joined.redacted += part.redacted
        joined.problems += part.problems
    return joined
