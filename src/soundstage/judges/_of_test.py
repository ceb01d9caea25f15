"""The judge of a pytest test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundstage.host import Setup
from soundstage.judges._judge import Judge
from soundstage.judges._judgment import Judgment
from soundstage.judges._rubric import Rubric
from soundstage.judges._verdict import RubricVerdict
from soundstage.models import Model
from soundstage.runs.result import build_result


class JudgeOfTest:
    """Judges in a test.

    Args:
        stage: of the test.
    """

    def __init__(self, stage: Setup) -> None:
        self._stage = stage

    async def __call__(
        self,
        rubric: Rubric,
        run: Any = None,
        *,
        model: Model | None = None,
        verdict: Any = RubricVerdict,
        attachments: Mapping[str, str] | None = None,
        throw_on_fail: bool = False,
    ) -> Judgment:
        """Judge a run; see `Judge.judge`.

        Args:
            rubric: what is judged.
            run: a result, a trace or a text; all that has happened in the test unless given.
            model: who judges; the test's model unless given, whose script has rules with `purpose="judge"`.
            verdict: the type of the verdict.
            attachments: further texts, by name.
            throw_on_fail: raise unless the run passes; for calibrated judges.
        """
        journal = self._stage.journal
        if run is None:
            run = build_result(journal.read(), objects=journal.contents)
        judge = Judge(rubric, model if model is not None else self._stage.answers, verdict=verdict)
        return await judge.judge(run, attachments=attachments, journal=journal, throw_on_fail=throw_on_fail)
