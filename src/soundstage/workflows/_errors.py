"""Errors of workflows. The cause of each is what was raised in the stage or body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soundstage.errors import InvalidStateError, SoundstageError

if TYPE_CHECKING:
    from soundstage.workflows._result import WorkflowResult


class WorkflowFailedError(SoundstageError):
    """Raised when a stage, or the body of a test with a context, fails. `__cause__` is what was raised there.

    Attributes:
        title: of the test; empty outside of one.
        stage: the stage that failed; empty if the body did.
        partial_result: all that there is.
    """

    def __init__(self, title: str, stage: str, partial_result: WorkflowResult) -> None:
        self.title = title
        self.stage = stage
        self.partial_result = partial_result
        place = f"the stage {stage!r}" if stage else "the body"
        of = f" of {title}" if title else ""
        left = ", ".join(one.name for one in partial_result.stages if one.status == "skipped")
        super().__init__(
            f"{place}{of} failed",
            seen=partial_result.error,
            hint=f"these were not run: {left}" if left and stage else "",
        )


class StageOverlapError(InvalidStateError, RuntimeError):
    """Raised when a stage or a run begins while another one of its context is under way. Also a `RuntimeError`."""


class NoRunError(InvalidStateError, RuntimeError):
    """Raised when a run is to be judged before anything has run. Also a `RuntimeError`."""
