"""The table of a matrix, and which dimension explains a difference: planted causes, and none where there is none."""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest

from soundstage.evals import CaseReport, EvalReport, Matrix, combine, run_suite
from soundstage.evals._matrix_table import cells_of, effects_of, matrix_as_json, matrix_lines, matrix_markdown
from soundstage.evals._report_text import as_markdown, as_text
from soundstage.evals.statistics import pass_rate

from .conftest import suite_of

RUNS = 10


def report_of(chance, dimensions, cases=("a", "b", "c"), seed=0):
    """A report in which a run of a case passes with this chance, given its labels."""
    source = random.Random(seed)
    found = []
    for labels in itertools.product(*dimensions.values()):
        combination = dict(zip(dimensions, labels, strict=True))
        for case in cases:
            passed = sum(source.random() < chance(case, combination) for _ in range(RUNS))
            name = f"{case} {labels}"
            rate = pass_rate(passed, RUNS)
            found.append(
                CaseReport(
                    name=name,
                    required=1,
                    planned=RUNS,
                    rate=rate,
                    runs=(),
                    combination=combination,
                    base=case,
                )
            )
    return EvalReport(suite="s", eval="e", cases=tuple(found))


DIMENSIONS = {"model": ["small", "large"], "prompt": ["p", "q", "r"], "tools": ["on", "off"]}


def explained(report):
    return [(one.dimension, one.telling) for one in effects_of(report) if one.explains]


def test_the_dimension_that_a_difference_comes_from_is_named_with_its_value():
    report = report_of(lambda _, labels: 0.4 if labels["prompt"] == "q" else 0.9, DIMENSIONS)
    assert explained(report) == [("prompt", "q")]
    report = report_of(lambda _, labels: 0.5 if labels["model"] == "small" else 0.9, DIMENSIONS)
    assert [name for name, _ in explained(report)] == ["model"]


def test_cases_of_other_difficulty_explain_nothing_and_hide_nothing():
    hard = {"a": 0.05, "b": 0.5, "c": 0.95}
    assert explained(report_of(lambda case, _: hard[case], DIMENSIONS)) == []
    report = report_of(lambda case, labels: hard[case] * (labels["tools"] == "on"), DIMENSIONS)
    assert [name for name, _ in explained(report)] == ["tools"]


def test_a_dimension_that_was_run_on_harder_cases_alone_is_not_blamed():
    """With a missing cell: `large` did the hard case alone, and is not compared with what `small` did elsewhere."""
    report = report_of(lambda case, _: {"a": 0.95, "b": 0.1}[case], {"model": ["small", "large"]}, cases="ab")
    kept = tuple(case for case in report.cases if case.combination["model"] == "small" or case.base == "b")
    assert explained(EvalReport(suite="s", eval="e", cases=kept)) == []


def test_where_nothing_matters_a_dimension_is_named_no_oftener_than_stated():
    """60 tables of three dimensions; 5 of 100 may name one. Without the correction it would be about one of six."""
    named = sum(bool(explained(report_of(lambda *_: 0.7, DIMENSIONS, seed=seed))) for seed in range(60))
    assert named <= 5


def test_two_values_are_one_test_and_have_the_chance_of_fishers_exact_test():
    from scipy.stats import fisher_exact

    report = report_of(
        lambda _, labels: 0.4 if labels["model"] == "small" else 0.9, {"model": ["small", "large"]}, "a"
    )
    (small, large) = (case.rate.passed for case in report.cases)
    (effect,) = effects_of(report)
    assert effect.p == pytest.approx(fisher_exact([[small, RUNS - small], [large, RUNS - large]])[1])


def test_of_several_values_the_clearest_counts_as_often_as_there_are_values():
    from scipy.stats import fisher_exact

    report = report_of(lambda _, labels: 0.2 if labels["n"] == "1" else 0.8, {"n": list("1234")}, "a")
    passed = [case.rate.passed for case in report.cases]
    rest = sum(passed[1:])
    (effect,) = effects_of(report)
    alone = fisher_exact([[passed[0], RUNS - passed[0]], [rest, 3 * RUNS - rest]])[1]
    assert (effect.telling, effect.p) == ("1", pytest.approx(4 * alone))


@pytest.fixture
def report(store):
    async def agent(prompt, *, style, size):
        return "sunny" if style != "loud" else "rain"

    matrix = Matrix(size=[1, 2], style=["plain", "loud", "odd"], skip={"size": 2, "style": "odd"})
    return asyncio.run(run_suite(combine(suite_of(agent, repeat=4, pass_rate=0.5), matrix), store=store))


def test_the_table_has_a_cell_for_each_combination_with_rate_interval_and_cost(report):
    lines = matrix_lines(report)
    assert lines[0].split() == ["size", "style=plain", "style=loud", "style=odd"]
    assert lines[1].startswith("1     4/4 = 100% [51%, 100%] $0.0000  0/4 = 0% [0%, 49%] $0.0000")
    assert lines[2].endswith("  -"), "a combination that was skipped"
    assert lines[3].startswith("style explains a difference (p = ")
    assert "loud most: plain 8/8 = 100%, loud 0/8 = 0%, odd 4/4 = 100%" in lines[3]
    assert lines[4].startswith("size explains no difference (p = 1)")
    assert len(cells_of(report)) == 5


def test_every_form_of_the_report_has_the_table(report):
    assert matrix_lines(report)[1] in as_text(report)
    markdown = as_markdown(report)
    assert "| size | style=plain | style=loud | style=odd |" in markdown
    assert "| 1 | 4/4 = 100% [51%, 100%] $0.0000 |" in markdown
    data = report.as_json()["matrix"]
    assert data == matrix_as_json(report)
    assert data["cells"][1] == {
        "labels": {"size": "1", "style": "loud"},
        "passed": 0,
        "runs": 4,
        "pass_rate": 0.0,
        "low": 0.0,
        "high": pytest.approx(0.4899, abs=1e-4),
        "cost": 0.0,
    }
    assert [(one["dimension"], one["explains"]) for one in data["effects"]] == [
        ("style", True),
        ("size", False),
    ]
    assert report.as_json()["cases"][0]["combination"] == {"size": "1", "style": "plain"}


def test_one_dimension_goes_down():
    found = matrix_lines(report_of(lambda *_: 1, {"model": ["m", "n"]}, cases="a"))
    assert found[:3] == [
        "model  passed",
        "m      10/10 = 100% [72%, 100%]",
        "n      10/10 = 100% [72%, 100%]",
    ]


def test_a_suite_without_a_matrix_has_no_table(store):
    report = asyncio.run(run_suite(suite_of(), store=store))
    assert (matrix_lines(report), matrix_markdown(report), "matrix" in report.as_json()) == ([], [], False)
