"""Cases, the run of a case as an evaluator sees it, and grades."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from soundstage.errors import WrongTypeError
from soundstage.evals._agents import EvalAgent
from soundstage.evals._errors import AbsentDataError, EvaluatorError
from soundstage.evals._events import Grade
from soundstage.journal import Journal
from soundstage.models import Model
from soundstage.runs import RunResult
from soundstage.trace import Finding, Trace, build_trace


class EvalRun(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run of one case, for evaluators.

    Args:
        case: the case.
        result: what the run has come to.
        find_folder: gives the workspace, which is made when somebody first asks for it; `None` if the run has none.
        journal: of the run, for what an evaluator has to tell besides its grade; `None` if it is closed.
        value: the answer as a transform has made it, in the place of the agent's: a text, or data.
    """

    case: Case
    result: RunResult
    find_folder: Callable[[], Path] | None = None
    journal: Journal | None = None
    value: Any = None

    @property
    def folder(self) -> Path | None:
        """The workspace, as the agent left it; `None` if the run has none."""
        return None if self.find_folder is None else self.find_folder()

    @property
    def output(self) -> str:
        """The answer of the agent; data that a transform has made, as JSON."""
        if self.value is None:
            return self.result.output
        return self.value if isinstance(self.value, str) else msgspec.json.encode(self.value).decode()

    @cached_property
    def trace(self) -> Trace:
        """The trace of the run, for `soundstage.trace`'s checks."""
        return build_trace(self.result.timeline)

    @property
    def cost(self) -> float:
        """US dollars; nothing, if no model was asked.

        Raises:
            AbsentDataError: if it is not known; the message says why.
        """
        cost = self.result.cost
        if cost is None:
            return 0.0
        if cost.amount is None:
            raise AbsentDataError(f"the cost is not known: {cost.reason}")
        return cost.amount


Graded = bool | float | str | Finding | Grade
"""The answer of an evaluator: pass or not, a score, a label, a finding of the trace, or all in a grade."""
Evaluator = Callable[[EvalRun], Graded | Awaitable[Graded]]
"""A function of a run."""


class NamedEvaluator(NamedTuple):
    """An evaluator, how reports call it, and the whole of what it was made of, by which two suites are compared."""

    name: str
    evaluate: Evaluator
    source: str = ""


class EvalTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a case with several.

    Args:
        input: the user's words.
        expect: evaluators of this turn alone: of its answer, its tools, its cost.
    """

    input: str
    expect: tuple[NamedEvaluator, ...] = ()


class Combination(msgspec.Struct, frozen=True, kw_only=True):
    """The combination of a matrix that a case is run in, and what is another one in it; see `combine`.

    Args:
        case: the name of the case without it.
        labels: by dimension.
        agent: who answers.
        model: makes the model of a run.
        workspace: the folder of which each run has a copy; that of the suite unless given.
    """

    case: str = ""
    labels: Mapping[str, str]
    agent: EvalAgent
    model: Callable[[], Model]
    workspace: Path | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to try: an input, or several turns, and what is expected of the run.

    Args:
        name: another one for each case of a suite.
        input: the prompt; empty if there are turns.
        turns: of one conversation, in order. The answer of the run is that of the last one.
        expected: the right answer, for evaluators that compare with one.
        files: texts by path, in the workspace before the run.
        metadata: whatever else evaluators want to know.
        expect: evaluators, besides those of the suite.
        repeat: runs; those of the suite unless given.
        pass_rate: the share of runs that has to pass; that of the suite unless given.
        agent: who answers; that of the suite unless given.
        model: makes the model that the agent asks; that of the suite unless given.
        combination: of a matrix; `None` without one.
    """

    name: str
    input: str = ""
    turns: tuple[EvalTurn, ...] = ()
    expected: Any = None
    files: Mapping[str, str] = {}
    metadata: Mapping[str, Any] = {}
    expect: tuple[NamedEvaluator, ...] = ()
    repeat: int | None = None
    pass_rate: float | None = None
    agent: EvalAgent | None = None
    model: Callable[[], Model] | None = None
    combination: Combination | None = None

    @property
    def base(self) -> str:
        """Its name without the combination."""
        return self.name if self.combination is None else self.combination.case

    @property
    def conversation(self) -> tuple[EvalTurn, ...]:
        """Its turns; an input is one."""
        return self.turns or (EvalTurn(input=self.input),)


async def grade(evaluator: NamedEvaluator, run: EvalRun) -> Grade:
    """Ask an evaluator about a run. One that fails is data; one that is broken is an error.

    Raises:
        EvaluatorError: if it raises, or returns something else; the message names it and the case.
    """
    try:
        answer = evaluator.evaluate(run)
        if inspect.isawaitable(answer):
            answer = await answer
        return _as_grade(answer, evaluator.name)
    except AbsentDataError as error:
        return Grade(evaluator=evaluator.name, absent=True, reason=error.summary)
    except Exception as error:
        raise EvaluatorError(
            f"the evaluator {evaluator.name!r} is broken, at the case {run.case.name!r}",
            expected="pass or not (a bool), a score, a label, a Finding or a Grade",
            seen=f"{type(error).__name__}: {error}",
            hint="an evaluator returns what it thinks of a run; AbsentDataError says that data is not there",
        ) from error


def _as_grade(answer: object, name: str) -> Grade:
    if isinstance(answer, Grade):
        return msgspec.structs.replace(answer, evaluator=answer.evaluator or name)
    if isinstance(answer, Finding):
        seen = f"; seen: {answer.seen}" if answer.seen and not answer.passed else ""
        return Grade(evaluator=name, passed=answer.passed, reason=answer.message + seen)
    if isinstance(answer, bool):
        return Grade(evaluator=name, passed=answer, reason="" if answer else f"{name} does not hold")
    if isinstance(answer, int | float) and math.isfinite(answer):
        return Grade(evaluator=name, score=float(answer))
    if isinstance(answer, str) and answer:
        return Grade(evaluator=name, label=answer)
    raise WrongTypeError(f"it returned {answer!r}")
