"""The report as data: pass rates, pass@k, averages, also of cases without a single result."""

from __future__ import annotations

import asyncio
import itertools
import xml.etree.ElementTree as ET

import msgspec
import pytest

from soundstage.errors import ConfigError
from soundstage.evals import Case, CommandAgent, evaluator_of, run_suite
from soundstage.evals._baseline import find_result
from soundstage.evals._packed import grid_of
from soundstage.evals._report import EvalReport, ScoredRun, case_report
from soundstage.evals._report_text import as_junit, as_markdown, as_text

from .conftest import suite_of


def run(suite, store):
    return asyncio.run(run_suite(suite, store=store))


def test_each_case_has_its_pass_at_k_and_pass_all_k_for_every_k_up_to_its_runs(store):
    answers = itertools.cycle(["sunny", "rain", "rain", "sunny", "rain"])

    async def agent(prompt):
        return next(answers)

    (case,) = run(suite_of(agent, repeat=5), store).as_json()["cases"]
    assert case["pass_rate"] == 0.4
    assert case["pass_at_k"] == pytest.approx({"1": 0.4, "2": 0.7, "3": 0.9, "4": 1.0, "5": 1.0})
    assert case["pass_all_k"] == pytest.approx({"1": 0.4, "2": 0.1, "3": 0.0, "4": 0.0, "5": 0.0})


def test_a_case_without_a_single_result_has_the_rate_0_in_every_form(store):
    report = run(suite_of(agent=CommandAgent(("no-such-program-anywhere",)), repeat=2), store)
    data = report.as_json()
    (case,) = data["cases"]
    assert (case["pass_rate"], case["low"], case["high"]) == (0.0, 0.0, 1.0)
    assert (case["avg_tokens"], case["avg_latency"], case["pass_at_k"]) == (0.0, 0.0, {})
    assert (data["total"]["pass_rate"], data["total"]["runs"], data["total"]["errors"]) == (0.0, 0, 2)
    assert "0/0, 2 missing = 0%" in as_text(report)
    assert "| 0/2 | 0% |" in as_markdown(report)
    assert 'failures="0" errors="1"' in as_junit(report)
    assert ("<error message=" in as_junit(report), "<failure" in as_junit(report)) == (True, False)


def test_a_case_that_answers_wrongly_is_a_failure_in_junit_and_no_error(store):
    case = Case(name="a", input="x", expect=(evaluator_of("contains", "no such word"),))
    told = as_junit(run(suite_of(cases=[case]), store))
    assert 'failures="1" errors="0"' in told
    assert ("<failure message=" in told, "<error" in told) == (True, False)


def test_one_case_and_one_run_are_told_in_the_singular(store):
    case = Case(name="a", input="x", expect=(evaluator_of("contains", "no such word"),))
    assert "0 of 1 case passed; 0 of 1 run = 0%" in as_text(run(suite_of(cases=[case]), store))


def test_a_name_is_no_tag_and_no_column_in_markdown(store):
    name = "<script>alert(1)</script> | &lt;"
    report = run(
        suite_of(cases=[Case(name=name, input="x", expect=(evaluator_of("contains", "<b>|"),))]), store
    )
    told = as_markdown(report)
    assert "&lt;script>alert(1)&lt;/script> \\| &amp;lt; | 0/1 |" in told
    assert ("<script" in told, "<b>" in told) == (False, False)


def test_an_eval_that_an_older_version_kept_is_not_compared(store):
    report = run(suite_of(cases=[Case(name="a", input="x", expect=(evaluator_of("contains", "x"),))]), store)
    (record,) = store.list(driver="eval")
    labels = {name: label for name, label in record.labels.items() if name != "case_fingerprint"}
    stored = store.open(record.id)
    older = msgspec.structs.replace(record, id=record.id[:-4] + "0000", labels={**labels, "eval": "older"})
    store.save(older, journal=stored.journal())
    with pytest.raises(ConfigError, match=r"kept by an older version[\s\S]*run it again"):
        find_result("older", store)
    assert find_result(report.eval, store).cases["a"].runs == 1


def case_of(outcomes, required=1.0):
    """A report of one case with runs that came to this."""
    runs = [
        ScoredRun(
            case="a",
            number=number,
            outcome=outcome,
            run="" if outcome == "error" else f"r{number}",
            reason=f"why {number}",
        )
        for number, outcome in enumerate(outcomes, 1)
    ]
    case = case_report("a", runs, required, len(runs), "")
    return EvalReport(suite="s", eval="e", cases=(case,))


@pytest.mark.parametrize(
    ("outcomes", "required", "outcome"),
    [
        pytest.param(["failed", "error", "failed"], 1.0, "failed", id="an error among wrong answers"),
        pytest.param(["passed", "error", "failed"], 0.5, "error", id="an error, and enough right answers"),
        pytest.param(["passed", "passed", "error"], 1.0, "error", id="an error among right answers"),
        pytest.param(["error", "error"], 1.0, "error", id="errors alone"),
        pytest.param(["passed", "failed"], 1.0, "failed", id="a wrong answer"),
        pytest.param(["passed", "failed"], 0.5, "passed", id="enough right answers"),
    ],
)
def test_every_form_of_a_report_tells_the_same_outcome_of_a_case(store, outcomes, required, outcome):
    report = case_of(outcomes, required)
    assert report.as_json()["cases"][0]["outcome"] == outcome
    assert as_text(report).startswith(
        {"passed": "passed  a", "failed": "FAILED  a", "error": "ERROR   a"}[outcome]
    )
    assert f"| {({'passed': '✅', 'failed': '❌', 'error': '⚠️'})[outcome]} a |" in as_markdown(report)
    (case,) = ET.fromstring(as_junit(report)).iter("testcase")
    assert [child.tag for child in case] == {"passed": [], "failed": ["failure"], "error": ["error"]}[outcome]
    suite = ET.fromstring(as_junit(report)).find("testsuite")
    assert (suite.get("failures"), suite.get("errors")) == (
        str(int(outcome == "failed")),
        str(int(outcome == "error")),
    )
    (row,) = grid_of(report, store, pages="runs").rows
    assert (row.outcome == "missing") == (outcome == "error")


def test_the_failure_of_a_case_lists_its_errors_too():
    (failure,) = ET.fromstring(as_junit(case_of(["failed", "error"]))).iter("failure")
    assert failure.text == "run 1: failed: why 1\nrun 2: error: why 2"
