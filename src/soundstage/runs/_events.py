"""Facts about a store: the log of its cleanups, a journal."""

from __future__ import annotations

from typing import Literal

from soundstage.journal import Event


class RunRemoved(Event, frozen=True, kw_only=True):
    """A run was removed from a store: it was too old, or the disk was too full."""

    run: str
    folder: str
    reason: Literal["age", "space"]


class ContentRemoved(Event, frozen=True, kw_only=True):
    """Content that no run refers to any more was removed: so many files, so many bytes."""

    files: int
    size: int


class IndexRebuilt(Event, frozen=True, kw_only=True):
    """The index of a store was made anew out of the folders of its runs. `reason` says why."""

    runs: int
    reason: str = ""
