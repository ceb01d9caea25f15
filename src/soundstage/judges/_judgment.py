"""From a verdict to a judgment: whether its quotes stand, its scores by the rubric, and the outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from soundstage.judges._events import JudgmentOutcome
from soundstage.judges._rubric import Rubric
from soundstage.judges._transcript import JudgedTranscript
from soundstage.judges._verdict import RubricVerdict, evidence_of, field_of, scores_of
from soundstage.match import preview
from soundstage.messages import Usage
from soundstage.trace import Cost


class Judgment(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a judge about a run.

    Args:
        rubric: its name.
        judge: the model that judged.
        outcome: `passed`, `failed`, or `void` if the verdict does not hold: a quote of it stands nowhere.
        score: by the weights of the rubric, from 0 to 1; the verdict's own where it has no criteria.
        criteria: the score of each criterion.
        evidence: the quotes, in order.
        reasons: why the outcome is not `passed`, each in a line.
        verdict: what the model said, in the type that was asked for.
        usage: tokens of the judge; those of the agent are not among them.
        cost: US dollars of the judge, with the reason if they are not known.
        fingerprint: of rubric, prompt and model.
    """

    rubric: str
    judge: str
    outcome: JudgmentOutcome
    score: float | None = None
    criteria: Mapping[str, float] = {}
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    verdict: Any = None
    usage: Usage = Usage()
    cost: Cost = Cost(amount=0.0)
    fingerprint: str = ""

    @property
    def passed(self) -> bool:
        """Whether the run passes. A verdict that does not hold passes nothing."""
        return self.outcome == "passed"

    @property
    def reasoning(self) -> str:
        """The judge's words; empty if its verdicts have no field `reasoning`."""
        return str(field_of(self.verdict, "reasoning") or "")

    def __str__(self) -> str:
        score = "" if self.score is None else f", score {self.score:.2f}"
        reasons = f": {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{self.rubric}: {self.outcome}{score}{reasons}"


def judgment_of(verdict: Any, rubric: Rubric, transcript: JudgedTranscript, **facts: Any) -> Judgment:
    """Hold a verdict against the rubric and the transcript.

    Args:
        verdict: of the judge.
        rubric: whose thresholds decide.
        transcript: in which every quote has to stand.
        **facts: further fields of the judgment.
    """
    scores = scores_of(verdict, rubric)
    score = rubric.score(scores) if scores else field_of(verdict, "score")
    quotes = tuple(evidence_of(verdict))
    void = tuple(_void(verdict, rubric, transcript, scores, quotes))
    failed = tuple(_failed(verdict, rubric, scores, score))
    return Judgment(
        rubric=rubric.name,
        outcome="void" if void else "failed" if failed else "passed",
        score=None if score is None else round(float(score), 9),
        criteria=scores,
        evidence=tuple(quote for _, quote in quotes),
        reasons=void + failed,
        verdict=verdict,
        **facts,
    )


def _void(
    verdict: Any,
    rubric: Rubric,
    transcript: JudgedTranscript,
    scores: Mapping[str, float],
    quotes: tuple[tuple[str, str], ...],
) -> Iterator[str]:
    """Why a verdict does not hold."""
    for key, quote in quotes:
        if not transcript.has(quote):
            place = f"{key}: " if key else ""
            yield f"{place}the quote {preview(quote)} does not stand in the transcript"
    if isinstance(verdict, RubricVerdict):
        quoted = {key for key, _ in quotes}
        for one in rubric.criteria:
            if scores[one.id] > 0 and scores[one.id] >= one.threshold and one.id not in quoted:
                yield f"{one.id}: met, but without a quote"


def _failed(verdict: Any, rubric: Rubric, scores: Mapping[str, float], score: Any) -> Iterator[str]:
    """Why a run does not pass. The thresholds decide; a judge that says otherwise does not make it pass."""
    for one in rubric.criteria:
        if scores and scores[one.id] < one.threshold:
            yield f"{one.id}: {scores[one.id]:.2f} is below {one.threshold:g}"
    if score is not None and round(score - rubric.pass_threshold, 9) < 0:
        yield f"the score {score:.2f} is below {rubric.pass_threshold:g}"
    if not field_of(verdict, "passed"):
        yield "the judge says that it does not pass"
