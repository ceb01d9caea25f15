"""Verdicts: each outcome of a faulty run against that of the good one."""

from __future__ import annotations

import pytest

from soundstage.faults._calls import ToolAction
from soundstage.faults._outcome import Outcome, crash_in, judge
from soundstage.faults._unsteady import Unsteady, unsteady_in, without

NOTED = ToolAction("append_note", '{"text":"milk and eggs"}', "noted")
HALF = ToolAction("append_note", '{"text":"mil"}', "noted")
BEFORE, AFTER, TORN = {}, {"notes.txt": "aa"}, {"notes.txt": "bb"}
GOOD = Outcome("done: milk", tools=(NOTED,), files=AFTER, states=(BEFORE, AFTER, AFTER))
GAVE_UP = Outcome("", code=1, error="gave up: busy")
CASES = {
    "the same": (GOOD, "survived", ""),
    "gave up before anything was done": (GAVE_UP._replace(files=BEFORE), "gave up", "'gave up: busy'"),
    "gave up after a tool": (GAVE_UP._replace(files=AFTER, tools=(NOTED,)), "gave up", "'gave up: busy'"),
    "gave up in the middle of a file": (
        GAVE_UP._replace(files=TORN),
        "wrong result",
        "gave up with a side effect half done: notes.txt",
    ),
    "gave up after half a call": (GAVE_UP._replace(tools=(HALF,)), "wrong result", '{"text":"mil"}'),
    "failed without a word": (GAVE_UP._replace(error=" \n"), "crashed", "exit code 1 without a word"),
    "crashed": (GAVE_UP._replace(crash="a traceback"), "crashed", "a traceback"),
    "hung": (GOOD._replace(hung="still running"), "hung", "still running"),
    "half a call was run": (GOOD._replace(tools=(HALF,)), "wrong result", '{"text":"mil"}'),
    "a call was not run": (GOOD._replace(tools=()), "wrong result", "did not run append_note"),
    "a call was run twice": (
        GOOD._replace(tools=(NOTED, NOTED)),
        "wrong result",
        "more often than the good run",
    ),
    "another file": (GOOD._replace(files=TORN), "wrong result", "other files: notes.txt"),
    "a part of the text": (GOOD._replace(result="done: m"), "wrong result", "only the beginning came out"),
    "no text": (GOOD._replace(result=""), "wrong result", "nothing came out"),
    "the text twice": (GOOD._replace(result="done: milkdone: milk"), "wrong result", "came out 2 times"),
    "another text": (GOOD._replace(result="sorry"), "wrong result", "came out: 'sorry', not: 'done: milk'"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_outcome_has_its_verdict_and_its_reason(name):
    seen, verdict, reason = CASES[name]
    found = judge(GOOD, seen)
    assert found.verdict == verdict, found
    assert reason in found.reason


@pytest.mark.parametrize(
    ("code", "errors", "crash"),
    [
        (
            1,
            "Traceback (most recent call last):\n  File x\nKeyError: 'a'\n",
            "a traceback: \"KeyError: 'a'\"",
        ),
        (1, "node:internal\nError: no\n    at x\n\nNode.js v20.1.0\n", "an exception that nobody caught"),
        (2, "panic: oh\n\ngoroutine 1 [running]:\n", "a panic"),
        (101, "thread 'main' panicked at src/main.rs:1\n", "a panic"),
        (-11, "", "ended by signal 11"),
        (1, "gave up: busy\n", ""),
        (0, "Traceback (most recent call last):\nlogged only\n", ""),
    ],
)
def test_a_crash_is_told_from_a_failure_that_the_program_has_seen(code, errors, crash):
    found = crash_in(code, errors)
    assert found.startswith(crash)
    assert bool(found) is bool(crash)


OTHER_RUN = Outcome(
    "done: milk\nin 4 s",
    tools=(NOTED._replace(result="noted at 9:01"),),
    files={"notes.txt": "aa", "run.log": "4"},
    states=({"run.log": "4"},),
)
FIRST_RUN = OTHER_RUN._replace(
    result="done: milk\nin 3 s", tools=(NOTED,), files={"notes.txt": "aa", "run.log": "3"}, states=()
)


def test_what_differs_between_two_good_runs_is_found_and_nothing_else():
    varies = unsteady_in(FIRST_RUN, OTHER_RUN)
    assert varies == Unsteady(frozenset({1}), frozenset({"run.log"}), results=True)
    assert str(varies) == "line 2 of the output, run.log, results of tools"
    assert judge(without(FIRST_RUN, varies), without(OTHER_RUN, varies)).verdict == "survived"
    torn = OTHER_RUN._replace(files=OTHER_RUN.files | {"notes.txt": "bb"})
    assert judge(without(FIRST_RUN, varies), without(torn, varies)).verdict == "wrong result"


def test_an_output_of_another_length_is_not_compared_at_all():
    varies = unsteady_in(FIRST_RUN, OTHER_RUN._replace(result="done: milk"))
    assert varies.lines is None
    assert without(OTHER_RUN, varies).result == without(FIRST_RUN, varies).result


def test_two_good_runs_that_are_the_same_leave_nothing_out():
    assert unsteady_in(FIRST_RUN, FIRST_RUN) == Unsteady()
