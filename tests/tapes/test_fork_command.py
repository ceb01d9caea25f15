"""The command `fork`: programs that leave their tape, with a script or with a provider that goes on."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.tapes import Tape
from support.sockets import run_on
from support.taping import provider

PROGRAM = """
import json, os, sys, urllib.request
messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": sys.argv[1]}]
while True:
    asked = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "m", "messages": messages}).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    reply = json.load(urllib.request.urlopen(asked))["choices"][0]["message"]
    messages.append(reply)
    if not reply.get("tool_calls"):
        break
    messages += [{"role": "tool", "tool_call_id": one["id"], "content": "sun"} for one in reply["tool_calls"]]
print(reply["content"])
sys.exit(3 if reply["content"] == "snow" else 0)
"""
SCRIPT = """
version: 1
rules:
- {when: {tool_result: sun}, reply: {text: "sun it is"}}
- {when: {user: weather}, reply: {tool_calls: [{name: weather, arguments: {city: Paris}}], check_calls: false}}
"""


def soundstage(*arguments, **variables):
    """Run the command line; an ended process."""
    command = [sys.executable, "-m", "soundstage.cli", *arguments]
    given = {**os.environ, "OPENAI_API_KEY": "sk-test", **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=given)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a program, a script, and a tape of them."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "agent.py").write_text(PROGRAM)
    (folder / "s.yaml").write_text(SCRIPT)
    (folder / "on.yaml").write_text(
        "version: 1\nrules:\n- {when: {tool_result: hail}, reply: {text: snow}}\n"
    )
    arguments = ["script", "to-tape", f"{folder}/s.yaml", "--tape", f"{folder}/w.tape"]
    ended = soundstage(*arguments, "--", sys.executable, f"{folder}/agent.py", "weather")
    assert (ended.returncode, ended.stdout) == (0, "sun it is\n"), ended.stderr
    return folder


@pytest.fixture
def folder(recorded, tmp_path, monkeypatch):
    """The same for one test."""
    for file in recorded.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(question="weather"):
    return ["--", sys.executable, "agent.py", question]


def test_a_program_goes_on_with_a_script_and_its_branch_is_a_tape_beside_the_first(folder):
    change = ["--at", "2", "--set", "tool.weather.result=hail", "--script", "on.yaml"]
    ended = soundstage("fork", "w.tape", *change, *program())
    assert (ended.returncode, ended.stdout) == (3, "snow\n"), ended.stderr
    assert "left the tape at step 2 of w.tape: tool.weather.result=hail" in ended.stderr
    assert (
        "w.fork-1.tape: 1 exchange(s) of the tape, then 1; 1 of 1 request(s) with the change" in ended.stderr
    )
    played, made = Tape.load("w.fork-1.tape").exchanges
    assert (played.response, made.response.text) == (Tape.load("w.tape").exchanges[0].response, "snow")
    replayed = soundstage("replay", "--tape", "w.fork-1.tape", *program())
    assert (replayed.returncode, replayed.stdout) == (3, "snow\n"), replayed.stderr


def test_a_program_goes_on_with_a_provider_after_a_reply_that_was_written_in_an_editor(folder):
    (folder / "edit.py").write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        "file.write_text(file.read_text().replace('Paris', 'Rome'))\n"
    )

    async def main():
        async with provider() as upstream:
            change = ["--at", "1", "--edit", "--upstream", f"openai={upstream.openai_url}", "--out", "b.tape"]
            editor = shlex.join([sys.executable, "edit.py"])
            return await asyncio.to_thread(soundstage, "fork", "w.tape", *change, *program(), VISUAL=editor)

    ended = run_on("asyncio", main())
    assert (ended.returncode, ended.stdout) == (0, "as you say\n"), ended.stderr
    assert "b.tape: 1 exchange(s) of the tape, then 1; 1 request(s) after it" in ended.stderr
    changed, made = Tape.load("b.tape").exchanges
    assert changed.response.tool_calls[0].arguments == {"city": "Rome"}
    assert made.request.messages[-2].parts == changed.response.parts
    assert not Path("w.fork-1.tape").exists()


def test_a_program_that_is_another_one_has_not_left_its_tape(folder):
    change = ["--at", "2", "--set", "llm.reply=x", "--script", "on.yaml"]
    ended = soundstage("fork", "w.tape", *change, *program("whether"))
    assert ended.returncode == 1
    assert "divergence: prompt edited" in ended.stderr
    assert "the program did not come to step 2 of w.tape" in ended.stderr
