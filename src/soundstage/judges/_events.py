"""Facts about judges: each judgment stands in the journal of the run, with its own tokens and cost."""

from __future__ import annotations

from typing import Literal

import msgspec

from soundstage.journal import Event, joined_facts
from soundstage.messages import Usage

JudgmentOutcome = Literal["passed", "failed", "void"]


class RunJudged(Event, frozen=True, kw_only=True):
    """A judge has judged the run.

    Args:
        rubric: its name.
        judge: the model that judged.
        outcome: `void` for a verdict that does not hold, or none at all.
        score: by the weights of the rubric; `None` for a verdict without scores.
        criteria: the score of each criterion.
        evidence: the quotes, in order.
        reasons: why the outcome is not `passed`.
        reasoning: the judge's words.
        usage: tokens of the judge.
        cost: US dollars of the judge; `None` if not known.
        fingerprint: of rubric, prompt and model.
    """

    rubric: str
    judge: str
    outcome: JudgmentOutcome
    score: float | None = None
    criteria: dict[str, float] = msgspec.field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    reasoning: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    fingerprint: str = ""

    def __str__(self) -> str:
        score = "" if self.score is None else f"score {self.score:.2f}"
        return joined_facts(self.rubric, self.judge, self.outcome, score, "; ".join(self.reasons))
