"""The evaluator whose answer comes from a judge: a model with a rubric. It decides only when it has been calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals._errors import AbsentDataError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.judges import (
    JudgeSource,
    Judgment,
    JudgmentFailedError,
    judges_of,
    load_rubric,
)
from soundstage.runs import RunResult


class JudgeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rubric, who judges by it, files of the workspace that the judge reads besides, and whether it decides."""

    rubric: str
    script: str | None = None
    tape: str | None = None
    live: str | None = None
    base_url: str = ""
    attach: list[str] = []
    gate: bool = False


def judge(spec: str | JudgeSpec, folder: Path) -> Evaluator:
    """A judge scores the run by a rubric: its file, or `{rubric, script|tape|live, base_url, attach, gate}`. With
    `gate: true` it decides, too, once `soundstage judge calibrate` has found it fit."""
    wanted = JudgeSpec(spec) if isinstance(spec, str) else spec
    rubric = load_rubric(folder / wanted.rubric)
    source = JudgeSource(script=wanted.script, tape=wanted.tape, live=wanted.live, base_url=wanted.base_url)
    make = judges_of(rubric, source, folder)
    if wanted.gate:
        _ = make().calibration  # says what is missing before anything starts

    async def evaluate(run: EvalRun) -> Grade:
        attachments = {name: _attached(run, name) for name in wanted.attach}
        try:
            judgment = await make().judge(_judged(run), attachments=attachments, journal=run.journal)
        except JudgmentFailedError as error:
            return Grade(label="void", reason=f"{error.summary}: {error.seen}", absent=wanted.gate)
        return _grade(judgment, gate=wanted.gate)

    vars(evaluate).update(made_of=f" {make().fingerprint}", judge=wanted)  # of rubric, prompt and model
    return evaluate


def judges_in(evaluator: Evaluator) -> Iterator[JudgeSpec]:
    """The judges in an evaluator, and in those that it is made of."""
    if (own := getattr(evaluator, "judge", None)) is not None:
        yield own
    for part in getattr(evaluator, "parts", ()):
        yield from judges_in(part)


def require_gates(evaluator: Evaluator, place: str) -> None:
    """Refuse judges that may not decide where they would: what others make of their scores is a decision.

    Raises:
        WrongValueError: for a judge without a gate.
    """
    for one in judges_in(evaluator):
        if not one.gate:
            raise WrongValueError(
                f"{place} makes the judge of {one.rubric} decide",
                expected="a judge that may: `gate: true`, once `soundstage judge calibrate` has found it fit",
                seen="a judge without a gate",
                hint="put it beside: a judge without a gate gives score and label",
            )


def _judged(run: EvalRun) -> RunResult:
    """The run, with the answer that a transform has made, if one has."""
    return run.result if run.value is None else msgspec.structs.replace(run.result, output=run.output)


def _grade(judgment: Judgment, *, gate: bool) -> Grade:
    """A verdict that does not hold says nothing about the run: it is absent, and a run without it does not pass."""
    void = judgment.outcome == "void"
    return Grade(
        passed=judgment.passed if gate and not void else None,
        score=judgment.score,
        label=judgment.outcome,
        reason="; ".join(judgment.reasons) or judgment.reasoning,
        absent=gate and void,
    )


def _attached(run: EvalRun, name: str) -> str:
    folder = run.folder.resolve() if run.folder is not None else None
    path = (folder / name).resolve() if folder is not None else None
    if folder is None or path is None or not (path.is_file() and path.is_relative_to(folder)):
        raise AbsentDataError(f"the workspace has no file {name} to show to the judge")
    return path.read_text("utf-8", errors="replace")
