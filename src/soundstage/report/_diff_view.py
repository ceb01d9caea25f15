"""The differences of two runs, and the verdict on a replay, as the values of the page's template. Pure."""

from __future__ import annotations

from typing import Any, Final

from soundstage.differences import Difference
from soundstage.report._section import SectionVerdict
from soundstage.trace import RunDiff, StepDiff

_MOST: Final = 200  # steps on the page


def diff_view(diff: RunDiff) -> dict[str, Any]:
    """The values of the template: the verdict, then each step that differs, the first divergence in front."""
    first = diff.first
    alike = f"{diff.alike} of {max(diff.steps)} steps are alike. A is the first run, B the second."
    if first is None:
        return {"verdict": "same", "steps": [], "alike": alike}
    steps = [first, *(one for one in diff.found if one is not first)]
    if len(steps) > _MOST:
        alike = f"{len(steps) - _MOST} more steps differ. {alike}"
    return {
        "verdict": f"divergence: {first.cause}",
        "steps": [_step(one, first) for one in steps[:_MOST]],
        "alike": alike,
    }


def verdict_view(verdict: SectionVerdict) -> dict[str, Any]:
    """The values of the template for the verdict on a replay."""
    found = [_difference(one) for one in verdict.found[:_MOST]]
    more = len(verdict.found) - len(found)
    return {**verdict._asdict(), "found": found, "more": f"and {more} more" if more else ""}


def _step(one: StepDiff, first: StepDiff) -> dict[str, Any]:
    return {
        "where": f"{one.lane}{f', step {one.step}' if one.step else ''}",
        "cause": one.cause,
        "follows": one.follows,
        "first": one is first,
        "a": one.a,
        "b": one.b,
        "found": [_difference(part) for part in (*one.found, *one.reply)],
    }


def _difference(one: Difference) -> dict[str, Any]:
    lines = one.lines or (f"-{one.recorded}", f"+{one.seen}")
    return {"cause": one.cause, "where": one.where, "lines": lines}
