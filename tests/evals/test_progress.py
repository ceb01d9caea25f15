"""Progress: a line for each run, or one on a terminal that is kept up to date."""

from __future__ import annotations

import io
import itertools

from soundstage.clock import VirtualClock
from soundstage.evals import ScoredRun
from soundstage.evals._progress import EvalProgress

IDS = itertools.count(1)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress(file, planned=10, kept=0, budget=None):
    clock = VirtualClock()
    made = EvalProgress(file=file, budget=budget, clock=clock)
    made.begin(kept, planned)
    return made, clock


def one(outcome="passed", cost=0.01, **fields):
    """Each with an id of its own."""
    number = {"case": "paris", "number": 1, "run": f"run {next(IDS)}"}
    return ScoredRun(**{**number, "outcome": outcome, "cost": cost, **fields})


def test_where_nothing_can_be_written_over_each_run_has_a_line():
    file = io.StringIO()
    made, _ = progress(file)
    made.tell(one())
    made.tell(one("failed", number=2, reason="first line\nsecond"))
    made.tell(one("error", number=3, reason="broken"))
    made.end()
    assert file.getvalue().splitlines() == [
        "soundstage: [1/10] paris run 1: passed",
        "soundstage: [2/10] paris run 2: failed: first line",
        "soundstage: [2/10] paris run 3: error: broken",
    ]


def test_a_terminal_has_one_line_with_rate_cost_and_the_time_that_is_left():
    file = Terminal()
    made, clock = progress(file)
    for _ in range(2):
        clock.advance(30)
        made.tell(one())
    assert file.getvalue().rpartition("\x1b[K")[2] == "[2/10] 2.0 runs/min, cost: $0.02, 4:00 left"
    assert "\n" not in file.getvalue()
    made.tell(one("failed", reason="no"))
    assert "[3/10] paris run 1: failed: no\n" in file.getvalue()
    made.end()
    assert file.getvalue().endswith("\r\x1b[K")


def test_runs_that_were_there_before_count_as_kept_and_not_for_the_rate():
    made, clock = progress(Terminal(), planned=100, kept=90)
    clock.advance(2)
    made.tell(one())
    assert made.line() == "[91/100] 30.0 runs/min, cost: $0.01, 0:18 left"


def test_a_cost_that_is_not_known_is_a_warning_with_the_id_of_the_run_and_the_sum_says_so():
    file = Terminal()
    made, clock = progress(file)
    assert made.line() == "[0/10] 0.0 runs/min, cost: $0.00, time left not known"
    clock.advance(3600 * 3)
    made.tell(one(cost=None, run="4f1c", unpriced="no price for 'odd'"))
    assert "warning: the cost of the run 4f1c is not known: no price for 'odd'" in file.getvalue()
    made.tell(one(cost=1))
    assert made.line() == "[2/10] 0.0 runs/min, cost: $1.00; that of 1 run is not known, 12:00:00 left"


def test_a_budget_is_warned_of_in_colour_on_a_terminal_and_without_elsewhere(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for file, words in (
        (Terminal(), "\x1b[33mnear the budget of $1.00\x1b[0m"),
        (io.StringIO(), "near the budget of $1.00"),
    ):
        made, _ = progress(file, budget=1.0)
        made.tell(one(cost=0.9))
        assert f"cost: $0.90; {words}, " in made.line()


def test_a_fast_eval_does_not_write_more_than_somebody_can_read():
    file = Terminal()
    made, clock = progress(file, planned=1000)
    for _ in range(999):
        clock.advance(0.001)
        made.tell(one())
    assert file.getvalue().count("\r") <= 11
