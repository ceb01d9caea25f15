"""The three scenarios of the demo, as tests: they pass, every time alike, and nothing leaves the machine."""

from __future__ import annotations

import os
import re

import pytest

from soundstage.demo import run_demo
from soundstage.demo._run import SCENARIOS, run_scenario
from soundstage.drivers.claude_code import find_cli
from soundstage.errors import EnvironmentProblem, ExpectationError
from soundstage.journal import Redactor
from soundstage.trace import build_trace, diff, normalise


def cli_is_missing():
    try:
        find_cli()
    except EnvironmentProblem:
        return True
    return False


needs_cli = pytest.mark.skipif(
    cli_is_missing(), reason="the Claude Code CLI is not installed: soundstage[claude]"
)
CLAUDE = SCENARIOS[2]


def run(scenario, path):
    result = run_scenario(scenario, path, Redactor.from_environment(os.environ), say=lambda _: None)
    if result.error is not None:
        raise result.error
    return build_trace(result.records)


def normal(trace):
    """A trace without what differs from run to run: the folder of the workspace, times, the day."""
    return normalise(
        trace,
        mask={
            r"/\S*soundstage-[a-z0-9_]+/": "<folder>",
            r"/Ran \d+ tests? in [0-9.]+s/": "Ran <n> in <t>",
            r"/\d{4}-\d\d-\d\d/": "<day>",
            r"/\b[0-9a-f]{7,40}\b/": "<hash>",
        },
    )


@needs_cli
def test_the_demo_passes_and_writes_its_page_and_its_journals(tmp_path, capsys):
    assert run_demo(tmp_path) is True
    shown = capsys.readouterr().out
    assert shown.count("passed in") == 3
    assert str(tmp_path / "demo.html") in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.jsonl", "2.jsonl", "3.jsonl", "demo.html"]


@needs_cli
def test_claude_code_fixes_the_bug_ten_times_in_a_row_with_one_trace_and_contacts_no_host(tmp_path):
    traces = [run(CLAUDE, tmp_path / f"{number}.jsonl") for number in range(10)]
    first = normal(traces[0])
    for trace in traces:
        assert diff(first, normal(trace)) == ""
        assert trace.egress == ()


def test_a_scenario_that_fails_is_a_result_and_the_demo_says_so(tmp_path, capsys):
    async def wrong(host):
        raise ExpectationError("it is not as expected", seen="something else")

    broken = SCENARIOS[0]._replace(body=wrong)
    assert run_demo(tmp_path, scenarios=[broken]) is False
    shown = capsys.readouterr().out
    assert re.search(r"FAILED in [0-9.]+ s\s+it is not as expected\s+seen: something else", shown)
    assert "failed" in (tmp_path / "demo.html").read_text()


@pytest.mark.parametrize("scenario", SCENARIOS[:2], ids=lambda scenario: scenario.title)
def test_a_scenario_without_the_cli_passes(scenario, tmp_path):
    trace = run(scenario, tmp_path / "journal.jsonl")
    assert trace.egress == ()
