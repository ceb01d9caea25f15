"""Texts for the agents of the sweeps, and readers of their tables."""

from __future__ import annotations

ANSWER = "It is noted: milk and eggs, café crème too."
NOTE = "milk and eggs, please"


def verdicts(sweep):
    """The verdict of each case."""
    return {row.case: row.verdict for row in sweep.rows}


def row(sweep, case):
    """The row of a case."""
    return next(row for row in sweep.rows if row.case == case)
