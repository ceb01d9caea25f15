"""The verdicts of hooks and how they are started, against what the CLI makes of the same hooks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import pytest

from soundstage.claude_code import HookRun, PluginHook, bundled_cli
from soundstage.claude_code._hook_verdict import judge
from soundstage.errors import ScriptError
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
Play = Callable[..., Any]
Make = Callable[..., Path]

TOP: dict[str, tuple[Any, ...]] = {
    "continue": (False, False, True, "no"),
    "decision": ("block", "block", "approve", "deny", None),
    "reason": ("why", "why", 5),
    "stopReason": ("over", 5),
    "systemMessage": ("note", {}),
    "suppressOutput": (True, "yes"),
    "async": (True, False, "x"),
    "unknown": (1,),
}
SPECIFIC: dict[str, tuple[Any, ...]] = {
    "permissionDecision": ("deny", "deny", "ask", "allow", "defer", "strange"),
    "permissionDecisionReason": ("because", "because", 3),
    "additionalContext": ("remark", 5),
    "other": (1,),
}
NAMES = (None, "PreCompact", "Other", "PostToolUse", "Stop", "UserPromptSubmit", "PreToolUse")

AROUND = (*("{}",) * 5, "\n {} \n", "text\n{}", "{}\nmore", "{}{{}}", "\ufeff{}", "[{}]")


class Case(NamedTuple):
    """A hook's exit code, and what it prints."""

    code: int
    stdout: str
    stderr: str


def said(event: str, draw: random.Random) -> dict[str, Any]:
    """The output of a hook, put together by chance: mostly what is meant, at times what is not."""
    found = {name: draw.choice(TOP[name]) for name in draw.sample(sorted(TOP), draw.choice((0, 1, 1, 2)))}
    if draw.random() < 0.6:
        fields = draw.sample(sorted(SPECIFIC), draw.choice((0, 1, 1, 2)))
        name = event if draw.random() < 0.75 else draw.choice(NAMES)
        specific = {field: draw.choice(SPECIFIC[field]) for field in fields}
        found["hookSpecificOutput"] = specific if name is None else {"hookEventName": name, **specific}
    return found


def generated(event: str, seed: int, count: int) -> Iterator[Case]:
    draw = random.Random(f"{event} {seed}")
    for _ in range(count):
        text = json.dumps(said(event, draw), indent=draw.choice((None, None, 2)))
        around = draw.choice(
            ("{}", "{}", "{}", "{}", "{}", "\n {} \n", "text\n{}", "{}\nmore", "{}{{}}", "\ufeff{}", "[{}]")
        )
        yield Case(
            draw.choice((0, 0, 0, 1, 2, 2, 3)),
            draw.choice(
                (around.format(text), around.format(text), around.format(text), "", "plain", "{broken")
            ),
            draw.choice(("", "complaint")),
        )


FIXED = (
    Case(0, "", ""),
    Case(1, "", "oops"),
    Case(2, "", "no"),
    Case(2, "out", ""),
    Case(2, "{}", "no"),
    Case(2, '{"continue": false}', "no"),
    Case(2, '{"async": true}', "no"),
    Case(0, '{"decision": "block", "decision": "approve"}', ""),
    Case(1, '{"decision": "block", "reason": "r"}', "e"),
    Case(0, 'text\n{"decision": "block"}', ""),
    Case(0, '{"continue": false, "decision": "block", "reason": "r", "stopReason": "s"}', ""),
)


def write_cases(folder: Path, cases: dict[str, Case]) -> str:
    """The command of a hook that does what the case says whose name is in its input; the other inputs pass."""
    folder.mkdir()
    for name, case in cases.items():
        lines = f"printf %s {quote(case.stdout)}\nprintf %s {quote(case.stderr)} >&2\nexit {case.code}\n"
        (folder / name).write_text(lines)
    passes = "x=$(cat); case $x in *'\"stop_hook_active\":true'*) exit 0;; *case-*) ;; *) exit 0;; esac"
    return f"{passes}; n=${{x##*case-}}; . {folder}/${{n%%[!A-Za-z0-9]*}}"


def ours(event: str, case: Case) -> HookRun:
    return judge(PluginHook(event=event), case.code, case.stdout, case.stderr)


def test_what_hooks_decide_is_what_the_cli_does(with_claude: Play, tmp_path: Path) -> None:
    """Every output is printed by a hook of a session; what became of the tool, the prompt, the agent is compared."""
    counts = {"PreToolUse": 50, "UserPromptSubmit": 20, "Stop": 15}
    cases = {event: [*FIXED, *generated(event, 7, count)] for event, count in counts.items()}
    named = {event: {f"{event}{n}": case for n, case in enumerate(found)} for event, found in cases.items()}
    settings: dict[str, Any] = {
        "hooks": {
            event: [{"hooks": [{"type": "command", "command": write_cases(tmp_path / event, found)}]}]
            for event, found in named.items()
        }
    }
    settings["hooks"]["PreToolUse"].append(
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2", "async": True}]}
    )
    blocked: dict[str, bool] = {}
    reasons: dict[str, str] = {}

    async def tools(run: Any) -> None:
        files = {name: run.workspace.write(f"case-{name}.txt", "x") for name in named["PreToolUse"]}
        calls = [CallSpec(name="Read", arguments={"file_path": str(path)}) for path in files.values()]
        bash = CallSpec(name="Bash", arguments={"command": "echo ran", "description": "d"})
        run.script.on(user="tools", times=1).reply(tool_calls=[*calls, bash])
        turn = await run.claude.prompt("tools", within=120)
        *read, ran = turn.tool_uses
        blocked.update((name, use.text != "1\tx") for name, use in zip(files, read, strict=True))
        assert ran.text == "ran"  # what runs in the background stops nothing

    async def prompts(run: Any) -> None:
        for name in named["UserPromptSubmit"]:
            turn = await run.claude.prompt(f"case-{name} go", within=60)
            blocked[name] = not turn.requests
            reasons[name] = turn.prompt_blocked

    async def stops(run: Any) -> None:
        for name in named["Stop"]:
            run.script.on(user=f"begin {name} ", times=1, priority=1).reply(f"I say case-{name} now")
            turn = await run.claude.prompt(f"begin {name} go", within=60)
            blocked[name] = len(turn.requests) > 1

    async def body(run: Any) -> None:
        await tools(run)
        await prompts(run)
        await stops(run)

    with_claude(body, settings=settings, allowed_tools=["Bash"])
    different = [
        (event, case, "blocked" if blocked[name] else "let through")
        for event, found in named.items()
        for name, case in found.items()
        if ours(event, case).blocked != blocked[name]
    ]
    assert different == []
    for event, found in named.items():  # neither answer is always right
        assert 5 < sum(blocked[name] for name in found) < len(found) - 5, event
    assert [
        (case, reasons[name])
        for name, case in named["UserPromptSubmit"].items()
        if reasons[name] != ((ours("UserPromptSubmit", case).reason or "blocked") if blocked[name] else "")
    ] == []


# --- how they are started

RECORD = """#!/usr/bin/env python3
import json, os, sys
given = json.load(sys.stdin)
record = {"argv": sys.argv[1:], "cwd": os.getcwd(), "given": given, "env": dict(os.environ)}
record["data"] = os.path.isdir(os.environ.get("CLAUDE_PLUGIN_DATA", "/nowhere"))
open(os.environ["HOME"] + "/record", "a").write(json.dumps(record) + "\\n")
"""
ROOT = "${CLAUDE_PLUGIN_ROOT}"
STARTS: tuple[dict[str, Any], ...] = (
    {
        "command": f'"{ROOT}/record.py" shell "$CLAUDE_PLUGIN_ROOT" ${{CLAUDE_PLUGIN_DATA}} $CLAUDE_PROJECT_DIR $0 $1'
    },
    {"command": f'"{ROOT}/record.py" bash? $BASH $(readlink /proc/$$/exe)', "shell": "bash"},
    {
        "command": f"{ROOT}/record.py",
        "args": ["args", "a b", "$HOME", "${HOME}", ROOT, "${CLAUDE_PLUGIN_DATA}"],
    },
    {
        "command": "python3",
        "args": [f"{ROOT}/record.py", "by-name", "${CLAUDE_PROJECT_DIR}", "$CLAUDE_PLUGIN_ROOT"],
    },
    {"command": f"{ROOT}/record.py", "args": []},
    {"command": f"{ROOT}/record.py no-such-program", "args": ["x"]},
)


def test_hooks_are_started_as_the_cli_starts_them(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    hooks = [{"matcher": "Read", "hooks": [{"type": "command", **start}]} for start in STARTS]
    plugin = {"record.py": RECORD, "hooks/hooks.json": {"hooks": {"PreToolUse": hooks}}}
    folder = make_plugin(tmp_path / "my.plug in", plugin, name="demo")
    (folder / "record.py").chmod(0o755)
    seen: dict[str, list[dict[str, Any]]] = {}

    def records(home: Path) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in (home / "record").read_text().splitlines()]
        (home / "record").unlink()
        return sorted(found, key=lambda record: json.dumps(record["argv"]))

    async def body(run: Any) -> None:
        path = run.workspace.write("a.txt", "x")
        call = CallSpec(name="Read", arguments={"file_path": str(path)})
        run.script.on(user="go", times=1).reply(tool_calls=[call])
        run.script.on(user="go").reply("done")
        turn = await run.claude.prompt("go", within=60)
        seen["cli"] = records(run.claude.home)
        own = [
            await run.claude.hooks.run(hook, {"tool_name": "Read"}) for hook in await run.claude.hooks.list()
        ]
        seen["ours"] = records(run.claude.home)
        outcomes = [
            message.data["exit_code"]
            for message in turn.messages
            if message.data.get("subtype") == "hook_response"
        ]
        assert sorted(outcomes) == sorted(ran.exit_code for ran in own) == [0, 0, 0, 0, 0, 1]

    with_claude(body, plugin_dirs=[folder])
    for cli, ours in zip(seen["cli"], seen["ours"], strict=True):
        assert (cli["argv"], cli["cwd"], cli["data"]) == (ours["argv"], ours["cwd"], ours["data"])
        assert set(ours["given"]) <= set(cli["given"])
        different = {
            name for name in cli["env"] | ours["env"] if cli["env"].get(name) != ours["env"].get(name)
        }
        assert different <= OF_THE_PROCESS, different


OF_THE_PROCESS = {  # what a running CLI adds about itself
    *("AI_AGENT", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"),
    *(
        "CLAUDE_CODE_CHILD_NOTES_DIR",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_EFFORT",
    ),
    *("CLAUDE_PID", "COREPACK_ENABLE_AUTO_PIN", "NODE_USE_ENV_PROXY", "NoDefaultCurrentDirectoryInExePath"),
    *("OLDPWD", "PWD", "SHLVL", "_"),
}


def test_hooks_have_the_limits_that_their_files_name(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    def named(number: int) -> dict[str, Any]:
        hook = {"type": "command", "command": f"echo {number}", "timeout": number}
        return {"UserPromptSubmit": [{"hooks": [hook]}]}

    condition = {"type": "command", "command": "true", "if": "Bash(git *)", "async": True}
    plain = {"type": "command", "command": "true"}
    files = {
        "hooks/hooks.json": {
            "hooks": {**named(1), "Stop": [{"hooks": [plain]}], "PreToolUse": [{"hooks": [condition]}]}
        },
        "more/hooks.json": {"hooks": named(2)},
    }
    folder = make_plugin(tmp_path / "demo", files, hooks=["./more/hooks.json", named(3)])

    async def body(run: Any) -> None:
        listed = await run.claude.hooks.list()
        limits = {hook.command: hook.timeout for hook in listed if hook.event == "UserPromptSubmit"}
        assert limits == {"echo 1": 1, "echo 2": 2, "echo 3": 3}
        (stop,) = [hook for hook in listed if hook.event == "Stop"]
        assert stop.timeout is None
        (guard,) = [hook for hook in listed if hook.event == "PreToolUse"]
        assert (guard.condition, guard.background) == ("Bash(git *)", True)
        with pytest.raises(ScriptError, match=r"if 'Bash\(git \*\)'"):
            await run.claude.hooks.run(guard, {"tool_name": "Bash"})
        (run.claude.home / ".claude/settings.json").write_text(json.dumps({"hooks": named(4)}))
        assert [hook.timeout for hook in await run.claude.hooks.list("UserPromptSubmit")][:1] == [4]

    with_claude(body, plugin_dirs=[folder], opens=False)
