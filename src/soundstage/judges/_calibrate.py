"""Calibrate a judge: have it judge what people have judged, twice, with the criteria in both orders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from soundstage.judges._calibration import Calibration, CalibrationFloors, JudgedLabel, calibration_of
from soundstage.judges._errors import JudgmentFailedError
from soundstage.judges._events import JudgmentOutcome
from soundstage.judges._gold import GoldLabels, GoldRun
from soundstage.judges._judge import Judge
from soundstage.judges._rubric import Rubric
from soundstage.messages import Usage

AT_A_TIME: Final = 4


class CalibrationRun(NamedTuple):
    """A calibration, with what it has come to on the way.

    Args:
        calibration: the measurement.
        labels: of each transcript, in the order of the file.
        usage: tokens of all requests.
        costs: US dollars of each verdict; `None` for one that is not known.
    """

    calibration: Calibration
    labels: tuple[JudgedLabel, ...]
    usage: Usage
    costs: tuple[float | None, ...]


async def calibrate(
    judge: Judge,
    gold: GoldLabels,
    *,
    floors: CalibrationFloors | None = None,
    on_label: Callable[[GoldRun, JudgedLabel], None] = lambda *_: None,
) -> CalibrationRun:
    """Measure how far a judge agrees with people, and whether the order of criteria or the length sways it.

    Each transcript is judged twice: once more with the criteria in the opposite order, if there are several. An answer
    that is no verdict is void, and agrees with nobody.

    Args:
        judge: the judge.
        gold: transcripts with the labels of people.
        floors: the bounds within which the judge may decide.
        on_label: told of each transcript when it has been judged.

    Raises:
        ModelError: if the model fails.
    """
    told: list[tuple[Usage, float | None]] = []
    turn = asyncio.Semaphore(AT_A_TIME)

    async def outcome(run: GoldRun, rubric: Rubric) -> JudgmentOutcome:
        try:
            judgment = await judge.ask(run.transcript, rubric)
        except JudgmentFailedError:
            return "void"
        told.append((judgment.usage, judgment.cost.amount))
        return judgment.outcome

    async def label(run: GoldRun) -> JudgedLabel:
        async with turn:
            first = await outcome(run, judge.rubric)
            several = len(judge.rubric.criteria) > 1
            second = await outcome(run, judge.rubric.reversed()) if several else None
            made = JudgedLabel(run.passed, first, second, run.transcript.length)
            on_label(run, made)
            return made

    tasks = [asyncio.create_task(label(run)) for run in gold.runs]
    try:
        labels = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    made = calibration_of(
        labels,
        judge=judge.name,
        fingerprint=judge.fingerprint,
        gold=gold.fingerprint,
        floors=floors or CalibrationFloors(),
    )
    usage = sum((one for one, _ in told), Usage())
    return CalibrationRun(made, tuple(labels), usage, tuple(cost for _, cost in told))
