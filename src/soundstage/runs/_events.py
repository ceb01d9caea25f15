"""Facts about a store, whose log of cleanups is a journal; and about the runs of a runner."""

from __future__ import annotations

from typing import Literal

from soundstage.journal import Event, joined_facts


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


class RunOpened(Event, frozen=True, kw_only=True):
    """A runner begins a run: its id, the target, and for each value of the configuration where it comes from."""

    run: str
    target: str
    sources: dict[str, str]

    def __str__(self) -> str:
        return joined_facts(self.run, self.target)


class AttemptFailed(Event, frozen=True, kw_only=True):
    """An attempt of a run has failed, and the next one begins after `wait` seconds."""

    attempt: int
    error: str
    wait: float = 0.0

    def __str__(self) -> str:
        return joined_facts(f"attempt {self.attempt}", self.error, f"next in {self.wait:g} s")
