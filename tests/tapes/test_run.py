"""Programs on tapes: recorded with the provider's stand-in, replayed without it, by the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.tapes import Tape
from soundstage.tapes._seen import seen_path
from support.programs import ASK
from support.sockets import run_on
from support.taping import KEY, provider

AGENT = (
    ASK
    + """
import sys
for prompt in sys.argv[1:]:
    print(ask([{"role": "user", "content": prompt}]))
sys.exit(3 if "fail" in sys.argv else 0)
"""
)


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A folder with an agent, and a key in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    Path("agent.py").write_text(AGENT)
    return tmp_path


def soundstage(*arguments):
    """Run the command line; an ended process."""
    command = [sys.executable, "-m", "soundstage.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def program(*prompts):
    return ["--", sys.executable, "agent.py", *prompts]


def record(*prompts, options=()):
    async def main():
        async with provider() as upstream:
            import asyncio

            arguments = [
                "record",
                "--tape",
                "t.tape",
                "--upstream",
                f"openai={upstream.openai_url}",
                *options,
            ]
            return await asyncio.to_thread(soundstage, *arguments, *program(*prompts))

    return run_on("asyncio", main())


def replay(*prompts, options=()):
    return soundstage("replay", "--tape", "t.tape", *options, *program(*prompts))


def test_a_program_runs_on_its_tape_without_the_provider_and_without_its_key(agent):
    recorded = record("joke", "and so on")
    assert recorded.returncode == 0, recorded.stderr
    assert "recorded 2 exchange(s) into t.tape" in recorded.stderr
    assert KEY not in Path("t.tape").read_text()
    replayed = replay("joke", "and so on")
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert replayed.stdout == recorded.stdout


def test_the_exit_code_is_that_of_the_program(agent):
    assert record("joke", "fail").returncode == 3
    assert replay("joke", "fail").returncode == 3


def test_a_divergence_ends_with_1_and_its_first_line_names_the_cause(agent):
    record("joke about ducks")
    ended = replay("joke about geese")
    assert ended.returncode == 1
    line = next(line for line in ended.stderr.splitlines() if line.startswith("divergence: "))
    assert line.startswith("divergence: prompt edited: messages[0] user, part 1")
    assert "soundstage tape accept t.tape" in ended.stderr
    assert "soundstage record --tape t.tape --mode all" in ended.stderr


def test_a_program_that_asks_less_than_was_recorded_has_diverged(agent):
    record("joke", "and so on")
    ended = replay("joke")
    assert ended.returncode == 1
    assert "divergence: missing call: 'and so on', exchange 2" in ended.stderr
    assert seen_path(Path("t.tape")).exists()


def test_warn_plays_the_nearest_call_and_lists_what_differs(agent):
    record("joke", "and so on")
    ended = replay("joke", "and so forth", options=["--tapes", "warn"])
    assert ended.returncode == 0
    assert ended.stdout == "Knock knock. Who is there? \u00dcn\u00efcode.\nas you say\n"
    assert "divergence: prompt edited" in ended.stderr


def test_mode_once_replays_what_is_there_and_mode_new_adds_what_is_not(agent):
    record("joke")
    told = record("joke").stderr
    assert "played 1 exchange(s)" in told
    assert "--upstream is not used: t.tape is there" in told
    added = record("joke", "and so on", options=["--mode", "new"])
    assert "recorded 1 exchange(s)" in added.stderr
    assert [one.request.last_user_text for one in Tape.load("t.tape").exchanges] == ["joke", "and so on"]
    assert replay("joke", "and so on").returncode == 0


def test_a_program_that_asks_nobody_is_named(agent):
    Path("agent.py").write_text("print('hello')")
    ended = record()
    assert ended.returncode == 1
    assert "nothing arrived" in ended.stderr
    assert not Path("t.tape").exists()


def test_a_replay_without_a_tape_says_how_to_record_one(agent):
    ended = replay("joke")
    assert ended.returncode == 2
    assert "soundstage record --tape" in ended.stderr


def test_a_tape_of_an_older_format_is_told_as_that_and_can_be_recorded_again(agent):
    Path("t.tape").write_text('{"line": "tape", "v": 1}\n')
    ended = replay("joke")
    assert ended.returncode == 1
    assert ended.stderr.startswith("divergence: tape older than its format: version 1")
    assert record("joke", options=["--mode", "all"]).returncode == 0
    assert replay("joke").returncode == 0


def test_a_replay_reaches_nobody_outside_and_says_who_was_tried(agent):
    Path("agent.py").write_text(
        "import urllib.request\n"
        "try:\n    urllib.request.urlopen('http://example.com/', timeout=5)\n"
        "except OSError:\n    print('no')\n" + AGENT
    )
    record("joke")
    ended = replay("joke")
    assert ended.stdout.startswith("no\n")
    assert "the program tried to reach example.com" in ended.stderr


def test_nothing_of_a_program_that_is_interrupted_is_left(agent):
    Path("agent.py").write_text(
        "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\n"
        "print('up', flush=True)\ntime.sleep(600)\n"
    )
    Path("t.tape").write_text('{"line": "tape"}\n')
    command = [sys.executable, "-m", "soundstage.cli", "replay", "--tape", "t.tape", *program()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        running.terminate()
        running.wait(60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("pid").read_text()), 0)


def test_a_script_is_recorded_and_its_tape_is_a_script_again(agent):
    Path("s.yaml").write_text(
        "version: 1\nstrict: true\nrules:\n- {when: {user: joke}, reply: {text: Knock knock.}}\n"
    )
    recorded = soundstage("script", "to-tape", "s.yaml", "--tape", "t.tape", *program("joke"))
    assert (recorded.returncode, recorded.stdout) == (0, "Knock knock.\n"), recorded.stderr
    assert replay("joke").stdout == "Knock knock.\n"
    made = soundstage("tape", "to-script", "t.tape", "-o", "again.yaml")
    assert made.stdout == "again.yaml: 1 rule(s) of 1 call(s)\n", made.stderr
    assert made.stderr == ""
    again = soundstage("script", "to-tape", "again.yaml", "--tape", "again.tape", *program("joke"))
    assert again.stdout == "Knock knock.\n"
    first, second = (Tape.load(name).exchanges[0] for name in ("t.tape", "again.tape"))
    assert (first.request, first.response) == (second.request, second.response)
