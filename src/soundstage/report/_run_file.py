"""Files that tell of a run: journals, and what wings bring besides, such as tapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from soundstage.journal import Record, read_journal
from soundstage.wings import reader_of


class RunFile(NamedTuple):
    """The run that a file tells of.

    Args:
        records: as a journal has them.
        masks: what differs from run to run, and what stands in its place when two runs are compared.
    """

    records: Sequence[Record]
    masks: Mapping[str | re.Pattern[str], str] = {}


def read_run(path: Path | str) -> RunFile:
    """Read a file that tells of a run: a wing does if its first line has one of that wing's fields (`Wing.readers`).

    Raises:
        EnvironmentProblem: if there is no such file.
        HarnessError: if no line of a journal is a record.
        SoundstageError: what the wing's reader raises.
    """
    read: Callable[[Path], RunFile] | None = reader_of(Path(path), lambda wing: wing.readers)
    return read(Path(path)) if read is not None else RunFile(read_journal(path))
