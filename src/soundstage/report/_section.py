"""Sections of a page: one for each journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from soundstage.journal import Record


class Section(NamedTuple):
    """One journal on a page.

    Args:
        title: its heading: the name of a run, a scenario, a test.
        records: the journal, as `Journal.read()` or `read_journal(path)` gives it.
        outcome: `passed`, `failed`, `aborted` or any other word; unless given, what `RunFinished` says.
        note: a sentence below the heading, plain text.
        failure: what failed and where, as lines of plain text.
        unused: the rules of the script that were never used, one a line.
    """

    title: str
    records: Sequence[Record]
    outcome: str = ""
    note: str = ""
    failure: str = ""
    unused: str = ""
