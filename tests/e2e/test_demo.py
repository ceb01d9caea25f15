"""The scenarios of the demo, as tests: they pass, every time alike, and nothing leaves the machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.claude_code import find_cli
from soundstage.demo._run import SCENARIOS, run_demo, run_scenario, told
from soundstage.errors import EnvironmentProblem, ExpectationError
from soundstage.journal import Redactor, ScreenChanged, read_journal
from soundstage.models import Script
from soundstage.trace import build_trace, diff, normalise
from soundstage.workflows import WorkflowFailedError, build_workflow


def cli_is_missing():
    try:
        find_cli()
    except EnvironmentProblem:
        return True
    return False


needs_cli = pytest.mark.skipif(
    cli_is_missing(), reason="the Claude Code CLI is not installed: soundstage[claude]"
)
CONSOLE, TEAM, TERMINAL, DISCORD, SDK, TAPE, WORKFLOW, CLAUDE = SCENARIOS
HERE = (CONSOLE, TEAM)  # in process, on virtual time
JOURNALS = [f"{number}.jsonl" for number in range(1, 9)]


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
            r"/\S*soundstage-[a-z0-9_]+(-[a-z0-9_]+)*/": "<folder>",
            r"/Ran \d+ tests? in [0-9.]+s/": "Ran <n> in <t>",
            r"/\d{4}-\d\d-\d\d/": "<day>",
            r"/\b[0-9a-f]{7,40}\b/": "<hash>",
        },
    )


@needs_cli
def test_the_demo_passes_and_writes_its_page_and_its_journals(tmp_path, capsys):
    assert run_demo(tmp_path) is True
    shown = capsys.readouterr().out
    assert shown.count("passed in") == 8
    for number, scenario in enumerate(SCENARIOS, 1):
        assert f"{number}/8 {scenario.title}\n" in shown
        assert re.search(rf"^{re.escape(scenario.title)} +passed +[0-9.]+ m?s ", shown, re.MULTILINE)
    assert shown.endswith(f"page: {tmp_path / 'demo.html'}\n")
    assert max(map(len, shown.splitlines())) <= 132
    written = [
        path.name for path in tmp_path.iterdir() if path.suffix != ".objects"
    ]  # files before and after changes
    assert sorted(written) == [*JOURNALS, "demo.html"]


@needs_cli
def test_claude_code_fixes_the_bug_ten_times_in_a_row_with_one_trace_and_contacts_no_host(tmp_path):
    traces = [run(CLAUDE, tmp_path / f"{number}.jsonl") for number in range(10)]
    first = normal(traces[0])
    for trace in traces:
        assert diff(first, normal(trace)) == ""
        assert trace.egress == ()


@pytest.mark.parametrize("scenario", SCENARIOS[:-1], ids=lambda scenario: scenario.title)
def test_a_scenario_without_the_cli_passes_and_contacts_no_host(scenario, tmp_path):
    trace = run(scenario, tmp_path / "journal.jsonl")
    assert trace.egress == ()
    assert trace.steps  # all of them ask their model


@pytest.mark.parametrize("scenario", HERE, ids=lambda scenario: scenario.title)
def test_a_scenario_in_process_writes_the_same_bytes_every_time(scenario, tmp_path):
    written = []
    for number in range(2):
        run(scenario, tmp_path / f"{number}.jsonl")
        written.append((tmp_path / f"{number}.jsonl").read_bytes())
    assert written[0] == written[1]


def test_the_terminal_scenario_keeps_screens_with_their_colours(tmp_path):
    run(TERMINAL, tmp_path / "journal.jsonl")
    screens = [
        one.event for one in read_journal(tmp_path / "journal.jsonl") if type(one.event) is ScreenChanged
    ]
    named = {screen.label: screen for screen in screens if screen.label}
    assert list(named) == ["two entries are chosen", "the model has written"]
    looks = {words for *_, words in named["the model has written"].styles}
    assert {"red", "green", "bright-green", "bold reverse blue"} <= looks


def test_the_programs_of_the_scenarios_know_nothing_of_soundstage():
    for name in ("discord_bot", "packing_agent", "sdk_agent", "terminal_app"):
        source = Path(sys.modules["soundstage.demo"].__path__[0], f"{name}.py").read_text()
        assert not re.search(r"^\s*(from|import) (soundstage|pytest)", source, re.MULTILINE), name


def test_a_scenario_that_fails_is_a_result_and_the_demo_says_so(tmp_path, capsys):
    async def wrong(host):
        raise ExpectationError("it is not as expected", seen="something else")

    assert run_demo(tmp_path, scenarios=[CONSOLE._replace(body=wrong)]) is False
    shown = capsys.readouterr().out
    assert re.search(r"FAILED in [0-9.]+ s\s+it is not as expected\s+seen: something else", shown)
    assert re.search(rf"^{CONSOLE.title} +failed ", shown, re.MULTILINE)
    assert "failed" in (tmp_path / "demo.html").read_text()


@pytest.mark.parametrize(
    "scenario", [CONSOLE, TEAM, TERMINAL, DISCORD, TAPE, WORKFLOW], ids=lambda scenario: scenario.title
)
def test_a_scenario_whose_model_says_something_else_fails(scenario, tmp_path, capsys):
    """The scenarios check what comes out: their models' words are not enough to pass."""

    def setup(builder):
        script = Script()
        script.otherwise("I would rather not say.")
        made = scenario.setup(builder)
        return made.with_script(script).with_timeout(0.5)

    assert run_demo(tmp_path, scenarios=[scenario._replace(setup=setup)]) is False
    assert "FAILED" in capsys.readouterr().out


def test_the_tape_scenario_shows_the_verdict_on_an_edited_prompt(tmp_path, capsys):
    assert run_demo(tmp_path, scenarios=[TAPE]) is True
    shown = capsys.readouterr().out
    assert re.search(r" replay +divergence: system prompt edited: messages\[0\] system", shown)
    assert "- 'You help people to pack. Name three things.'" in shown
    assert "+ 'You help people to pack. Name five things.'" in shown
    assert "soundstage tape accept packing.tape" in shown
    assert max(map(len, shown.splitlines()[:-1])) <= 132
    assert "divergence: system prompt edited" in (tmp_path / "demo.html").read_text()


def test_the_tape_scenario_fails_when_the_prompt_is_as_it_was(tmp_path, monkeypatch):
    from soundstage.demo import _tape

    monkeypatch.setattr(_tape, "EDITED", _tape.PROMPT)
    with pytest.raises(ExpectationError, match="exit"):
        run(TAPE, tmp_path / "journal.jsonl")


def test_the_workflow_scenario_runs_both_stages_twice_and_the_second_time_without_a_provider(tmp_path):
    run(WORKFLOW, tmp_path / "journal.jsonl")
    records = read_journal(tmp_path / "journal.jsonl")
    gone = next(one.position for one in records if "the provider is gone" in str(one.event))
    first, second = (
        build_workflow([one for one in records if (one.position < gone) == recorded])
        for recorded in (True, False)
    )
    assert [(stage.name, stage.status) for stage in first.stages] == [
        ("pack", "complete"),
        ("note", "complete"),
    ]
    assert [stage.result.output for stage in second.stages] == [stage.result.output for stage in first.stages]
    assert [file.path for file in second.files] == ["list.md"]


def test_the_workflow_scenario_fails_when_the_replay_asks_something_else(tmp_path, monkeypatch):
    from soundstage.demo import _workflow

    play = _workflow._play

    async def edited(host, path):
        host.workspace.write("prompt.txt", "You help people to unpack.")
        return await play(host, path)

    monkeypatch.setattr(_workflow, "_play", edited)
    with pytest.raises(WorkflowFailedError, match="'pack'"):
        run(WORKFLOW, tmp_path / "journal.jsonl")


def test_a_program_that_breaks_fails_its_scenario(tmp_path, capsys, monkeypatch):
    """The terminal's program is real: if it cannot start, the demo says what is on the screen."""
    from soundstage.demo import _terminal

    monkeypatch.setattr(_terminal, "PROGRAM", "soundstage.nothing")
    assert run_demo(tmp_path, scenarios=[TERMINAL]) is False
    shown = capsys.readouterr().out
    assert "exited and did not show what was expected" in shown
    screen = re.sub(r"[|\s]", "", shown)  # a long path of the interpreter breaks the line anywhere
    assert "Nomodulenamedsoundstage.nothing" in screen


def test_a_scenario_that_cannot_run_here_is_skipped_with_the_reason(tmp_path, capsys):
    lacking = DISCORD._replace(missing=lambda: "discord.py is not there: install <it>")
    assert run_demo(tmp_path, scenarios=[CONSOLE, lacking]) is True
    shown = capsys.readouterr().out
    assert "    skipped: discord.py is not there: install <it>\n" in shown
    assert re.search(rf"^{DISCORD.title} +skipped ", shown, re.MULTILINE)
    assert "Skipped: discord.py is not there: install &lt;it&gt;" in (tmp_path / "demo.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.jsonl", "demo.html"]


@pytest.mark.parametrize(
    ("scenario", "module", "hint"),
    [(DISCORD, "discord", "soundstage[discord]"), (SDK, "openai", "pip install openai")],
    ids=["discord", "openai"],
)
def test_a_missing_extra_is_noticed_before_anything_starts(scenario, module, hint, monkeypatch):
    assert scenario.missing() == ""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == module else name)
    assert hint in scenario.missing()


def test_a_missing_cli_is_noticed_before_anything_starts(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SOUNDSTAGE_CLAUDE", raising=False)
    assert "soundstage[claude]" in CLAUDE.missing()


def test_the_command_exits_with_1_when_a_scenario_fails_and_runs_the_others(tmp_path):
    """A CLI that was named and is not there is a mistake, not a reason to skip."""
    ended = subprocess.run(
        [sys.executable, "-m", "soundstage.cli", "demo", "--out", tmp_path],
        env={**os.environ, "SOUNDSTAGE_CLAUDE": "/no/such/claude"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ended.returncode == 1
    assert re.search(r"FAILED in .*\n    the Claude Code CLI is not where it should be", ended.stdout)
    assert ended.stdout.count("    passed in") == 7
    assert ended.stderr == ""


def test_a_run_that_ends_with_several_errors_tells_them_all():
    both = ExceptionGroup("the run", [ExpectationError("one is wrong"), ValueError("so is another")])
    assert told(both).splitlines()[1:] == ["one is wrong", "ValueError: so is another"]


def test_the_demo_ends_well_when_nobody_reads_its_output(tmp_path):
    """`soundstage demo | head -1`: the page is written all the same."""
    code = (
        "import pathlib, sys; from soundstage.demo._run import SCENARIOS, run_demo; "
        "run_demo(pathlib.Path(sys.argv[1]), scenarios=SCENARIOS[:2])"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        program.stdout.close()
    assert program.returncode == 0
    assert (tmp_path / "demo.html").exists()


@pytest.fixture(autouse=True)
def no_colours(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
