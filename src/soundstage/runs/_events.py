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


class RunClosed(Event, frozen=True, kw_only=True):
    """A run is over: the last word of its runner, which the watchers do not see.

    `output` is the answer of the target, `reason` why it has failed. `warnings` are what is to be known besides.
    """

    run: str
    outcome: Literal["answered", "failed", "aborted"]
    output: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return joined_facts(self.run, self.outcome, self.reason)
