"""Tests that `soundstage codegen` writes: they pass at once, and fail when the program changes what it asks or does."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from soundstage.messages import ModelRequest, ModelResponse, Text, user
from soundstage.tapes import RecordedExchange, Tape
from soundstage.tapes._literals import literal
from support.programs import ASK
from support.sockets import run_on
from support.taping import KEY, provider

CHAT = (
    ASK
    + """
import sys
messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "capital of " + sys.argv[1]}]
print(ask(messages, model="gpt-5"))
"""
)
CHAT_SCRIPT = "rules:\n- {when: {user: capital of Norway}, reply: {text: Oslo}}\n"

NOTES = """
import sys, anthropic
TOOL = {"name": "write_note", "description": "Keeps a note.", "input_schema": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}
client, messages = anthropic.Anthropic(max_retries=0), [{"role": "user", "content": "Note that: " + sys.argv[1]}]
while True:
    reply = client.messages.create(model="claude-sonnet-4-5", max_tokens=500, messages=messages, tools=[TOOL])
    messages.append({"role": "assistant", "content": [part.model_dump() for part in reply.content]})
    calls = [part for part in reply.content if part.type == "tool_use"]
    if not calls:
        break
    for call in calls:
        with open("note.txt", "a") as file:
            file.write(call.input["text"] + "\\n")
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "noted"} for call in calls]
    messages.append({"role": "user", "content": results})
print(reply.content[0].text)
"""
NOTES_SCRIPT = """
rules:
- {when: {tool_result: noted}, reply: {text: I have noted it.}}
- when: {user: milk}
  reply: {text: I write it down., tool_calls: [{name: write_note, arguments: {text: buy milk}}]}
"""

STREAM = """
import openai
events = openai.OpenAI(max_retries=0).responses.create(model="gpt-5", input="Tell me a story.", stream=True)
for event in events:
    if event.type == "response.output_text.delta":
        print(event.delta, end="")
print()
"""
STREAM_SCRIPT = "rules:\n- {when: {user: story}, reply: {text: Once upon a time there was a small test.}}\n"

TEAM = (
    ASK
    + """
def work(role, text):
    return ask([{"role": "system", "content": f"You are the {role}."}, {"role": "user", "content": text}])
plan = work("planner", "Plan the release.")
title = work("namer", "Name the release.")
print(title, "-", work("writer", "Write it up: " + plan))
"""
)
TEAM_SCRIPT = """
rules:
- {when: {system: planner}, reply: {text: "test, tag, ship"}}
- {when: {system: namer}, reply: {text: Aurora}}
- {when: {system: writer, user: "test, tag, ship"}, reply: {text: We ship today.}}
"""

NODE = """
const answer = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", {
  method: "POST",
  headers: {"content-type": "application/json", authorization: "Bearer " + process.env.OPENAI_API_KEY},
  body: JSON.stringify({model: "gpt-5", messages: [{role: "user", content: "Say hello to " + process.argv[2]}]}),
});
console.log((await answer.json()).choices[0].message.content);
"""
NODE_SCRIPT = "rules:\n- {when: {user: hello}, reply: {text: Hello Ada!}}\n"

PLAIN = (
    ASK
    + """
import sys
for prompt in ("tell me a joke about " + sys.argv[1], "and another one"):
    print(ask([{"role": "user", "content": prompt}], model="gpt-5"))
"""
)


class Program(NamedTuple):
    """A program of the tests: its file, source, script and arguments."""

    file: str
    source: str
    script: str
    arguments: tuple[str, ...] = ()


PROGRAMS = {
    "chat": Program("chat.py", CHAT, CHAT_SCRIPT, ("Norway",)),
    "notes": Program("notes.py", NOTES, NOTES_SCRIPT, ("milk",)),
    "stream": Program("stream.py", STREAM, STREAM_SCRIPT),
    "team": Program("team.py", TEAM, TEAM_SCRIPT),
    "node": Program("hello.mjs", NODE, NODE_SCRIPT, ("Ada",)),
}
CHANGES = {
    "prompt edited": ("chat", "capital of ", "What is the capital of "),
    "system prompt edited": ("chat", "You are brief.", "You are very brief."),
    "setting added": ("chat", 'model="gpt-5"', 'model="gpt-5", temperature=0'),
    "schema of a tool changed": ("notes", '"required": ["text"]', '"required": []'),
    "another file content": ("notes", 'call.input["text"] + ', 'call.input["text"].upper() + '),
    "another tool result": ("notes", '"content": "noted"', '"content": "noted!"'),
    "one call more": (
        "stream",
        "events = ",
        'openai.OpenAI(max_retries=0).responses.create(model="gpt-5", input="Tell me a story.")\nevents = ',
    ),
    "order of calls swapped": (
        "team",
        'plan = work("planner", "Plan the release.")\ntitle = work("namer", "Name the release.")',
        'title = work("namer", "Name the release.")\nplan = work("planner", "Plan the release.")',
    ),
    "another program's prompt edited": ("node", "Say hello to ", "Say a warm hello to "),
    "another output": ("node", ".message.content)", ".message.content.toLowerCase())"),
}


def written(name, folder):
    """A generated test of a program in a folder, with the ended command."""
    program = PROGRAMS[name]
    (folder / program.file).write_text(program.source)
    (folder / "script.yaml").write_text("version: 1\nstrict: true\n" + program.script)
    start = "node" if program.file.endswith(".mjs") else sys.executable
    command = [
        sys.executable,
        "-m",
        "soundstage.cli",
        "codegen",
        "--script",
        "script.yaml",
        "-o",
        "test_it.py",
        "--",
    ]
    return ended([*command, start, program.file, *program.arguments], folder)


def codegen(folder, *options):
    """Write a test of the plain program; the ended command."""
    (folder / "plain.py").write_text(PLAIN)
    command = [sys.executable, "-m", "soundstage.cli", "codegen", *options, "-o", "test_it.py", "--"]
    return ended([*command, sys.executable, "plain.py", "ducks"], folder)


def ended(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)


def checked(folder):
    return ended([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], folder)


def reads_like_one_by_hand(folder):
    """Hold the test of the program with a tool to the words of a person."""
    text = (folder / "test_it.py").read_text()
    assert 'script.on(tool_result="noted", times=1).reply("I have noted it.")' in text
    assert 'assert_tool_calls(run, ("write_note", {"text": {"equals": "buy milk"}}))' in text
    assert 'assert workspace.read("note.txt") == "buy milk\\n"' in text
    assert 'assert program.lines() == ["I have noted it."]' in text
    assert 'assert_tools_offered(run, 0, "write_note")' in text
    assert str(folder) not in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_generated_test_passes_at_once_reads_well_and_finds_each_planted_change(name, tmp_path):
    if name == "node" and shutil.which("node") is None:
        pytest.fail("node is not installed: this test needs it")
    done = written(name, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if name == "notes":
        reads_like_one_by_hand(tmp_path)
    file = PROGRAMS[name].file
    good = (tmp_path / file).read_text()
    changed = tmp_path.parent / f"{tmp_path.name}-changed"
    folders = {}
    for change, (_, old, new) in ((key, value) for key, value in CHANGES.items() if value[0] == name):
        assert old in good
        folders[change] = shutil.copytree(tmp_path, changed / f"change{len(folders)}")
        (folders[change] / file).write_text(good.replace(old, new, 1))
    inner = [sys.executable, "-m", "pytest", "-q", "-rA", "--import-mode=importlib", "-p", "no:cacheprovider"]
    output = ended(inner, changed).stdout  # one pytest for all changes: its start takes longer than a test
    assert f"{len(folders)} failed" in output, output
    for change, folder in folders.items():
        assert f"FAILED {folder.name}/test_it.py::" in output, f"not found: {change}\n{output}"


def test_a_test_of_a_tape_is_written_without_running_on_anything_else(tmp_path):
    tape = Tape.create(tmp_path / "t.tape")
    for number, (prompt, text) in enumerate(
        (("tell me a joke about ducks", "Quack."), ("and another one", "Moo.")), 1
    ):
        request = ModelRequest(model="gpt-5", messages=(user(prompt),), format="openai-chat")
        response = ModelResponse(parts=(Text(text=text),), model="gpt-5")
        tape.append(RecordedExchange(number=number, request=request, response=response))
    done = codegen(tmp_path, "--tape", "t.tape")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_it.py: 2 rule(s), 2 request(s)" in done.stdout
    assert 'assert program.lines() == ["Quack.", "Moo."]' in (tmp_path / "test_it.py").read_text()


def test_a_test_of_a_live_run_is_written_with_the_users_key_and_runs_without(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def main():
        async with provider() as upstream:
            return await asyncio.to_thread(
                codegen, tmp_path, "--no-check", "--upstream", f"openai={upstream.openai_url}"
            )

    done = run_on("asyncio", main())
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "test_it.py").read_text()
    assert KEY not in text
    assert '"Knock knock. Who is there? \u00dcn\u00efcode.", "as you say"' in text
    monkeypatch.delenv("OPENAI_API_KEY")
    assert checked(tmp_path).returncode == 0


@pytest.mark.parametrize(
    "value",
    [
        {"a": ["x" * 99, None, True, 1.5]},
        "line\n" * 40,
        'a "quoted" \\ text',
        "\u2028\x00",
        ("one",),
        [],
        {"k": ("a", [{}])},
    ],
    ids=["wide", "lines", "quotes", "unprintable", "tuple", "empty", "nested"],
)
def test_a_literal_is_the_value_that_it_stands_for(value):
    assert eval(literal(value, 4, 10)) == value
