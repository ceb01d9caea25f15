"""`soundstage eval compare`, `eval baseline` and `eval run --baseline`: exit codes, files, what is refused."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from soundstage.errors import ConfigError
from soundstage.evals._command_line import evals

SUITE = """\
name: weather
agent: {python: "agent_of_compared_suites:answer"}
script: rules.yaml
repeat: 8
pass_rate: 0.1
cases:
  - {name: paris, input: weather in Paris, expect: [{contains: sunny}]}
  - {name: rome, input: weather in Rome, expect: [{contains: sunny}]}
"""
AGENT = """\
import itertools, pathlib

NUMBERS = itertools.count()

def answer(prompt):
    share = int(pathlib.Path("rome.txt").read_text()) if "Rome" in prompt else 4
    return "sunny" if share == 4 or next(NUMBERS) % 4 < share else "rain"
"""
SUNNY, WORSE = "4", "1"  # so many of four runs of the second case pass


@pytest.fixture
def at(tmp_path, monkeypatch):
    """Run a command of ours in a folder with a suite."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "rules.yaml").write_text("rules: [{when: {user: weather}, reply: {text: sunny}}]\n")
    (tmp_path / "agent_of_compared_suites.py").write_text(AGENT)
    (tmp_path / "rome.txt").write_text(SUNNY)

    def run(*words):
        return CliRunner().invoke(evals, [str(word) for word in words])

    return run


@pytest.fixture
def written(at, tmp_path):
    """A baseline of a good eval."""
    assert at("run", "suite.yaml").exit_code == 0
    assert at("baseline", "base.json").exit_code == 0
    return tmp_path / "base.json"


def test_an_eval_that_is_worse_than_its_baseline_fails_and_the_same_one_does_not(at, written, tmp_path):
    assert at("run", "suite.yaml", "--baseline", written).exit_code == 0
    (tmp_path / "rome.txt").write_text(WORSE)
    assert at("run", "suite.yaml").exit_code == 0, "every case is above its own pass rate"
    ended = at("run", "suite.yaml", "--baseline", written)
    assert ended.exit_code == 1, ended.output
    assert "worse: rome: 8/8 -> 2/8, significant" in ended.output


def test_two_evals_of_the_store_are_compared_by_their_ids(at, tmp_path):
    ids = []
    for rules in (SUNNY, WORSE):
        (tmp_path / "rome.txt").write_text(rules)
        at("run", "suite.yaml")
        ids.append(json.loads((tmp_path / ".soundstage/evals/last-report.json").read_text())["eval"])
    ended = at("compare", *ids, "--json", "--markdown", "m.md")
    assert ended.exit_code == 1
    data = json.loads(ended.stdout)
    assert (data["worse"], data["suite"], data["compared"]) == (True, "weather", ["paris", "rome"])
    assert "significantly worse" in (tmp_path / "m.md").read_text()
    assert at("compare", *reversed(ids)).exit_code == 0
    assert at("compare", ids[0]).exit_code == 1, "the new one is `last` unless given"
    assert at("compare", "last", "last").exit_code == 0


def test_a_baseline_of_an_eval_of_the_store_is_the_one_of_its_report(at, written, tmp_path):
    report = json.loads((tmp_path / ".soundstage/evals/last-report.json").read_text())
    assert at("baseline", "other.json", "--of", report["eval"]).exit_code == 0
    assert (tmp_path / "other.json").read_text() == written.read_text()
    assert at("compare", written, "other.json").exit_code == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('"suite": "weather"', '"suite": "other"'), "another suite"),
        (lambda text: text.replace('"version": 1', '"version": 0'), "soundstage eval baseline FILE"),
        (lambda text: text.replace('"fingerprint": "', '"fingerprint": "x'), "no case as it is in the suite"),
        (lambda text: text[:-5], "not JSON"),
    ],
)
def test_a_baseline_that_cannot_be_compared_is_refused_before_anything_runs(
    at, written, tmp_path, change, told
):
    written.write_text(change(written.read_text()))
    before = sorted((tmp_path / ".soundstage" / "runs").iterdir())
    ended = at("run", "suite.yaml", "--baseline", written)
    assert isinstance(ended.exception, ConfigError)
    assert told in str(ended.exception)
    assert sorted((tmp_path / ".soundstage" / "runs").iterdir()) == before


def test_a_baseline_that_is_not_there_is_wrong_usage(at):
    assert at("run", "suite.yaml", "--baseline", "nothing.json").exit_code == 2
