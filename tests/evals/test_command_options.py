"""Options of `soundstage eval run` together: what is refused before anything runs, and how an eval goes on."""

from __future__ import annotations

import shlex
import signal
import sys

import pytest
from typer.testing import CliRunner

from soundstage.errors import ConfigError, FileError
from soundstage.evals._command_line import evals
from soundstage.runs import RunStore

AGENT = """\
import signal

asked = 0


async def answer(prompt):
    global asked
    asked += 1
    if asked == 3:
        signal.raise_signal(signal.SIGINT)
    return prompt
"""
SUITE = """\
agent: {python: "agent_that_interrupts:answer"}
script: rules.yaml
repeat: 2
cases: [{name: a, input: x, expect: [no_errors]}, {name: b, input: x, expect: [no_errors]}]
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "agent_that_interrupts", raising=False)
    (tmp_path / "agent_that_interrupts.py").write_text(AGENT)
    (tmp_path / "rules.yaml").write_text("rules: [{when: {user: x}, reply: {text: x}}]\n")
    (tmp_path / "my suite.yaml").write_text(SUITE)
    return lambda *words: CliRunner().invoke(evals, [*words])


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_tells_the_whole_command_to_go_on_with(invoke, interruptible):
    words = ["run", "my suite.yaml", "--case", "a", "--case", "b", "--repeat", "3", "--max-cost", "5.0"]
    words += ["--concurrency", "1", "--store", "kept here", "--resume"]
    result = invoke(*words)
    assert result.exit_code == 130
    told = next(line for line in result.stderr.splitlines() if "interrupted" in line)
    assert shlex.split(told.partition("are kept: ")[2]) == ["soundstage", "eval", *words]


def test_folders_of_reports_are_made_and_refused_before_any_run(invoke, tmp_path):
    result = invoke("run", "my suite.yaml", "--repeat", "1", "--junit", "new/j.xml", "--markdown", "too/m.md")
    assert result.exit_code == 0
    assert (tmp_path / "new" / "j.xml").exists()
    assert (tmp_path / "too" / "m.md").exists()
    result = invoke("run", "my suite.yaml", "--store", "other", "--junit", "my suite.yaml/j.xml")
    assert isinstance(result.exception, FileError)
    assert not (tmp_path / "other").exists()


def test_a_model_of_the_command_is_not_in_the_place_of_those_of_a_matrix(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    cases = "script: rules.yaml\ncases: [{name: a, input: x, expect: [no_errors]}]\n"
    (tmp_path / "m.yaml").write_text(f"agent: {{model: m}}\nmatrix: {{model: [m, n]}}\n{cases}")
    result = invoke("run", "m.yaml", "--model", "openai/gpt-x", "--base-url", "http://127.0.0.1:1")
    assert result.exit_code == 2
    assert "leave --model out" in " ".join(result.stderr.replace("│", " ").split())


def test_a_baseline_has_one_of_the_cases_that_are_run_or_nothing_is(invoke, tmp_path):
    assert invoke("run", "my suite.yaml", "--repeat", "1", "--case", "a").exit_code == 0
    assert invoke("baseline", "b.json").exit_code == 0
    words = ["run", "my suite.yaml", "--repeat", "1", "--baseline", "b.json", "--store", "other"]
    result = invoke(*words, "--case", "b")
    assert isinstance(result.exception, ConfigError)
    assert "no case as it is in the suite" in str(result.exception)
    assert RunStore(tmp_path / "other").list() == []


@pytest.mark.parametrize(
    ("also", "code"), [("", 2), ("  - {name: wrong, input: x, expect: [contains: y]}\n", 1)]
)
def test_a_case_below_its_rate_ends_with_1_and_runs_that_could_not_be_made_alone_with_2(
    invoke, tmp_path, also, code
):
    broken = "  - {name: broken, input: x, agent: {command: [no-such-program]}, expect: [no_errors]}\n"
    suite = f"agent: {{python: 'posixpath:basename'}}\nscript: rules.yaml\ncases:\n{broken}{also}"
    (tmp_path / "suite.yaml").write_text(suite)
    result = invoke("run", "suite.yaml", "--store", "kept")
    assert result.exit_code == code, result.output
    assert "ERROR   broken" in result.stdout
