"""Every field of the CLI's stream that we rely on, checked against the real CLI of the pinned version.

The fields are internal to the CLI. When this fails after an upgrade of claude-agent-sdk, the table says which
ones have moved; correct `_stream.py`, then pin the new version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundstage.drivers.claude_code import TESTED_VERSION, Unknown, bundled_cli
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
    ("system", "task_started"): {"task_id": str, "tool_use_id": str, "subagent_type": str},
    ("system", "task_notification"): {"task_id": str, "status": str},
    ("system", "api_retry"): {"attempt": int, "error_status": int, "retry_delay_ms": (int, float)},
}


def value(data: dict[str, Any], path: str) -> Any:
    found: Any = data
    for name in path.split("."):
        found = found[name]
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
        assert [message for message in turn.messages if isinstance(message, Unknown)] == []
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
