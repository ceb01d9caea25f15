"""Votes of several judges about one run, and how far they agree."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from soundstage.agreement import krippendorff_alpha
from soundstage.errors import WrongValueError
from soundstage.journal import Journal
from soundstage.judges._errors import JudgmentFailedError
from soundstage.judges._judge import Judge
from soundstage.judges._judgment import Judgment


class PanelJudgment(msgspec.Struct, frozen=True, kw_only=True):
    """The votes of several judges about one run.

    Args:
        passed: whether the run passes.
        votes: in the order of the judges; `None` for one that gave no verdict.
        problems: why there is no verdict, of each that gave none.
        score: mean of the scores that there are; `None` without any.
    """

    passed: bool
    votes: tuple[Judgment | None, ...]
    problems: tuple[str, ...] = ()
    score: float | None = None

    @property
    def alpha(self) -> float | None:
        """Krippendorff's alpha of the scores of the criteria; `None` if they do not vary."""
        keys = dict.fromkeys(key for vote in self.votes if vote is not None for key in vote.criteria)
        units = [[None if vote is None else vote.criteria.get(key) for vote in self.votes] for key in keys]
        return krippendorff_alpha(units, "interval")


class Panel:
    """Several judges, each with its own model or rubric.

    Args:
        judges: at least two.
        by: `majority`: more than half of all judges let the run pass; one that gives no verdict does not. `mean`: the
            mean score is at least the pass threshold, of the first judge's rubric.

    Raises:
        WrongValueError: for less than two judges.

    Example:
        ::

            panel = Panel([Judge(rubric, first), Judge(rubric, second), Judge(rubric, third)])
            judgment = await panel.judge(result)
            print(judgment.passed, judgment.alpha)
    """

    def __init__(self, judges: Sequence[Judge], *, by: Literal["majority", "mean"] = "majority") -> None:
        if len(judges) < 2 or by not in ("majority", "mean"):
            seen = f"{len(judges)} judges, by {by!r}"
            raise WrongValueError("a panel has several judges", expected="by majority, or by mean", seen=seen)
        self.judges = tuple(judges)
        self.by = by

    async def judge(
        self,
        run: Any,
        *,
        attachments: Mapping[str, str] | None = None,
        journal: Journal | None = None,
        throw_on_fail: bool = False,
    ) -> PanelJudgment:
        """Have all judges judge a run; see `Judge.judge`.

        Raises:
            JudgmentFailedError: if no judge gives a verdict; and with `throw_on_fail` if the run does not pass.
            CalibrationError: with `throw_on_fail`, if one of them has no calibration that fits.
        """
        if throw_on_fail:
            for judge in self.judges:
                _ = judge.calibration
        found = await asyncio.gather(
            *(one.judge(run, attachments=attachments, journal=journal) for one in self.judges),
            return_exceptions=True,
        )
        failures = [one for one in found if isinstance(one, BaseException)]
        other = next((one for one in failures if not isinstance(one, JudgmentFailedError)), None)
        if other is not None:
            raise other
        if len(failures) == len(found):
            raise failures[0]
        votes = tuple(one if isinstance(one, Judgment) else None for one in found)
        made = self._counted(votes, [str(one).partition("\n")[0] for one in failures])
        if throw_on_fail and not made.passed:
            reasons = [str(vote) for vote in votes if vote is not None]
            raise JudgmentFailedError(
                "the run does not pass by the votes of its judges", seen="\n".join([*reasons, *made.problems])
            )
        return made

    def _counted(self, votes: tuple[Judgment | None, ...], problems: Sequence[str]) -> PanelJudgment:
        scores = [
            vote.score
            for vote in votes
            if vote is not None and vote.outcome != "void" and vote.score is not None
        ]
        score = sum(scores) / len(scores) if scores else None
        if self.by == "mean":
            passed = score is not None and round(score - self.judges[0].rubric.pass_threshold, 9) >= 0
        else:
            passed = 2 * sum(vote is not None and vote.passed for vote in votes) > len(votes)
        return PanelJudgment(passed=passed, votes=votes, problems=tuple(problems), score=score)


def panel_alpha(judgments: Iterable[PanelJudgment]) -> float | None:
    """The agreement of a panel over several runs: Krippendorff's alpha of the outcomes; `None` if they do not vary.

    A void verdict, and none at all, is a missing value.

    Args:
        judgments: of one panel, one for each run.
    """
    return krippendorff_alpha(
        [None if vote is None or vote.outcome == "void" else vote.outcome for vote in one.votes]
        for one in judgments
    )
