"""`soundstage eval record` and `eval replay`: a tape that is whole, on which the same agent is the recorded one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from soundstage.evals._command_line import evals
from soundstage.tapes import Tape

AGENTS = """\
from soundstage.messages import ModelRequest, user
from soundstage.models import complete

async def ask(place, text):
    return (await complete(place.model, ModelRequest(model="gpt-4.1", messages=(user(text),)))).text

async def answer(prompt, place):
    return await ask(place, f"{prompt}, asked in {place.workspace.root}")

async def twice(prompt, place):
    await ask(place, prompt)
    try:
        return await ask(place, prompt + " again")
    except Exception:
        return "never mind"

async def silent(prompt, place):
    return prompt

def graded(run):
    return 1 / ("Rome" not in run.case.input)
"""
RULES = "rules: [{when: {user: weather}, reply: {text: It is sunny.}}]\n"
SUITE = """\
agent: {{python: "{module}:answer"}}
tape: session.jsonl
expect: [{{contains: sunny}}]
cases:
  - {{name: paris, input: weather in Paris}}
  - {{name: rome, input: weather in Rome}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that we are in, with agents in a module that no other test has."""
    module = f"agents_{os.getpid()}_{tmp_path.name.replace('-', '_')}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{module}.py").write_text(AGENTS)
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "suite.yaml").write_text(SUITE.format(module=module))
    return tmp_path


def agent(folder, name="answer"):
    return f"python: {next(folder.glob('agents_*.py')).stem}:{name}"


def call(*words):
    """Exit code, output, and what was told."""
    done = CliRunner().invoke(evals, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def recorded(folder, name="answer"):
    words = ("--name", "paris", "--task", "weather in Paris", "--agent", agent(folder, name))
    code, out, err = call("record", *words, "--script", "rules.yaml")
    assert code == 0, out + err
    return folder / "fixtures" / "eval" / "paris" / "session.jsonl"


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_task_is_recorded_with_time_request_reply_and_latency_on_a_line_and_replays(folder):
    tape = recorded(folder)
    _, line = tape.read_text().splitlines()
    exchange = json.loads(line)
    assert exchange["timestamp"].startswith("20")
    assert exchange["latency_ms"] > 0
    assert exchange["request"]["model"] == "gpt-4.1"
    assert exchange["request"]["messages"][0]["parts"][0]["text"].startswith("weather in Paris, asked in ")
    assert exchange["response"]["parts"][0]["text"] == "It is sunny."
    code, out, err = call("replay", "--fixture", tape)
    assert (code, "It is sunny." in out, "exchange 1 of" in out) == (0, True, True), out + err
    assert "1 of 1 case(s)" in err
    assert "0 difference(s), 0 tokens" in err


def test_the_command_that_a_recording_names_replays_it_with_the_agent_of_this_folder(folder, monkeypatch):
    module = agent(folder).removeprefix("python: ").partition(":")[0]
    tape = recorded(folder)
    for place in ("", str(folder)):
        monkeypatch.setattr("sys.path", [path for path in sys.path if path != place])
    monkeypatch.delitem(sys.modules, module)
    code, out, err = call("run", tape.with_name("suite.yaml"))
    assert (code, "1 of 1 case passed" in out) == (0, True), out + err


def test_no_folder_of_this_machine_is_on_the_tape(folder):
    text = recorded(folder).read_text()
    assert "asked in /soundstage/cwd" in text
    for private in (str(folder), os.environ.get("TMPDIR", "/tmp/"), f"{Path.home()}/"):
        assert private not in text


def test_a_suite_is_recorded_whole_and_each_case_finds_its_own_exchange(folder):
    code, out, err = call("record", "suite.yaml", "--script", "rules.yaml")
    assert (code, "recorded 2 exchange(s) of 2 case(s)" in out) == (0, True), out + err
    code, out, err = call("run", "suite.yaml", "--repeat", "2")
    assert (code, "4 of 4 runs" in out) == (0, True), out + err
    assert call("replay", "--fixture", "session.jsonl")[0] == 0


def test_masks_that_were_reviewed_stay_when_a_suite_is_recorded_again(folder):
    call("record", "suite.yaml", "--script", "rules.yaml")
    edit(folder / "session.jsonl", '"places":', '"masks":[{"pattern":"order-[0-9]+"}],"places":')
    call("record", "suite.yaml", "--script", "rules.yaml")
    assert [mask.pattern for mask in Tape.load("session.jsonl").head.masks] == ["order-[0-9]+"]


def test_a_replay_of_a_changed_agent_ends_with_1_and_the_cause_and_relaxed_it_goes_on(folder):
    tape = recorded(folder)
    edit(tape, "asked in", "wanted in")
    code, _, err = call("replay", "--fixture", tape)
    assert code == 1
    assert "divergence: prompt edited: messages[0] user" in err
    assert "- 'weather in Paris, wanted in <cwd>'" in err
    code, out, err = call("replay", "--fixture", tape, "--relaxed")
    assert (code, "It is sunny." in out) == (0, True)
    assert "divergence: prompt edited" in err
    code, out, _ = call("run", tape.parent / "suite.yaml")
    assert (code, "failed: divergence: prompt edited" in out) == (1, True), out


@pytest.mark.parametrize("relaxed", [(), ("--relaxed",)])
def test_more_calls_than_lines_are_an_error_also_if_the_agent_swallows_it(folder, relaxed):
    tape = recorded(folder, "twice")
    kept = [line for line in tape.read_text().splitlines() if "Paris again" not in line]
    assert len(kept) == 2
    tape.write_text("\n".join(kept) + "\n")
    code, out, err = call("replay", "--fixture", tape, *relaxed)
    assert (code, "never mind" in out) == (1, True), out + err
    assert "extra call" in err


def test_a_call_that_is_not_made_any_more_is_a_divergence(folder):
    tape = recorded(folder, "twice")
    edit(tape.parent / "suite.yaml", ":twice", ":silent")
    code, _, err = call("replay", "--fixture", tape)
    assert (code, "missing call" in err) == (1, True), err


def test_a_line_that_is_no_exchange_is_told_with_its_number(folder):
    from soundstage.errors import TapeError

    tape = recorded(folder)
    tape.write_text(tape.read_text() + "nonsense\n")
    with pytest.raises(TapeError, match="line 3 of"):
        call("replay", "--fixture", tape)
    with pytest.raises(TapeError, match="cannot be read"):
        call("replay", "--fixture", "nothing.jsonl")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "a suite"),
        (("--name", "x", "--task", "y"), "--agent"),
        (("suite.yaml", "--name", "x", "--task", "y", "--agent", "model: m"), "a suite"),
        (("suite.yaml",), "--live"),
        (("suite.yaml", "--live", "openai", "--script", "rules.yaml"), "--live"),
        (("--name", "x", "--task", "y", "--agent", "nobody", "--script", "rules.yaml"), "--agent"),
    ],
)
def test_wrong_usage_ends_with_2_and_writes_nothing(folder, words, told):
    code, _, err = call("record", *words)
    assert (code, told in err) == (2, True), err
    assert not (folder / "fixtures" / "eval" / "x").exists()
    assert not (folder / "session.jsonl").exists()


def test_without_a_key_nothing_is_recorded_and_the_variable_is_named(folder, monkeypatch):
    from soundstage.errors import SoundstageError

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ("--name", "paris", "--task", "weather", "--agent", agent(folder), "--live", "openai/gpt-4.1")
    with pytest.raises(SoundstageError, match="OPENAI_API_KEY"):
        call("record", *words)
    assert not (folder / "fixtures" / "eval" / "paris").exists()


def test_a_recording_that_is_there_is_not_replaced_by_a_new_one_of_its_name(folder):
    before = recorded(folder).read_bytes()
    words = (
        "--name",
        "paris",
        "--task",
        "weather in Oslo",
        "--agent",
        agent(folder),
        "--script",
        "rules.yaml",
    )
    code, _, err = call("record", *words)
    assert (code, "already" in err) == (2, True)
    assert (folder / "fixtures" / "eval" / "paris" / "session.jsonl").read_bytes() == before


@pytest.mark.parametrize(("name", "code"), [("silent", 1), ("nobody", 2)])
def test_a_run_that_asks_nothing_or_cannot_be_made_leaves_no_recording(folder, name, code):
    from soundstage.errors import SoundstageError

    words = ("--name", "paris", "--task", "weather", "--agent", agent(folder, name), "--script", "rules.yaml")
    try:
        assert call("record", *words)[0] == code
    except SoundstageError:
        assert code == 2
    assert not (folder / "fixtures" / "eval" / "paris").exists()


def test_a_run_that_could_not_be_made_leaves_the_earlier_recording_of_its_suite(folder):
    call("record", "suite.yaml", "--script", "rules.yaml")
    before = (folder / "session.jsonl").read_bytes()
    module = agent(folder).removeprefix("python: ").partition(":")[0]
    edit(folder / "suite.yaml", "{contains: sunny}", f'{{python: "{module}:graded"}}')
    code, _, err = call("record", "suite.yaml", "--script", "rules.yaml")
    assert (code, "rome: error" in err, "nothing was written" in err) == (2, True, True), err
    assert (folder / "session.jsonl").read_bytes() == before
