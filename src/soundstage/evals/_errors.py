"""Errors of evals: a suite that is wrong, an evaluator that is broken, data that is not there."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.errors import ScriptError, ScriptProblem


class EvalConfigError(ScriptError, ValueError):
    """Raised when a suite is refused. `problems` lists all that is wrong, each with file, line and key."""

    _refused = "suite"

    def __init__(self, problems: Sequence[ScriptProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(
            f"the {self._refused} cannot be used: {count}",
            seen="\n".join(str(problem) for problem in self.problems),
            hint="correct the lines above; docs/evals.md lists every key and every kind of evaluator",
        )


class MatrixError(EvalConfigError):
    """Raised for a matrix that cannot be used: a dimension that is empty or no list, too many combinations."""

    _refused = "matrix"


class EvaluatorError(ScriptError):
    """Raised when an evaluator is broken: it raises, or returns nothing that grades a run."""


class AbsentDataError(ScriptError, LookupError):
    """Raised in an evaluator that asks for data which a run does not have; its grade says why. Also a `LookupError`."""
