"""A run that is kept, opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from soundstage.errors import EnvironmentProblem
from soundstage.journal import Record as JournalRecord
from soundstage.journal import read_journal
from soundstage.runs._files import LazyFile
from soundstage.runs._objects import Objects, StoredContents
from soundstage.runs._record import JOURNAL, Bundle, RunRecord, decode_transcripts
from soundstage.runs.result import RunResult, build_result
from soundstage.trace import ToolUse, Trace, build_trace

KEEP: Final = ".keep"
KEEPS: Final = (KEEP, ".vibe-keep")  # that of others means the same


class StoredRun:
    """A run in a store.

    Args:
        path: its folder.
        bundle: its record and references.
        objects: where the content is.

    Example:
        ::

            run = store.open("4f1c")
            print(run.record.outcome, run.trace().usage, run.files["report.html"].text())
    """

    def __init__(self, path: Path, bundle: Bundle, objects: Objects) -> None:
        self.path = path
        self.bundle = bundle
        self.objects = objects
        self.files: Mapping[str, LazyFile] = MappingProxyType(
            {name: LazyFile(name, blob, objects) for name, blob in bundle.files.items()}
        )
        self.contents = StoredContents(objects, bundle.contents)
        self._transcripts = (
            LazyFile("transcripts", bundle.transcripts, objects) if bundle.transcripts else None
        )

    def __repr__(self) -> str:
        return f"<StoredRun {self.path.name}: {self.record.outcome} {self.record.test}>"

    @property
    def record(self) -> RunRecord:
        """The record of the run."""
        return self.bundle.run

    @property
    def kept(self) -> bool:
        """Whether it is marked to be kept, whatever its age: by a file `.keep` or `.vibe-keep` in its folder."""
        return is_kept(self.path)

    @property
    def journal_path(self) -> Path:
        """The file of its journal.

        Raises:
            EnvironmentProblem: if it was saved without.
        """
        if not self.bundle.records:
            raise EnvironmentProblem(
                f"the run {self.record.id} has no journal",
                seen=f"files: {', '.join(self.files) or 'none'}",
                hint="save it with journal=..., or look at its files",
            )
        return self.path / JOURNAL

    def journal(self) -> list[JournalRecord]:
        """The records of its journal; empty if it was saved without."""
        return read_journal(self.path / JOURNAL) if self.bundle.records else []

    def trace(self) -> Trace:
        """The trace of its journal."""
        return build_trace(self.journal())

    def result(self) -> RunResult:
        """The result of the run: files, tool calls, commits, tokens. Content is read when it is needed."""
        return build_result(self.journal(), objects=self.contents)

    def transcripts(self) -> tuple[ToolUse, ...]:
        """Its tool calls; empty if it was saved without."""
        return decode_transcripts(self._transcripts.content()) if self._transcripts else ()


def is_kept(folder: Path) -> bool:
    """Whether the folder of a run has a marker."""
    return any((folder / name).exists() for name in KEEPS)
