"""Two results of a suite compared: what is worse, what cannot be compared, and the baseline that stays in git."""

from __future__ import annotations

import asyncio
import itertools
import json

import msgspec
import pytest

from soundstage.errors import ConfigError, UnknownNameError
from soundstage.evals import (
    Case,
    CaseBaseline,
    EvalBaseline,
    EvalTurn,
    Grade,
    NamedEvaluator,
    baseline_of,
    compare_results,
    evaluator_of,
    load_baseline,
    run_suite,
)
from soundstage.evals._baseline import find_result
from soundstage.evals._compare_text import as_markdown, as_text

from .conftest import suite_of


def result(*passed, runs=5, suite="suite", scores=None, fingerprint="f"):
    """A result with so many passes of each case: a, b, c, ..."""
    cases = {
        name: CaseBaseline(
            fingerprint=fingerprint,
            runs=runs,
            passed=count,
            scores={} if scores is None else {"similar": scores[place]},
            cost=0.001,
        )
        for place, (name, count) in enumerate(zip("abcdefghijkl", passed, strict=False))
    }
    return EvalBaseline(suite=suite, cases=cases)


def measure(found, name):
    return next(one for one in found.measures if one.name == name)


def test_a_result_whose_runs_pass_less_often_is_worse():
    found = compare_results(result(5, 5, 5, 5), result(2, 2, 3, 3))
    assert found.worse
    rate = measure(found, "pass rate")
    assert (rate.change, round(rate.difference, 9)) == ("worse", -0.5)
    assert not compare_results(result(2, 2, 3, 3), result(5, 5, 5, 5)).worse


def test_a_difference_that_chance_can_make_is_none():
    found = compare_results(result(5, 4, 5, 4), result(4, 4, 4, 5))
    assert not found.worse
    assert measure(found, "pass rate").change == "the same"
    assert [(one.case, one.significant) for one in found.changes] == [
        ("a", False),
        ("c", False),
        ("d", False),
    ]


def test_one_case_that_breaks_is_found_although_another_one_makes_up_for_it():
    found = compare_results(result(20, 0, 20, runs=20), result(0, 20, 20, runs=20))
    assert measure(found, "pass rate").change == "the same"
    assert found.worse
    assert [(one.case, one.significant) for one in found.changes] == [("a", True), ("b", True)]


def test_scores_that_fall_are_worse_and_higher_ones_if_less_is_better():
    old, new = (result(*[5] * 10, scores=[0.9 + 0.001 * n for n in range(10)]) for _ in range(2))
    new = result(*[5] * 10, scores=[0.8 + 0.002 * n for n in range(10)])
    found = compare_results(old, new)
    assert measure(found, "similar").change == "worse"
    assert found.worse
    assert not compare_results(old, new, lower_is_better=["similar"]).worse
    assert compare_results(new, old, lower_is_better=["similar"]).worse


def test_an_evaluator_without_scores_cannot_be_turned_round():
    with pytest.raises(UnknownNameError, match="similar"):
        compare_results(result(5, scores=[1.0]), result(5, scores=[1.0]), lower_is_better=["simlar"])


def test_cost_is_shown_and_decides_nothing():
    old = result(*[5] * 12)
    new = EvalBaseline(
        suite="suite",
        cases={
            name: CaseBaseline(
                fingerprint="f", runs=5, passed=5, cost=0.002 + n / 1e5, scores={"tokens: 9": 1000.0 + n}
            )
            for n, name in enumerate(old.cases)
        },
    )
    found = compare_results(old, new)
    cost = measure(found, "cost of a run")
    assert (cost.change, cost.decides, found.worse) == ("worse", False, False)
    assert found.not_compared == ("tokens: 9: 0 of 12 cases have it in both results, at least 2 are needed",)


@pytest.mark.parametrize(("others", "change"), [(0, "worse"), (5, "the same")])
def test_a_fall_that_would_be_significant_alone_is_not_among_many_figures(others, change):
    """All of seven scores fall: p = 2/128; with the pass rate there are two figures, then seven."""

    def scored(first):
        scores = {f"s{k}": 0.5 + 0.1 * (k % 2) for k in range(others)}
        cases = {
            str(n): CaseBaseline(
                fingerprint="f", runs=1, passed=1, scores={"first": first - n / 100, **scores}
            )
            for n in range(7)
        }
        return EvalBaseline(suite="s", cases=cases)

    found = compare_results(scored(0.9), scored(0.8))
    assert measure(found, "first").change == change
    assert found.worse is (change == "worse")


def test_cases_that_one_result_alone_has_and_cases_that_have_changed_are_named_and_left_out():
    old, new = result(5, 5, 5), result(5, 5)
    changed = CaseBaseline(fingerprint="other", runs=5, passed=0)
    added = CaseBaseline(fingerprint="f", runs=5, passed=0)
    new = EvalBaseline(suite="suite", cases={**new.cases, "b": changed, "z": added})
    found = compare_results(old, new)
    assert (found.compared, found.other, found.only_old, found.only_new) == (("a",), ("b",), ("c",), ("z",))
    assert not found.worse
    text = as_text(found)
    assert "only in the old result: c" in text
    assert "not compared: b" in text


def test_another_suite_and_results_without_a_common_case_are_refused():
    with pytest.raises(ConfigError, match="the suite other"):
        compare_results(result(5), result(5, suite="other"))
    with pytest.raises(ConfigError, match="no case in common"):
        compare_results(result(5), result(5, fingerprint="g"))
    with pytest.raises(ConfigError, match="no case in common"):
        compare_results(result(0, runs=0), result(0, runs=0))


def test_the_text_says_what_changed_and_what_so_many_runs_would_have_shown():
    found = compare_results(result(20, 20, runs=20), result(8, 20, runs=20))
    text = as_text(found)
    assert text.splitlines()[1].split()[:6] == ["pass", "rate", "2", "100.0%", "70.0%", "-30.0%"]
    assert "WORSE" in text
    assert "worse: a: 20/20 -> 8/20, significant (p = " in text
    assert text.endswith("significantly worse")
    assert "| pass rate | 2 | 100.0% |" in as_markdown(found)
    assert found.as_json()["changes"][0]["new"] == {"passed": 8, "runs": 20}


def test_a_single_case_is_told_in_the_singular():
    found = compare_results(result(1, runs=1), result(0, runs=1))
    one = msgspec.structs.replace(found, changes=found.changes[:1] * 21)
    assert "\n1 more case changed\n" in as_text(one)


def test_runs_that_could_not_have_shown_anything_say_so():
    assert as_text(compare_results(result(1, runs=1), result(0, runs=1))).endswith(
        "use more cases or --repeat"
    )


def made(store, passing, **fields):
    """A report of two cases, of which the first passes so many times of six."""
    answers = {
        "one": itertools.cycle([True] * passing + [False] * (6 - passing)),
        "two": itertools.repeat(True),
    }

    async def agent(prompt):
        return "sunny" if next(answers[prompt]) else "rain"

    long = NamedEvaluator("length", lambda run: Grade(score=float(len(run.output)), passed=None))
    cases = [Case(name=name, input=name, expect=(evaluator_of("contains", "sunny"),)) for name in answers]
    suite = suite_of(agent, cases=cases, repeat=6, expect=[long, evaluator_of("latency", 100)], **fields)
    return asyncio.run(run_suite(suite, store=store))


def test_a_baseline_has_a_line_for_each_case_and_no_figure_of_time_or_machine(store, tmp_path):
    first = baseline_of(made(store, 3)).as_text()
    assert first == baseline_of(made(store, 3)).as_text()
    lines = first.splitlines()
    assert lines[:3] == ["{", '  "version": 1,', '  "suite": "suite",']
    assert '"runs": 6, "passed": 3, "scores": {"length": 4.5}' in lines[4]
    assert [line.strip()[:6] for line in lines[4:6]] == ['"one":', '"two":']
    assert "latency" not in first
    (tmp_path / "b.json").write_text(first)
    assert load_baseline(tmp_path / "b.json").as_text() == first


def test_a_result_is_the_same_from_its_report_from_its_file_and_from_the_store(store, tmp_path):
    report = made(store, 3)
    made(store, 1)
    (tmp_path / "last-report.json").write_text(json.dumps(report.as_json()))
    known = baseline_of(report)
    assert find_result(report.eval, store) == known
    assert find_result(report.eval[:-1], store) == known
    assert find_result(str(tmp_path / "last-report.json"), store) == known


def test_a_result_that_is_not_there_is_refused_with_those_that_are(store):
    with pytest.raises(ConfigError, match="no last eval"):
        find_result("last", store)
    report = made(store, 3)
    with pytest.raises(ConfigError, match="no eval and no file") as caught:
        find_result(report.eval[:-1] + "#", store)
    assert report.eval in str(caught.value)


def test_what_is_expected_of_a_case_decides_whether_it_is_the_same_also_beyond_what_names_show():
    def fingerprint(text, **fields):
        case = Case(**{"name": "a", "input": "x", "expect": (evaluator_of("contains", text),), **fields})
        suite = suite_of(cases=[case])
        return suite.fingerprint_of(suite.cases[0])

    known = fingerprint("y" * 80 + "1")
    assert known == fingerprint("y" * 80 + "1", repeat=7, metadata={"k": 1})
    others = [fingerprint("y" * 80 + "2"), fingerprint("y" * 80 + "1", input="z")]
    others += [fingerprint("y" * 80 + "1", expected=4), fingerprint("y" * 80 + "1", files={"a": "b"})]
    turns = [EvalTurn(input=f"x{'y' * 80}"), EvalTurn(input="z", expect=(evaluator_of("contains", "w"),))]
    others += [fingerprint("y", input="", turns=(turns[0], *rest)) for rest in ((), turns[1:])]
    assert len({known, *others}) == 7


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "version None"),
        ('{"version": 0, "suite": "s", "cases": {}}', "it has version 0, this Soundstage reads version 1"),
        ('{"version": 2, "suite": "s", "cases": {}}', "it has version 2"),
        ('{"version": 1, "suite": "s"}', "cases"),
        ('{"version": 1, "suite": "s", "cases": {}, "extra": 1}', "extra"),
        (
            '{"version": 1, "suite": "s", "cases": {"a": {"fingerprint": "f", "runs": 1, "passed": 2}}}',
            "2 of 1",
        ),
        ('{"suite": "s", "total": {}, "cases": [{"name": "a", "runs": []}]}', "fingerprint"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused_with_what_to_do(tmp_path, text, told):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(ConfigError, match="eval baseline FILE") as caught:
        load_baseline(tmp_path / "b.json")
    assert told in str(caught.value)
    assert "b.json" in str(caught.value)
