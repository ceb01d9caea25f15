"""The result of a run: a view of its journal. Frozen records."""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from soundstage.journal import Committed, Notified, Record, Todo, patch
from soundstage.messages import Usage
from soundstage.runs._files import LazyFile
from soundstage.trace import Cost, ToolUse

ResultStatus = Literal["idle", "complete", "partial", "failed"]
RESULT_STATUSES: Final = get_args(ResultStatus)


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a run changed, once, whatever the number of changes.

    Args:
        path: below the workspace, with `/` between folders.
        change: from the begin of the run to its end.
        before: the content that it had at the begin; `None` if it was not there, or nobody kept it.
        after: the content that it has now; `None` if it is gone, or nobody kept it.
        patches: the unified diff of each change, in order; without those of content that is not text.
        changes: how often it changed.
    """

    path: str
    change: Literal["added", "modified", "deleted"]
    before: LazyFile | None = None
    after: LazyFile | None = None
    patches: tuple[str, ...] = ()
    changes: int = 1

    @property
    def patch(self) -> str:
        """The difference as a unified diff; empty for content that is not text.

        That of a file that changed several times is made of its first and last content, which are read then.

        Raises:
            ContentNotFoundError: if that content is not there any more.
            DamagedContentError: if it is not what was saved.
        """
        if self.changes == 1:
            return self.patches[0] if self.patches else ""
        unknown = (self.before is None and self.change != "added") or (
            self.after is None and self.change != "deleted"
        )
        if unknown:
            return "".join(self.patches)
        return patch(self.path, *(file.content() if file else None for file in (self.before, self.after)))


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run has come to. `build_result` reads it out of a journal.

    Args:
        id: of the run.
        status: `idle` while nothing has happened; `complete`; `partial`, if it was cut off or facts are missing;
            `failed`, if it came to nothing.
        reasons: why it is not `complete`, each in a line.
        missing: ids of hooks and tool calls whose end, or begin, is missing.
        warnings: what is to be known besides.
        files: what it changed, one entry for each path, in the order of first changes.
        tools: its tool calls, in the order in which they were asked for.
        timeline: the records that it is a view of, in order.
        commits: what it committed, oldest first.
        notifications: what it told its user beside the answer.
        todos: its last to-do list.
        usage: tokens of all replies.
        cost: dollars, with the reason if they are not known; `None` if nobody asked a model.
        abort: why it was ended before its time: `timeout`, `budget`, `watcher`...; empty if it was not.
        output: the last text that it said.
        started: seconds on the run's clock; `None` if nothing has happened.
        ended: the same, of the last record.

    Example:
        ::

            result = build_result(journal.read())
            assert result.status == "complete", result.reasons
            assert [file.path for file in result.files] == ["src/app.py"]
    """

    id: str = ""
    status: ResultStatus = "idle"
    reasons: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    files: tuple[FileEntry, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    timeline: tuple[Record, ...] = ()
    commits: tuple[Committed, ...] = ()
    notifications: tuple[Notified, ...] = ()
    todos: tuple[Todo, ...] = ()
    usage: Usage = Usage()
    cost: Cost | None = None
    abort: str = ""
    output: str = ""
    started: float | None = None
    ended: float | None = None

    @property
    def duration(self) -> float:
        """Seconds between the first and the last record."""
        return 0.0 if self.started is None or self.ended is None else self.ended - self.started

    @property
    def positions(self) -> tuple[int, int]:
        """The first and the last position in the journal; (0, 0) without records."""
        return (self.timeline[0].position, self.timeline[-1].position) if self.timeline else (0, 0)
