"""Errors of judges: a rubric or labels that are wrong, no verdict, a judge that may not decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundstage.errors import ExpectationError, ScriptError, ScriptProblem


class RubricError(ScriptError, ValueError):
    """Raised when a rubric is refused. `problems` lists all that is wrong, each with the path of its field."""

    def __init__(self, problems: Sequence[ScriptProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"the rubric cannot be used: {_count(self.problems)}",
            seen="\n".join(map(str, self.problems)),
            hint="correct the lines above; `soundstage judge schema` prints every key of a rubric",
        )


class GoldError(ScriptError, ValueError):
    """Raised when labels of people cannot be used. `problems` lists all that is wrong, each with its line."""

    def __init__(self, problems: Sequence[ScriptProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"these labels cannot be used: {_count(self.problems)}",
            seen="\n".join(map(str, self.problems)),
            hint='each line is one transcript with the label of a person: {"transcript": "...", "passed": true}',
        )


class CalibrationError(ScriptError):
    """Raised when a judge is to decide that has not been calibrated, or was found too weak; it names the command."""


class JudgmentFailedError(ExpectationError):
    """Raised when a model gives no verdict, or when a verdict that is to decide is not `passed`.

    Attributes:
        judgment: the `Judgment`; `None` if the answer was no verdict.
        answer: the text that the model gave.
    """

    def __init__(
        self,
        summary: str,
        *,
        judgment: Any = None,
        answer: str = "",
        expected: str = "",
        seen: str = "",
        hint: str = "",
    ) -> None:
        self.judgment = judgment
        self.answer = answer
        super().__init__(summary, expected=expected, seen=seen, hint=hint)


def _count(problems: Sequence[ScriptProblem]) -> str:
    return f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
