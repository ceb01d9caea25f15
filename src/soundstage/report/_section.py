"""Sections of a page: one for each journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from soundstage.journal import Record


class PageDifference(NamedTuple):
    """One difference as a page shows it.

    Args:
        cause: why.
        where: the place.
        lines: the lines of both sides, each after `-`, `+` or a blank.
    """

    cause: str
    where: str
    lines: Sequence[str]


class PageStep(NamedTuple):
    """A step at which two runs differ, as a page shows it.

    Args:
        where: who asked, and which step it is.
        cause: why it differs.
        follows: whether it differs only because an earlier step does.
        first: whether it is the first divergence.
        a: its position in the first run; 0 if it is not there.
        b: likewise, in the second.
        found: all that differs.
    """

    where: str
    cause: str
    follows: bool
    first: bool
    a: int
    b: int
    found: Sequence[PageDifference]


class PageComparison(NamedTuple):
    """The comparison of two runs, for the head of a page with both.

    Args:
        verdict: one line.
        steps: where they differ.
        alike: how many steps are alike, as a sentence.
    """

    verdict: str
    steps: Sequence[PageStep]
    alike: str


class SectionVerdict(NamedTuple):
    """The reason why a replay is not the recorded run, for the head of a section.

    Args:
        line: the cause first, in one line.
        found: all that differs from the recorded call that comes nearest.
        position: where in the run that was, and where in the recording.
        steps: next steps: what each is for, and its command.
    """

    line: str
    found: Sequence[PageDifference] = ()
    position: str = ""
    steps: Sequence[tuple[str, str]] = ()


@runtime_checkable
class CarriesVerdict(Protocol):
    """An error that a verdict belongs to: the page of a test that fails with it shows the verdict."""

    def section_verdict(self) -> SectionVerdict:
        """The verdict."""


class Section(NamedTuple):
    """One journal on a page.

    Args:
        title: its heading: the name of a run, a scenario, a test.
        records: the journal, as `Journal.read()` or `read_journal(path)` gives it.
        outcome: `passed`, `failed`, `aborted` or any other word; unless given, what `RunFinished` says.
        note: a sentence below the heading, plain text.
        failure: what failed and where, as lines of plain text.
        unused: the rules of the script that were never used, one a line.
        verdict: why a replay is not the recorded run.
    """

    title: str
    records: Sequence[Record]
    outcome: str = ""
    note: str = ""
    failure: str = ""
    unused: str = ""
    verdict: SectionVerdict | None = None
