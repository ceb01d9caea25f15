"""The files that a run changed: one entry a path, from the first state to the last. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from soundstage.journal import FileChanged
from soundstage.runs._files import ContentSource, LazyFile
from soundstage.runs.result._types import FileEntry


def files_of(changes: Iterable[FileChanged], source: ContentSource | None) -> tuple[FileEntry, ...]:
    """An entry for each path, in the order of first changes. A file that is as it was, or that came and went, has none.

    Args:
        changes: in order.
        source: has the content; without it no entry has any.
    """
    by_path: defaultdict[str, list[FileChanged]] = defaultdict(list)
    for event in changes:
        by_path[event.path].append(event)
    found = (_entry(path, events, source) for path, events in by_path.items())
    return tuple(entry for entry in found if entry is not None)


def _entry(path: str, events: Sequence[FileChanged], source: ContentSource | None) -> FileEntry | None:
    first, last = events[0], events[-1]
    kind = _kind(was=first.change != "added", stays=last.change != "deleted")
    if kind is None or (kind == "modified" and first.before == last.after and first.before is not None):
        return None
    return FileEntry(
        path=path,
        change=kind,
        before=_file(path, first.before, source),
        after=_file(path, last.after, source),
        patches=tuple(event.patch for event in events if event.patch),
        changes=len(events),
    )


def _kind(*, was: bool, stays: bool) -> Literal["added", "modified", "deleted"] | None:
    if was:
        return "modified" if stays else "deleted"
    return "added" if stays else None


def _file(path: str, sha256: str | None, source: ContentSource | None) -> LazyFile | None:
    blob = source.find(sha256) if source is not None and sha256 is not None else None
    return LazyFile(path, blob, source) if blob is not None and source is not None else None


def unknown_contents(changes: Iterable[FileChanged], source: ContentSource) -> tuple[str, ...]:
    """Warnings of content that was not kept, such as that of large files; one for each path.

    Args:
        changes: in order.
        source: should have the content.
    """
    lost = [
        event.path
        for event in changes
        for sha256 in (event.before, event.after)
        if sha256 is not None and source.find(sha256) is None
    ]
    return tuple(f"the content of {path} was not kept" for path in dict.fromkeys(lost))
