"""Planted divergences: whatever a program changes, the first line of the verdict names the cause.

Three programs that have nothing in common: one on an official SDK in Python, one in Node that only fetches, and Claude
Code. The first two make the calls of a plan, so a change of the plan is a change of the program. The one on the SDK has
one change for each cause: to load it takes longer than all else.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
from pathlib import Path

import pytest

from soundstage.lifecycle import LoopThread
from soundstage.messages import call as tool_call
from soundstage.models import Reply, Script
from soundstage.tapes._run import RunOptions, run_with_tape
from support.taping import KEY, provider, upstreams

HERE = Path(__file__).resolve().parents[1] / "support"
PROGRAMS = {
    "python": [sys.executable, str(HERE / "planned_agent.py"), "plan.json"],
    "node": ["node", str(HERE / "planned_agent.mjs"), "plan.json"],
}
LOOK = {
    "name": "look_up",
    "description": "Looks up a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
NOTE = {"name": "note", "description": "Notes a text.", "parameters": {"type": "object", "properties": {}}}
PROMPT = "You are a careful assistant.\nYou answer in one sentence.\nYou never guess."


def step(user, *, agent="", tools=(), system=PROMPT, result="sunny, 21 degrees"):
    return {
        "agent": agent,
        "model": "gpt-4.1",
        "system": system,
        "user": user,
        "tools": [*tools],
        "settings": {"temperature": 0.2},
        "result": result,
    }


PLAN = [
    step("What is the weather\nin Paris\ntoday?", tools=(LOOK, NOTE)),
    step("Summarise the report in five words."),
    step("Is this summary fair to the authors?", agent="critic"),
    step("Write a friendlier version of it.", agent="writer"),
]


def edited(place, **fields):
    return lambda plan: plan[place].update(fields)


def tool_with(**fields):
    changed = copy.deepcopy(LOOK)
    changed.update(fields)
    return edited(0, tools=[changed, NOTE])


PLANTED = {
    "a word of the prompt": (edited(1, user="Summarise the report in six words."), "prompt edited"),
    "a line of the prompt": (edited(0, user="What is the weather\nin Rome\ntoday?"), "prompt edited"),
    "a line more in the prompt": (
        edited(0, user="What is the weather\nin Paris\ntoday?\nPlease."),
        "prompt edited",
    ),
    "a word of the system prompt": (
        edited(1, system=PROMPT.replace("careful", "bold")),
        "system prompt edited",
    ),
    "a line less in the system prompt": (
        edited(0, system="You are a careful assistant.\nYou never guess."),
        "system prompt edited",
    ),
    "words of a tool": (tool_with(description="Finds a city."), "tool schema changed"),
    "the type of a parameter": (
        tool_with(
            parameters={"type": "object", "properties": {"city": {"type": "array"}}, "required": ["city"]}
        ),
        "tool schema changed",
    ),
    "a parameter more": (
        tool_with(
            parameters={
                "type": "object",
                "properties": {"city": {"type": "string"}, "day": {"type": "string"}},
                "required": ["city"],
            }
        ),
        "tool schema changed",
    ),
    "a parameter that is not required": (
        tool_with(parameters={"type": "object", "properties": {"city": {"type": "string"}}}),
        "tool schema changed",
    ),
    "a tool more": (edited(1, tools=[NOTE]), "tool list changed"),
    "a tool less": (edited(0, tools=[LOOK]), "tool list changed"),
    "a tool by another name": (edited(0, tools=[LOOK, {**NOTE, "name": "remember"}]), "tool list changed"),
    "another model": (edited(1, model="gpt-4.1-mini"), "other model or settings"),
    "another temperature": (edited(1, settings={"temperature": 0.9}), "other model or settings"),
    "a setting more": (edited(0, settings={"temperature": 0.2, "max_tokens": 50}), "other model or settings"),
    "another result of a tool": (edited(0, result="rain, 9 degrees"), "tool result differs"),
    "a result of a tool with an error": (edited(0, result="error: no such city"), "tool result differs"),
    "two calls swapped": (lambda plan: plan.insert(0, plan.pop(1)), "order swapped"),
    "a call more": (lambda plan: plan.append(step("And now tell me a joke about it.")), "extra call"),
    "a call less": (lambda plan: plan.pop(1), "missing call"),
    "a call twice": (lambda plan: plan.insert(2, copy.deepcopy(plan[1])), "already played"),
    "a call of another agent": (edited(3, user=PLAN[2]["user"]), "other agent's call"),
}


def plan_script():
    script = Script()
    script.on(user="weather", tool_result="degrees").reply("It is fine there.")
    script.on(user="weather").reply(tool_call("look_up", {"city": "Paris"}))
    script.default = Reply(text="As you say.")
    return script


def run(mode, command, **fields):
    return run_with_tape(RunOptions(Path("t.tape"), tuple(command), mode=mode, isolation="process", **fields))


def record(command, script):
    """Record a program in the current folder, with a stand-in for the provider."""
    with LoopThread("provider") as beside:
        standing = provider(script)
        upstream = beside.call(standing.__aenter__())
        outcome = run("all", command, upstreams=upstreams(upstream))
        beside.call(standing.__aexit__(None, None, None))
    assert outcome.code == 0
    assert outcome.problems == ()
    return outcome


def cause_of(outcome):
    assert outcome.verdicts, "the replay has not noticed anything"
    line = outcome.verdicts[0].line
    assert line.startswith("divergence: ")
    assert "\n" not in line
    return outcome.verdicts[0].cause


@pytest.fixture(scope="module", params=PROGRAMS)
def recorded(request, tmp_path_factory):
    """A program, and a folder with its tape."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("OPENAI_API_KEY", KEY)
        assert record(PROGRAMS[request.param], plan_script()).recorded == 5
    return PROGRAMS[request.param], folder / "t.tape"


@pytest.fixture
def folder(recorded, tmp_path, monkeypatch):
    """A folder of its own for a replay."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(recorded[1], "t.tape")
    return tmp_path


def test_an_unchanged_program_replays_without_a_verdict(recorded, folder):
    Path("plan.json").write_text(json.dumps(PLAN))
    outcome = run("none", recorded[0])
    assert (outcome.code, outcome.verdicts, outcome.played) == (0, (), 5)


ONE_OF_EACH = {cause: planted for planted, (_, cause) in reversed(PLANTED.items())}.values()


@pytest.mark.parametrize(
    ("recorded", "planted"),
    [*(("node", planted) for planted in PLANTED), *(("python", planted) for planted in ONE_OF_EACH)],
    indirect=["recorded"],
)
def test_the_verdict_on_a_planted_change_names_its_cause(recorded, folder, planted):
    change, cause = PLANTED[planted]
    plan = copy.deepcopy(PLAN)
    change(plan)
    Path("plan.json").write_text(json.dumps(plan))
    assert cause_of(run("none", recorded[0])) == cause


def test_the_first_result_of_a_real_tool_that_differs_is_the_finding_and_warn_goes_on(recorded, folder):
    plan = copy.deepcopy(PLAN)
    plan[0]["result"] = "rain, 9 degrees"
    Path("plan.json").write_text(json.dumps(plan))
    outcome = run("none", recorded[0], relaxed=True)
    assert (outcome.code, outcome.played) == (0, 5)
    [verdict] = outcome.verdicts
    assert verdict.line.startswith('divergence: tool result differs: look_up({"city":"Paris"}), messages[')
    assert verdict.about.endswith("recorded 'sunny, 21 degrees', seen 'rain, 9 degrees'")


def claude_script():
    script = Script()
    script.on(user="read it", tool_result="colour").reply("The colour is told.")
    script.on(user="read it").reply(tool_call("Bash", {"command": "cat colour.txt", "description": "look"}))
    script.default = Reply(text="fine")
    return script


READ, OTHER = "please read it to me", "thank you very much"
CLAUDE_PLANTED = {
    "the prompt": (lambda cli: [cli("please read it to us"), cli(OTHER)], "prompt edited"),
    "the system prompt": (
        lambda cli: [cli(READ, "--append-system-prompt", "Be brief."), cli(OTHER)],
        "system prompt edited",
    ),
    "the model": (lambda cli: [cli(READ, model="claude-opus-4-5"), cli(OTHER)], "other model or settings"),
    "the tools": (lambda cli: [cli(READ, "--disallowedTools", "WebSearch"), cli(OTHER)], "tool list changed"),
    "a file that it reads": (
        lambda cli: ["echo the colour is red > colour.txt", cli(READ), cli(OTHER)],
        "tool result differs",
    ),
    "two runs swapped": (lambda cli: [cli(OTHER), cli(READ)], "order swapped"),
    "a run more": (lambda cli: [cli(READ), cli(OTHER), cli("what about the weather in Paris")], "extra call"),
    "a run less": (lambda cli: [cli(READ)], "missing call"),
    "a run twice": (lambda cli: [cli(READ), cli(OTHER), cli(OTHER)], "already played"),
    "the instructions of the project": (
        lambda cli: ["echo Use metric units. > CLAUDE.md", cli(READ), cli(OTHER)],
        "prompt edited",
    ),
    "another system prompt": (
        lambda cli: [cli(READ, "--system-prompt", "You are a parrot."), cli(OTHER)],
        "system prompt edited",
    ),
    "the limit of tokens": (
        lambda cli: ["export CLAUDE_CODE_MAX_OUTPUT_TOKENS=4000", cli(READ), cli(OTHER)],
        "other model or settings",
    ),
    "a file that is gone": (lambda cli: ["rm colour.txt", cli(READ), cli(OTHER)], "tool result differs"),
    "the schema of a tool": (
        lambda cli: ["export TYPE_OF_CITY=integer", cli(READ), cli(OTHER)],
        "tool schema changed",
    ),
    "a tool more": (lambda cli: ["export ONE_MORE=forecast", cli(READ), cli(OTHER)], "tool list changed"),
    "the budget of thinking": (
        lambda cli: ["export MAX_THINKING_TOKENS=2000", cli(READ), cli(OTHER)],
        "other model or settings",
    ),
    "a tool that a hook refuses": (
        lambda cli: [
            "sed -i 's/UserPromptSubmit/PreToolUse/; s/be quick/no >\\&2; exit 2/' hooks.json",
            cli(READ, "--settings", "hooks.json"),
        ],
        "tool result differs",
    ),
    "words that a hook adds": (
        lambda cli: [cli(READ, "--settings", "hooks.json"), cli(OTHER)],
        "prompt edited",
    ),
    "a name of a server": (
        lambda cli: ["sed -i s/weather/climate/ servers.json", cli(READ), cli(OTHER)],
        "tool list changed",
    ),
    "an older tape": (
        lambda cli: [cli(READ), cli(OTHER)],
        "tape older than its format",
    ),
}
CLAUDE_SERVER = """
import json, os, sys

def tool(name):
    place = {"type": os.environ.get("TYPE_OF_CITY", "string")}
    schema = {"type": "object", "properties": {"city": place}, "required": ["city"]}
    return {"name": name, "description": "The weather of a city.", "inputSchema": schema}

names = ["weather", *filter(None, [os.environ.get("ONE_MORE")])]
greeting = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}}
answers = {"initialize": greeting, "tools/list": {"tools": [tool(name) for name in names]}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""


def claude_line(prompt, *options, model="claude-haiku-4-5"):
    from soundstage.claude_code._binary import find_cli

    servers = ["--mcp-config", "servers.json", "--strict-mcp-config"]
    words = [str(find_cli()), "-p", prompt, "--allowedTools", "Bash", "--model", model, *servers, *options]
    return " ".join(f"'{word}'" for word in words)


def shell(lines):
    """Lines for a shell, which go on whatever becomes of one."""
    return ["sh", "-c", "\n".join([*lines, "true"])]


@pytest.fixture(scope="module")
def claude_tape(tmp_path_factory):
    folder = tmp_path_factory.mktemp("claude")
    with pytest.MonkeyPatch.context() as patch:
        _claude_home(folder, patch)
        record(shell([claude_line(READ), claude_line(OTHER)]), claude_script())
    return folder / "t.tape"


def _claude_home(folder, patch):
    (folder / "home").mkdir()
    (folder / "home" / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
    (folder / "colour.txt").write_text("the colour is blue\n")
    hook = {"hooks": [{"type": "command", "command": "echo be quick"}]}
    (folder / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [hook]}}))
    (folder / "server.py").write_text(CLAUDE_SERVER)
    server = {"command": sys.executable, "args": ["-I", "-S", "server.py"]}
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"weather": server}}))
    patch.chdir(folder)
    for name, value in {
        "HOME": str(folder / "home"),
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "ENABLE_TOOL_SEARCH": "false",
    }.items():
        patch.setenv(name, value)


@pytest.mark.parametrize("planted", [None, *CLAUDE_PLANTED])
def test_the_verdict_on_a_changed_run_of_claude_code_names_its_cause(
    claude_tape, planted, tmp_path, monkeypatch
):
    _claude_home(tmp_path, monkeypatch)
    shutil.copy(claude_tape, "t.tape")
    if planted is None:
        outcome = run("none", shell([claude_line(READ), claude_line(OTHER)]))
        assert (outcome.code, outcome.verdicts) == (0, ())
        return
    lines, cause = CLAUDE_PLANTED[planted]
    if planted == "an older tape":
        Path("t.tape").write_text('{"line": "tape", "v": 1}\n')
    assert cause_of(run("none", shell(lines(claude_line)))) == cause
