"""Matchers of hooks, against what the CLI makes of them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import HookCallback, PatternError, bundled_cli, javascript, matches
from soundstage.claude_code._matchers import fits
from soundstage.errors import ScriptError
from soundstage.models import CallSpec

needs_cli = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

NAMED = (
    *(
        "",
        "*",
        "Bash",
        "bash",
        "Ba",
        "ash",
        "Edit|Bash",
        "Edit, Bash",
        "Bash ,Read",
        " Bash | Read ",
        "|",
        ",",
    ),
    *(
        "Bash|",
        "Edit,",
        "Bash Read",
        "Bash\t",
        "Bash\n",
        "B-sh",
        "mcp__my-fs",
        "mcp__my-fs__.*",
        "Task",
        "Tas",
    ),
    *(
        "(Task)",
        "^Task$",
        "Task|Read",
        "^(?!Bash)",
        "^(?!Bash).*",
        "Bash*",
        "*Bash",
        "R*",
        "x*",
        "^",
        "$",
        "[^]",
    ),
    *(
        "[]",
        "[",
        "(",
        ")",
        "a++",
        "(?i)bash",
        "(?P<n>Bash)",
        "(?<n>Bash)",
        "(?<q>_)\\k<q>",
        "(?>a)",
        "Bash\\Z",
    ),
    *(
        "\\Bash",
        "\\Aash",
        "\\x42ash",
        "\\u0042ash",
        "a{,3}",
        "a{1,3}",
        "a{",
        "[a-\\w]ash",
        "[[B]ash",
        "[\\w-]ash",
    ),
    *(
        "a]|Bash",
        "Bash}",
        "Bash,.*",
        "Read|Ba.h",
        "(?<!x)Bash",
        "(?<=Ba)sh",
        "(?=Bash)*",
        "(?<=B)*ash",
        "^*",
        "\\b+",
    ),
    *(
        "[B-R]",
        "[]a]",
        "[\\b]",
        "[.]",
        "Bash(ls:*)",
        "!Bash",
        "(Bash)(?=$)",
        "(?:)",
        "\\-",
        "[\\]]|Bash",
        "e{2}$",
    ),
)
PIECES = (
    *(
        "Bash",
        "Read",
        "Agent",
        "Task",
        "mcp__my-fs__read_it",
        "mcp__",
        "sh",
        "a",
        "R",
        "-",
        "_",
        " ",
        "|",
        ",",
        ", ",
    ),
    *(
        "^",
        "$",
        ".",
        ".*",
        "+",
        "?",
        "*",
        "{2}",
        "{",
        "}",
        "(",
        "(?:",
        "(?!",
        "(?=",
        "(?<!",
        ")",
        "[A-Z]",
        "[^B]",
        "]",
    ),
    *("\\w", "\\b", "\\.", "\\D", "\\e"),
)
TOOLS = ("Bash", "Read", "Agent", "mcp__my-fs__read_it")
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    tool = {"name": "read_it", "description": "d", "inputSchema": {"type": "object"}}
    about = {"protocolVersion": (asked.get("params") or {}).get("protocolVersion")}
    about |= {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    known = {"initialize": about, "tools/list": {"tools": [tool]}}
    known["tools/call"] = {"content": [{"type": "text", "text": "ok"}]}
    answer = {"result": known.get(asked["method"])}
    if answer["result"] is None:
        answer = {"error": {"code": -32601, "message": "unknown"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def generated(seed: int, count: int) -> tuple[str, ...]:
    """Matchers put together by chance, out of what has a meaning in one."""
    draw = random.Random(seed)
    return tuple("".join(draw.choices(PIECES, k=draw.randint(1, 5))) for _ in range(count))


def ours(matcher: str, name: str) -> bool | None:
    """Our own answer; `None` where we refuse to give one."""
    try:
        return matches(matcher, name)
    except ScriptError:
        return None


@needs_cli
def test_every_matcher_fits_the_tools_that_it_fits_in_the_cli(
    with_claude: Callable[..., Any], tmp_path: Path
) -> None:
    matchers = tuple(dict.fromkeys((*NAMED, *generated(11, 300))))
    fitted: dict[str, set[str]] = {matcher: set() for matcher in matchers}
    server = tmp_path / "server.py"
    server.write_text(SERVER)

    def hook(matcher: str) -> HookCallback:
        def ran(given: dict[str, Any]) -> None:
            fitted[matcher].add(given["tool_name"])

        return HookCallback(event="PreToolUse", matcher=matcher, function=ran)

    async def body(run: Any) -> None:
        run.workspace.write("a.txt", "x\n")
        arguments: dict[str, dict[str, Any]] = {
            "Bash": {"command": "true", "description": "d"},
            "Read": {"file_path": str(run.workspace.root / "a.txt")},
            "Agent": {"description": "d", "prompt": "look", "subagent_type": "general-purpose"},
        }
        calls = [CallSpec(name=tool, arguments=arguments.get(tool, {})) for tool in TOOLS]
        run.script.on(user="look", priority=1).reply("seen")
        run.script.on(user="go", times=1).reply(tool_calls=calls)
        run.script.on(user="go").reply("done")
        turn = await run.claude.prompt("go", within=60)
        assert {use.name for use in turn.tool_uses} == set(TOOLS)

    with_claude(
        body,
        hooks=[hook(matcher) for matcher in matchers],
        allowed_tools=["Bash", TOOLS[-1]],
        mcp_servers={"my-fs": {"command": sys.executable, "args": [str(server)]}},
    )
    assert {tool for found in fitted.values() for tool in found} == set(TOOLS)
    said = {matcher: [ours(matcher, tool) for tool in TOOLS] for matcher in matchers}
    different = {
        matcher: (answers, sorted(fitted[matcher]))
        for matcher, answers in said.items()
        if None not in answers and answers != [tool in fitted[matcher] for tool in TOOLS]
    }
    assert different == {}
    refused = [matcher for matcher, answers in said.items() if None in answers]
    assert len(refused) < len(matchers) / 50, refused


@pytest.mark.parametrize("pattern", [r"(.)\1", r"(?<=a+)sh", r"(?i:bash)", r"\p{L}+", r"\cA", r"[\0]"])
def test_a_matcher_that_cannot_be_followed_is_refused_and_not_guessed(pattern: str) -> None:
    with pytest.raises(ScriptError, match="cannot be followed"):
        matches(pattern, "Bash")


@pytest.mark.parametrize("pattern", ["(", "a)", "+a", "a**", "(?i)x", "(?P<n>x)", "[", "x|+", "(?<=a)*"])
def test_what_javascript_cannot_read_is_invalid_and_fits_nothing(pattern: str) -> None:
    with pytest.raises(PatternError):
        javascript(pattern)
    assert not matches(pattern, "x")


@pytest.mark.parametrize(
    ("event", "payload", "wanted"),
    [
        ("PreToolUse", {"tool_name": "Edit"}, True),
        ("PreToolUse", {"tool_name": "Read"}, False),
        ("PreToolUse", {}, True),  # the input does not say which tool
        ("Stop", {"tool_name": "Read"}, True),  # has no matchers
        ("UserPromptSubmit", {"prompt": "Read"}, True),
        ("SubagentStop", {"agent_type": "Edit"}, True),
        ("SubagentStop", {"agent_type": "Explore"}, False),
        ("SessionStart", {"source": "startup"}, False),
        ("PreCompact", {"trigger": "manual"}, False),
        ("Notification", {"notification_type": "idle_prompt"}, False),
    ],
)
def test_a_matcher_is_held_against_what_its_event_is_about(
    event: str, payload: dict[str, Any], wanted: bool
) -> None:
    assert fits(event, "Edit, Bash", payload) is wanted
