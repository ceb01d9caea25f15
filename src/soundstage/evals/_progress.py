"""Progress of an eval: a line for each run, and on a terminal one below them that is kept up to date."""

from __future__ import annotations

import sys
from typing import TextIO

from soundstage.clock import Clock, SystemClock
from soundstage.evals._report import ScoredRun
from soundstage.runs import CostReporter
from soundstage.trace import Cost

_SOME = 0.1  # seconds between two updates of the line
_CLEAR = "\r\x1b[K"


class EvalProgress:
    """Tells of runs while they come.

    On a terminal, runs that passed are counted in one line, which is written over; others have lines of their own.
    Elsewhere each run has a line.

    Args:
        file: where it is told; standard error unless given.
        budget: US dollars that the eval may cost; a warning is told before it is over.
        clock: for the rate; the machine's unless given.
    """

    def __init__(
        self, *, file: TextIO | None = None, budget: float | None = None, clock: Clock | None = None
    ) -> None:
        self.planned = self.kept = self._done = self._before = 0
        self._file = file if file is not None else sys.stderr
        self._updates = self._file.isatty()
        self._now = (clock or SystemClock()).now
        self._began, self._shown = self._now(), float("-inf")
        self._costs = CostReporter(budget=budget, file=self._file, lines=False)

    def begin(self, kept: int, planned: int) -> None:
        """Take note of runs that are there already, and of those that there are to be."""
        self.kept = self._before = self._done = kept
        self.planned, self._began = planned, self._now()

    def tell(self, run: ScoredRun) -> None:
        """Tell of one run."""
        self.kept += run.outcome != "error"
        self._done += 1
        if run.outcome != "error":
            if self._updates and run.cost is None:
                self._write(_CLEAR)
            reason = run.unpriced or "nobody has counted"
            self._costs.on_cost_update(
                run.run, Cost(amount=run.cost, reason="" if run.cost is not None else reason)
            )
        reason = f": {run.reason}" if run.reason else ""
        line = f"[{self.kept}/{self.planned}] {run.case} run {run.number}: {run.outcome}{reason}"
        if not self._updates:
            self._write(f"soundstage: {line.splitlines()[0]}\n")
            return
        if run.outcome != "passed":
            self._write(_CLEAR + line.splitlines()[0] + "\n")
        if self._now() - self._shown >= _SOME or self._done == self.planned or run.outcome != "passed":
            self._shown = self._now()
            self._write(_CLEAR + self.line())

    def line(self) -> str:
        """Runs that are done, their rate, their cost, and the time that is left at this rate."""
        taken = self._now() - self._began
        rate = (self._done - self._before) / taken if taken > 0 else 0.0
        left = f"{_clock((self.planned - self._done) / rate)} left" if rate else "time left not known"
        return f"[{self.kept}/{self.planned}] {60 * rate:.1f} runs/min, {self._costs.line}, {left}"

    def end(self) -> None:
        """Take the line away."""
        if self._updates:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def _clock(seconds: float) -> str:
    """A time as `1:02:03` or `2:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
