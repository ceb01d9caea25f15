"""Errors of runs: their facts go through JSON and pickle, and a result goes with them."""

from __future__ import annotations

import pickle

import pytest

from soundstage.errors import AppError, EnvironmentProblem, WrongValueError
from soundstage.runs import (
    BudgetExceededError,
    CostBudgetExceededError,
    RunAbortedError,
    RunError,
    RunResult,
    StorageError,
)

PARTIAL = RunResult(id="a1", status="partial", abort="budget")
ERRORS = [
    RunAbortedError("timeout", "it took over 60 s", run="a1", partial_result=PARTIAL),
    BudgetExceededError("turns", 20, 21, run="a1", partial_result=PARTIAL),
    CostBudgetExceededError(0.5, 0.75, run="a1", partial_result=PARTIAL),
    StorageError("/store", "DiskFullError", "no space", run="a1", partial_result=PARTIAL),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_a_run_is_the_same_after_json_but_for_the_result_that_the_store_has(error):
    for read_as in (type(error), RunError):
        again = read_as.from_json(error.to_json())
        assert (type(again), again.metadata, str(again)) == (type(error), error.metadata, str(error))
        assert (again.run, again.partial_result) == ("a1", None)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_a_run_is_the_same_after_pickle_with_its_result(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.metadata, str(again)) == (type(error), error.metadata, str(error))
    assert again.partial_result == PARTIAL


def test_the_facts_of_each_error_are_those_that_its_constructor_takes():
    assert [error.metadata for error in ERRORS] == [
        {"reason": "timeout", "detail": "it took over 60 s", "run": "a1"},
        {"limit": "turns", "budget": 20, "spent": 21, "run": "a1"},
        {"budget": 0.5, "projected_cost": 0.75, "run": "a1"},
        {"store": "/store", "kind": "DiskFullError", "detail": "no space", "run": "a1"},
    ]
    assert CostBudgetExceededError(0.5, 0.75).reason == "budget"
    assert "0.75 dollars of 0.5" in str(CostBudgetExceededError(0.5, 0.75))


def test_an_abort_is_the_fault_of_what_ran_and_a_lost_store_that_of_the_machine():
    assert isinstance(ERRORS[2], AppError)
    assert isinstance(ERRORS[3], EnvironmentProblem)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"type": "ValueError"}',
        b'{"type": "RunAbortedError"}',
        b'{"type": "RunAbortedError", "reason": "timeout", "colour": 1}',
        StorageError("/store", "OSError", "x").to_json(),
    ],
)
def test_json_that_is_no_such_error_is_refused(data):
    with pytest.raises(WrongValueError, match="no RunAbortedError as JSON"):
        RunAbortedError.from_json(data)
