"""Every field of the CLI's stream that we rely on, checked against the real CLI of the pinned version.

The fields are internal to the CLI. When this fails after an upgrade of claude-agent-sdk, the table says which
ones have moved; correct `_stream.py`, then pin the new version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundstage.claude_code import TESTED_VERSION, UnknownMessage, bundled_cli
from soundstage.claude_code._cli import as_json
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

# (type, subtype) -> path of the field -> its JSON type
FIELDS: dict[tuple[str, str], dict[str, type | tuple[type, ...]]] = {
    ("system", "init"): {
        "session_id": str,
        "claude_code_version": str,
        "model": str,
        "permissionMode": str,
        "tools": list,
        "slash_commands": list,
        "agents": list,
        "skills": list,
        "mcp_servers": list,
        "plugins": list,
        "plugin_errors": list,
    },
    ("assistant", ""): {
        "message.model": str,
        "message.content": list,
        "parent_tool_use_id": (str, type(None)),
    },
    ("user", ""): {
        "message.content": list,
        "parent_tool_use_id": (str, type(None)),
        "tool_result_meta": list,
    },
    ("result", "success"): {
        "is_error": bool,
        "session_id": str,
        "result": str,
        "num_turns": int,
        "duration_ms": (int, float),
        "total_cost_usd": (int, float),
        "usage.input_tokens": int,
        "usage.output_tokens": int,
        "usage.cache_read_input_tokens": int,
        "usage.cache_creation_input_tokens": int,
        "permission_denials": list,
        "terminal_reason": str,
        "api_error_status": (int, type(None)),
    },
    ("system", "hook_started"): {"hook_id": str, "hook_name": str, "hook_event": str},
    ("system", "hook_response"): {
        "hook_id": str,
        "hook_name": str,
        "hook_event": str,
        "outcome": str,
        "exit_code": int,
        "output": str,
        "stdout": str,
        "stderr": str,
    },
    ("system", "permission_denied"): {"tool_name": str, "tool_use_id": str, "message": str},
    ("system", "task_started"): {
        "task_id": str,
        "tool_use_id": str,
        "subagent_type": str,
        "task_type": str,
        "prompt": str,
        "is_backgrounded": bool,
    },
    ("system", "task_notification"): {"task_id": str, "status": str, "summary": str},
    ("system", "api_retry"): {"attempt": int, "error_status": int, "retry_delay_ms": (int, float)},
}


class Missing:
    """The type of a field that is not there."""


def value(data: dict[str, Any], path: str) -> Any:
    found: Any = data
    for name in path.split("."):
        found = found.get(name, Missing()) if isinstance(found, dict) else Missing()
    return found


def test_the_cli_sends_every_field_that_we_read(with_claude: Callable[..., Any], tmp_path: Any) -> None:
    hook = {"hooks": [{"type": "command", "command": "echo seen"}]}
    broken_plugin = tmp_path / "broken"
    (broken_plugin / ".claude-plugin").mkdir(parents=True)
    (broken_plugin / ".claude-plugin/plugin.json").write_text('{"name": "broken", "version": "1"}')
    (broken_plugin / "hooks").mkdir()
    (broken_plugin / "hooks/hooks.json").write_text("[]")

    async def body(run: Any) -> None:
        write = CallSpec(name="Write", arguments={"file_path": str(run.workspace.root / "x"), "content": "x"})
        task = {"description": "d", "prompt": "look around", "subagent_type": "general-purpose"}
        run.script.on(user="look around", system="/agent/", priority=2).reply("nothing to see")
        run.script.on(user="begin", iteration=1, times=1).error(503, "try again")
        run.script.on(user="begin", tool_result="/permission/").reply(
            tool_calls=[CallSpec(name="Agent", arguments=task)]
        )
        run.script.on(user="begin", tool_result="nothing to see").reply("done")
        run.script.on(user="begin").reply(text="writing", tool_calls=[write])
        turn = await run.claude.prompt("begin", within=50)
        assert (turn.text, turn.is_error) == ("done", False)
        assert turn.init is not None
        assert turn.init.version == TESTED_VERSION
        assert turn.init.plugin_errors[0]["plugin"]
        assert [message for message in turn.messages if isinstance(message, UnknownMessage)] == []
        seen: dict[tuple[str, str], dict[str, Any]] = {}
        for message in turn.messages:
            seen.setdefault((message.data["type"], message.data.get("subtype", "")), message.data)
        assert {kind for kind in FIELDS if kind not in seen} == set()
        wrong = [
            f"{kind}: {path} is {value(seen[kind], path)!r}"
            for kind, fields in FIELDS.items()
            for path, type_ in fields.items()
            if not isinstance(value(seen[kind], path), type_)
        ]
        assert wrong == []

    with_claude(
        body,
        settings={"hooks": {"PreToolUse": [hook]}},
        plugin_dirs=[broken_plugin],
        environment={"CLAUDE_CODE_MAX_RETRIES": "1"},
    )
    cli = bundled_cli()
    assert cli is not None
    assert f'"{TESTED_VERSION}"' in (cli.parent.parent / "_cli_version.py").read_text()


def check(kind: str, data: dict[str, Any], fields: dict[str, type | tuple[type, ...]]) -> list[str]:
    """The fields that are missing or of another type."""
    return [
        f"{kind}: {path} in {data!r}"
        for path, type_ in fields.items()
        if not isinstance(value(data, path), type_)
    ]


def test_the_answers_to_control_requests_have_every_field_that_we_read(
    with_claude: Callable[..., Any], make_plugin: Callable[..., Any], tmp_path: Any
) -> None:
    folder = make_plugin(tmp_path / "demo", {"commands/greet.md": "---\ndescription: d\n---\nHello.\n"})

    async def body(run: Any) -> None:
        session = run.claude.session
        wrong: list[str] = []
        for subtype in ("initialize", "reload_plugins"):
            answer = await session.control(subtype)
            (command,) = (found for found in answer["commands"] if found["name"] == "demo:greet")
            wrong += check(subtype, command, {"name": str, "description": str, "argumentHint": str})
            wrong += check(subtype, answer["agents"][0], {"name": str})
        (server,) = (await session.control("mcp_status"))["mcpServers"]
        wrong += check("mcp_status", server, {"name": str, "status": str, "error": str})
        assert wrong == []
        clear = await run.claude.prompt("/clear", within=30)
        assert "conversation_reset" in [message.data["type"] for message in clear.messages]
        plan = await run.claude.prompt("/plan", within=30)
        assert plan.local_outcome == "unavailable_headless"

    with_claude(body, plugin_dirs=[folder], mcp_servers={"gone": {"command": "no-such-program"}})


def test_what_is_said_about_plugins_has_every_field_that_we_read(
    with_claude: Callable[..., Any],
    make_plugin: Callable[..., Any],
    make_marketplace: Callable[..., Any],
    tmp_path: Any,
) -> None:
    market = make_marketplace(tmp_path / "market", "demo")
    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    files = {"hooks/hooks.json": hooks, ".mcp.json": {"files": {"command": "x"}}, "commands/a.md": "A.\n"}
    make_plugin(market / "demo", files)

    async def body(run: Any) -> None:
        cli = run.claude.plugins._cli()

        async def said(*arguments: str) -> Any:
            return as_json(await cli.run(["plugin", *arguments, "--json"]))

        wrong = check("add", await said("marketplace", "add", str(market)), {"outcome": str})
        (listed,) = await said("marketplace", "list")
        wrong += check("marketplace", listed, {"name": str, "path": str, "source": str})
        refused = await said("install", "nothing@market")
        wrong += check("refused", refused, {"failureCode": str, "message": str})
        await said("install", "demo@market")
        (market / "demo/hooks/hooks.json").write_text("[]")
        (plugin,) = await said("list")
        fields = {"id": str, "version": str, "enabled": bool, "readFromFolder": str, "mcpServers": dict}
        wrong += check("list", plugin, {**fields, "errors": list, "errorDetails": list})
        wrong += check("list", plugin["errorDetails"][0], {"type": str, "plugin": str, "path": str})
        broken = await said("validate", str(market / "demo"))
        wrong += check("broken", broken, {"success": bool, "target": str, "manifest.type": str})
        (content,) = (found for found in broken["contents"] if found["type"] == "hooks")
        wrong += check("broken", content, {"file": str, "errors": list, "warnings": list})
        wrong += check("broken", content["errors"][0], {"path": str, "message": str})
        make_plugin(market / "demo", files)
        valid = await said("validate", str(market / "demo"))
        provided = {"commands": list, "agents": list, "skills": list, "hooks": list, "mcpServers": list}
        wrong += check("valid", valid["provides"], provided)
        wrong += check("valid", valid["provides"]["hooks"][0], {"event": str, "type": str, "command": str})
        server = valid["provides"]["mcpServers"][0]
        wrong += check("valid", server, {"name": str, "type": str, "target": str, "args": list})
        assert wrong == []

    with_claude(body)


def test_transcripts_and_requests_have_every_field_that_we_read(with_claude: Callable[..., Any]) -> None:
    async def body(run: Any) -> None:
        task = {"description": "d", "prompt": "look around", "subagent_type": "general-purpose"}
        run.script.on(user="look around", priority=2).reply("nothing to see")
        run.script.on(user="begin", times=1).reply(tool_calls=[CallSpec(name="Agent", arguments=task)])
        turn = await run.claude.prompt("begin", within=50)
        await run.claude.end()
        transcript = run.claude.session.transcript()
        entries: dict[str, dict[str, Any]] = {}
        for entry in transcript.entries:
            entries.setdefault(entry.type, entry.data)
        wrong = check("user", entries["user"], {"uuid": str, "message.content": (str, list)})
        wrong += check("assistant", entries["assistant"], {"uuid": str, "parentUuid": str, "message": dict})
        wrong += check("cost-state", entries["cost-state"], {"totalCostUSD": float})
        assert wrong == []
        (subagent,) = transcript.subagents
        assert (subagent.agent, subagent.call_id) == ("general-purpose", turn.tool_uses[0].id)
        names = [
            sorted(name for name in request.caller.headers if "claude-code" in name)
            for request in turn.requests
        ]
        assert names[:2] == [
            ["x-claude-code-session-id"],
            ["x-claude-code-agent-id", "x-claude-code-session-id"],
        ]

    with_claude(body)
