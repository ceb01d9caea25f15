"""`soundstage faults`, as a process: the table, JSON, exit codes, and where each goes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.tapes import Tape
from soundstage.tapes._run import RunOptions, run_with_tape
from support.sweeps import ANSWER, NOTE

AGENT = Path(__file__).resolve().parent.parent / "support" / "plain_agent.py"
SCRIPT = {
    "version": 1,
    "strict": True,
    "rules": [
        {"when": {"tool_result": "noted"}, "reply": {"text": ANSWER}, "times": 1},
        {
            "when": {"user": "milk"},
            "reply": {"tool_calls": [{"name": "append_note", "arguments": {"text": NOTE}}]},
            "times": 1,
        },
    ],
}


@pytest.fixture
def faults(tmp_path):
    """Runs `soundstage faults` on the agent, in a folder that has it and the script."""
    shutil.copy(AGENT, tmp_path / "agent.py")
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))

    def go(*options, tries="2", source="script.json"):
        command = [sys.executable, "-m", "soundstage.cli", "faults", source, *options]
        return subprocess.run(
            [*command, "--", sys.executable, "agent.py", *([tries] if isinstance(tries, str) else tries)],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "100", "TERM": "dumb"},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return go


def test_the_table_is_on_standard_output_and_the_progress_on_standard_error(faults):
    done = faults("--kinds", "500,cut-tool", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert [line.split()[:3] for line in done.stdout.splitlines()[1:4]] == [
        ["1:500", "3", "survived"],
        ["1:cut-tool", "3", "survived"],
        ["2:500", "3", "survived"],
    ]
    assert "3/3" in done.stderr
    assert "soundstage:" not in done.stdout


def test_a_finding_ends_with_1_and_the_command_that_it_shows_runs_that_case_again(faults, tmp_path):
    done = faults("--kinds", "529", "--allow", "survived", "--seed", "3", tries="1")
    assert done.returncode == 1, done.stdout + done.stderr
    again = next(line for line in done.stdout.splitlines() if line.startswith("one of them again: "))
    command = again.removeprefix("one of them again: soundstage ")
    assert command.startswith("faults script.json --seed 3 --kinds 529 --allow survived --only 1:529 -- ")
    repeated = faults(*command.partition(" -- ")[0].split()[2:], tries="1")
    assert repeated.returncode == 1
    assert "1 faulty run over 2 model calls" in repeated.stdout


def test_a_tape_is_swept_and_the_command_that_is_shown_runs_a_case_on_the_tape_again(faults, tmp_path):
    agent = tmp_path / "agent.py"
    prompt = '"role": "user", "content": '
    assert prompt in agent.read_text()
    places = 'os.getcwd() + " " + os.environ["HOME"] + " " + '
    agent.write_text(agent.read_text().replace(prompt, prompt + places))
    run_with_tape(
        RunOptions(
            tmp_path / "notes.tape",
            (sys.executable, "agent.py", "2", "stream"),
            mode="all",
            script=tmp_path / "script.json",
            isolation="process",
            cwd=tmp_path,
        )
    )
    assert len(Tape.load(tmp_path / "notes.tape")) == 2
    done = faults(
        "--kinds", "cut-tool,outage", "--allow", "survived", tries=("1", "stream"), source="notes.tape"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1:cut-tool" in done.stdout
    again = next(line for line in done.stdout.splitlines() if line.startswith("one of them again: "))
    command = again.removeprefix("one of them again: soundstage ")
    assert command.startswith("faults notes.tape --seed 0 --kinds cut-tool,outage --allow survived --only 1:")
    repeated = faults(*command.partition(" -- ")[0].split()[2:], tries=("1", "stream"), source="notes.tape")
    assert repeated.returncode == 1
    assert "1 faulty run over 2 model calls" in repeated.stdout


def test_the_same_as_json_has_a_row_for_each_case(faults):
    done = faults("--kinds", "529", "--json", tries="1")
    table = json.loads(done.stdout)
    assert [(row["case"], row["verdict"], row["finding"]) for row in table["rows"]] == [
        ("1:529", "gave up", False),
        ("2:529", "gave up", False),
    ]
    assert table["counts"] == {"gave up": 2}


@pytest.mark.parametrize(
    ("options", "tries", "said"),
    [
        ((), "none", "the good run failed"),
        (("--kinds", "50"), "2", "there is no kind of fault '50'"),
        (("--allow", "fine"), "2", "--allow takes of: survived, gave up"),
    ],
    ids=["good run", "kind", "verdict"],
)
def test_what_cannot_be_swept_ends_with_2_and_says_why(faults, options, tries, said):
    done = faults(*options, tries=tries)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
