"""Facts about evals: the grades of a run."""

from __future__ import annotations

import msgspec

from soundstage.journal import Event


class GradePart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of one of several evaluators that make a grade together; see `Grade`.

    Args:
        holds: whether it would let the run pass.
        score: from 0 to 1, or what code has said.
        weight: in the mean; 0 for one that decides nothing.
    """

    evaluator: str
    holds: bool
    score: float
    weight: float = 1.0
    reason: str = ""


class Grade(Event, frozen=True, kw_only=True):
    """The answer of one evaluator about one run: pass, score or label, with the reason. It stands in the run's journal.

    Args:
        evaluator: its name.
        passed: whether the run passes; `None` for a score or a label that decides nothing, and for absent data.
        score: a number, where the evaluator gives one.
        label: a word, where it gives one.
        reason: why, in a line or two.
        absent: whether the run does not have the data; it does not pass then.
        parts: what it is made of; behind a part that has parts itself come those.
    """

    evaluator: str = ""
    passed: bool | None = None
    score: float | None = None
    label: str = ""
    reason: str = ""
    absent: bool = False
    parts: tuple[GradePart, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the run passes as far as this evaluator is concerned."""
        return self.passed is not False and not self.absent
