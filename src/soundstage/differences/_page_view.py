"""The differences of two runs as the page shows them. Pure."""

from __future__ import annotations

from typing import Final

from soundstage.differences._run_types import RunDiff, StepDiff
from soundstage.differences._types import Difference
from soundstage.report import PageComparison, PageDifference, PageStep

_MOST: Final = 200  # steps on the page


def page_comparison(diff: RunDiff) -> PageComparison:
    """The verdict, then each step that differs, the first divergence in front."""
    first = diff.first
    alike = f"{diff.alike} of {max(diff.steps)} steps are alike. A is the first run, B the second."
    if first is None:
        return PageComparison("same", (), alike)
    steps = [first, *(one for one in diff.found if one is not first)]
    if len(steps) > _MOST:
        alike = f"{len(steps) - _MOST} more steps differ. {alike}"
    shown = tuple(_step(one, first) for one in steps[:_MOST])
    return PageComparison(f"divergence: {first.cause}", shown, alike)


def page_difference(one: Difference) -> PageDifference:
    """A difference as a page shows it: its lines, or both sides in words.

    Args:
        one: what `differences` gave.
    """
    return PageDifference(one.cause, one.where, one.lines or (f"-{one.recorded}", f"+{one.seen}"))


def _step(one: StepDiff, first: StepDiff) -> PageStep:
    return PageStep(
        where=f"{one.lane}{f', step {one.step}' if one.step else ''}",
        cause=one.cause,
        follows=one.follows,
        first=one is first,
        a=one.a,
        b=one.b,
        found=tuple(page_difference(part) for part in (*one.found, *one.reply)),
    )
