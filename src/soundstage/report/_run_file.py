"""Files that tell of a run: journals, and what wings bring besides, such as tapes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from soundstage.journal import Record, read_journal
from soundstage.wings import load_target, wings


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
    fields = _fields_of_first_line(Path(path))
    for wing in wings():
        for field in fields & set(wing.readers):
            read: Callable[[Path], RunFile] = load_target(wing.readers[field])
            return read(Path(path))
    return RunFile(read_journal(path))


def _fields_of_first_line(path: Path) -> set[str]:
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError), path.open("rb") as file:
        found = msgspec.json.decode(next((line for line in file if line.strip()), b"null"))
        return set(found) if isinstance(found, dict) else set()
    return set()
