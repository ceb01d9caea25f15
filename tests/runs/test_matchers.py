"""Assertions on results of runs: for each what passes, what fails, the negation, and what the message says."""

from __future__ import annotations

import msgspec
import pytest

from soundstage.errors import ExpectationError, ScriptError, UnknownNameError, WrongValueError
from soundstage.journal import Blob, Journal, MessageSent, UsageReported
from soundstage.messages import Usage
from soundstage.runs import (
    FileEntry,
    LazyFile,
    RunResult,
    assert_complete_hooks,
    assert_incomplete_hooks,
    assert_other_result,
    assert_over_budget,
    assert_same_result,
    assert_within_budget,
    build_result,
    check_complete_hooks,
    check_incomplete_hooks,
    check_other_result,
    check_over_budget,
    check_same_result,
    check_within_budget,
)
from soundstage.trace import Cost, PricingError, ToolUse

DONE = RunResult(id="a", status="complete", started=10.0, ended=12.0)


def with_(result=DONE, **facts):
    return msgspec.structs.replace(result, **facts)


# complete hook data


def test_a_complete_run_without_a_missing_hook_has_complete_hooks():
    assert_complete_hooks(DONE)
    assert check_complete_hooks(DONE)


INCOMPLETE = [
    with_(missing=("toolu_1",)),
    with_(status="partial"),
    with_(status="failed"),
    with_(status="partial", missing=("toolu_1",)),
]


@pytest.mark.parametrize("result", INCOMPLETE)
def test_a_run_that_lacks_a_hook_or_is_not_complete_has_no_complete_hooks(result):
    assert not check_complete_hooks(result)
    with pytest.raises(ExpectationError):
        assert_complete_hooks(result)


@pytest.mark.parametrize("result", INCOMPLETE)
def test_a_run_is_asserted_to_lack_hooks_when_it_does_and_only_then(result):
    assert_incomplete_hooks(result)
    with pytest.raises(
        ExpectationError, match=r"all hooks are there(.|\n)*expected: status partial or failed"
    ):
        assert_incomplete_hooks(DONE)
    assert not check_incomplete_hooks(DONE)


def test_the_message_lists_the_ids_of_the_hooks_that_are_missing_or_why_the_run_is_not_complete():
    with pytest.raises(ExpectationError, match="without their begin or end: toolu_1, toolu_2"):
        assert_complete_hooks(with_(missing=("toolu_1", "toolu_2")))
    with pytest.raises(ExpectationError, match="the run is partial: timeout, it took over 60 s"):
        assert_complete_hooks(with_(status="partial", reasons=("timeout, it took over 60 s",)))


# the result of another run


def recorded(*, run_id="r", begin=0.0, step=1.0, text="done", cost=0.25):
    """A result that is built from a journal, on a clock that begins somewhere."""

    journal = Journal(run=run_id)
    journal.append(MessageSent(text="I begin"), source="agent")
    journal.append(UsageReported(usage=Usage(input_tokens=5), cost=cost), source="agent")
    journal.append(MessageSent(text=text), source="agent")
    moved = [
        msgspec.structs.replace(record, time=begin + number * step)
        for number, record in enumerate(journal.read())
    ]
    return build_result(moved)


def called(**arguments):
    return with_(tools=(ToolUse(call_id="t", name="Edit", arguments=arguments),))


def file(sha256):
    return FileEntry(
        path="a.py", change="modified", after=LazyFile("a.py", Blob(sha256=sha256, size=3), None)
    )


def test_results_whose_times_differ_within_the_tolerance_are_the_same_wherever_their_clocks_began():
    assert_same_result(recorded(begin=5000.0, step=1.2), recorded(), tolerance=0.5)
    assert check_same_result(recorded(), recorded(), tolerance=0)


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        (recorded(text="no"), recorded(), r"timeline\[2\].event.text"),
        (recorded(cost=0.5), recorded(), "cost.amount"),
        (recorded(step=1.6), recorded(), r"timeline\[2\].time"),
        (recorded(run_id="other"), recorded(), r"timeline\[0\].run"),
        (with_(files=(file("aa"),)), with_(files=(file("bb"),)), r"files\[0\].after"),
        (with_(files=(file("aa"),)), DONE, r"files\[0\]"),
        (called(path="a"), called(path="b"), r"tools\[0\].arguments.path"),
        (called(n=True), called(n=1), r"tools\[0\].arguments.n"),
        (called(n=1), called(), r"tools\[0\].arguments.n"),
        (called(), called(n=1), r"tools\[0\].arguments.n"),
        (with_(warnings=("a",)), DONE, r"warnings\[0\]"),
        (with_(ended=None), DONE, "ended"),
    ],
)
def test_results_that_differ_anywhere_are_not_the_same_and_the_place_is_named(one, other, where):
    assert not check_same_result(one, other)
    with pytest.raises(ExpectationError, match=where):
        assert_same_result(one, other)


def test_results_are_asserted_to_differ_when_they_do_and_only_then():
    assert_other_result(with_(output="a"), with_(output="b"))
    assert not check_other_result(DONE, DONE)
    with pytest.raises(
        ExpectationError, match=r"the results are equal(.|\n)*expected: a result that differs"
    ):
        assert_other_result(DONE, DONE)


def test_the_message_names_the_fields_and_shows_both_values_of_each_difference():
    with pytest.raises(ExpectationError) as error:
        assert_same_result(with_(output="new", id="b"), with_(output="old"))
    assert error.value.summary == "the results differ in id, output"
    assert error.value.seen == "id\n  - 'a'\n  + 'b'\noutput\n  - 'old'\n  + 'new'"
    many = with_(warnings=tuple(map(str, range(25))))
    assert check_same_result(many, DONE).diff.endswith("and 5 more")
    assert check_same_result(many, DONE).diff.count("warnings[") == 20
    assert "  - nothing\n  + '0'" in check_same_result(many, DONE).diff


def test_fields_that_are_ignored_do_not_count_wherever_they_stand_and_the_others_do():
    assert_same_result(recorded(run_id="other"), recorded(), ignore=("id", "run"))
    assert not check_same_result(recorded(run_id="other"), recorded(), ignore=("id",))


def test_options_that_compare_nothing_by_accident_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'status'"):
        check_same_result(DONE, DONE, ignore=("statu",))
    with pytest.raises(WrongValueError, match="list of names"):
        check_same_result(DONE, DONE, ignore="id")
    for wrong in (-1, float("nan"), float("inf"), True):
        with pytest.raises(WrongValueError, match="from 0"):
            check_same_result(DONE, DONE, tolerance=wrong)


# the budget

CHEAP = with_(cost=Cost(amount=0.3, by_model={"m": 0.3}))


@pytest.mark.parametrize("budget", [0.3, 0.31, 1])
def test_a_run_that_costs_at_most_its_budget_is_within_it(budget):
    assert_within_budget(CHEAP, budget)
    assert_within_budget(with_(cost=Cost(amount=0.1 + 0.2)), budget)


@pytest.mark.parametrize("budget", [0.29, 0.299999999, 0])
def test_a_run_that_costs_more_is_not(budget):
    assert not check_within_budget(CHEAP, budget)
    with pytest.raises(ExpectationError):
        assert_within_budget(CHEAP, budget)


def test_a_run_is_asserted_to_cost_more_when_it_does_and_only_then():
    assert_over_budget(CHEAP, 0.29)
    assert not check_over_budget(CHEAP, 0.3)
    with pytest.raises(ExpectationError, match=r"expected: more than \$0.30"):
        assert_over_budget(CHEAP, 0.3)


def test_the_message_shows_both_amounts_with_the_digits_in_which_they_differ():
    with pytest.raises(ExpectationError, match=r"the run cost \$0.30 of \$0.299999999") as error:
        assert_within_budget(CHEAP, 0.299999999)
    assert error.value.seen == "$0.30, m $0.30"
    assert check_within_budget(CHEAP, 12).message == "the run cost $0.30 of $12.00"


# of which nothing can be said


@pytest.mark.parametrize(
    "check",
    [
        check_complete_hooks,
        check_incomplete_hooks,
        lambda result: check_same_result(result, DONE),
        lambda result: check_same_result(DONE, result),
        lambda result: check_other_result(DONE, result),
    ],
)
def test_a_run_in_which_nothing_has_happened_is_an_error_in_every_form(check):
    with pytest.raises(ScriptError, match="nothing has happened"):
        check(build_result([]))


@pytest.mark.parametrize("check", [check_within_budget, check_over_budget])
def test_a_cost_that_is_not_known_is_an_error_in_both_forms(check):
    with pytest.raises(ScriptError, match="no cost that could be compared"):
        check(DONE, 1)
    with pytest.raises(PricingError, match="no price for 'house'"):
        check(with_(cost=Cost(amount=None, reason="no price for 'house'")), 1)
    with pytest.raises(WrongValueError, match="from 0"):
        check(CHEAP, -1)
