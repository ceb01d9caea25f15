"""Category 5 through a client: hooks run in the real CLI, and by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COMMIT = {"tool_name": "Bash", "tool_input": {"command": "git commit -m 'feat: x'"}}


def test_a_hook_blocks_and_everybody_can_see_it(tools: Any, marketplace: Path) -> None:
    bash = {"name": "Bash", "arguments": {"command": "git commit -m 'feat: x'"}}
    look = {"name": "Bash", "arguments": {"command": "ls"}}
    touch = {"name": "Write", "arguments": {"file_path": "/etc/x", "content": ""}}
    script = [{"tool_calls": [bash, look, touch]}, "It was refused."]

    async def body(call: Any) -> None:
        plugin = str(marketplace / "agent-loop")
        started = await call.good(
            "start_conversation",
            config={"script": script, "plugin_dirs": [plugin], "allowed_tools": ["Bash"]},
        )
        session = {"session_id": started["session_id"]}
        prompted = await call.good("send_prompt", prompt="commit", **session)
        found = await call.good("get_response", response_id=prompted["response_id"])
        committed, looked, touched = (use["action_id"] for use in found["tool_calls"])
        blocked = await call.good("verify_hook_blocked_action", action_id=committed)
        assert (blocked["blocked"], blocked["hook"]) == (True, "PreToolUse:Bash")
        assert "There is no plan" in blocked["reason"]
        for other in (looked, touched, prompted["response_id"]):
            assert (await call.good("verify_hook_blocked_action", action_id=other))["blocked"] is False
        assert "no such action" in await call.bad("verify_hook_blocked_action", action_id="toolu_x")
        log = await call.good("get_hook_execution_log", hook_name="PreToolUse:Bash")
        assert [entry["exit_code"] for entry in log["executions"]] == [2, 0]
        assert {entry["session_id"] for entry in log["executions"]} == {started["session_id"]}
        newest = await call.good("get_hook_execution_log", hook_name="before_commit", limit=1)
        assert (len(newest["executions"]), newest["total"]) == (1, 2)

    tools(body)


def test_a_prompt_that_a_hook_blocks_is_an_action_too(tools: Any) -> None:
    hook = {"type": "command", "command": "echo 'not today' >&2; exit 2"}

    async def body(call: Any) -> None:
        started = await call.good(
            "start_conversation", config={"settings": {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}}
        )
        session = {"session_id": started["session_id"]}
        listed = await call.good("list_active_hooks", **session)
        assert [found["name"] for found in listed["hooks"]] == ["UserPromptSubmit"]
        prompted = await call.good("send_prompt", prompt="hello", **session)
        blocked = await call.good("verify_hook_blocked_action", action_id=prompted["response_id"])
        assert (blocked["blocked"], blocked["hook"]) == (True, "UserPromptSubmit")

    tools(body)


def test_hooks_are_listed_and_triggered_by_themselves(
    tools: Any, marketplace: Path, roots: tuple[Path, Path]
) -> None:
    planned, empty = roots[0] / "planned", roots[0] / "empty"
    for folder in (planned, empty):
        folder.mkdir(parents=True)
    (planned / "PLAN.md").write_text("# Plan")

    async def body(call: Any) -> None:
        assert (await call.good("list_active_hooks"))["hooks"] == []
        await call.good("install_plugin", plugin_name="agent-loop", marketplace_path=str(marketplace))
        listed = await call.good("list_active_hooks")
        assert [(hook["event"], hook["timeout"]) for hook in listed["hooks"]] == [
            ("PreToolUse", 60),
            ("PostToolUse", 60),
        ]
        for name in ("PreToolUse:Bash", "agent-loop/PreToolUse", "before_commit", "before-commit"):
            ran = await call.good("trigger_hook", hook_name=name, payload=COMMIT, project_path="empty")
            assert ran["blocked"] is True, ran
            assert "There is no plan" in ran["output"]
            assert ran["runs"][0]["exit_code"] == 2
        let = await call.good("trigger_hook", hook_name="PreToolUse", payload=COMMIT, project_path="planned")
        assert let["blocked"] is False
        log = await call.good("get_hook_execution_log", hook_name="PreToolUse")
        assert log["total"] == 5
        assert "no such hook" in await call.bad("trigger_hook", hook_name="pre-push", payload={})
        assert "no such hook" in await call.bad("get_hook_execution_log", hook_name="pre-push")
        wrong = {"tool_name": "Read"}
        assert "Bash" in await call.bad("trigger_hook", hook_name="PreToolUse", payload=wrong)
        assert "no such folder" in await call.bad(
            "trigger_hook", hook_name="PreToolUse", payload=COMMIT, project_path="nowhere"
        )

    tools(body)


def test_a_hook_is_listed_while_the_cli_would_run_it_and_no_longer(
    tools: Any, marketplace: Path, roots: tuple[Path, Path]
) -> None:
    (marketplace / "epti/hooks").mkdir(exist_ok=True)
    (marketplace / "epti/hooks/hooks.json").write_text('{"hooks": {"PreToolUse": "not like this"}}')
    (roots[0] / "shop/.claude").mkdir(parents=True)
    stop = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 7}]}]}}
    (roots[0] / "shop/.claude/settings.json").write_text(json.dumps(stop))

    async def names(call: Any) -> list[str]:
        return [hook["name"] for hook in (await call.good("list_active_hooks"))["hooks"]]

    async def body(call: Any) -> None:
        await call("install_plugin", plugin_name="epti", marketplace_path=str(marketplace))
        assert await names(call) == []  # the CLI does not load them
        await call.good("install_plugin", plugin_name="agent-loop", marketplace_path=str(marketplace))
        assert await names(call) == ["PreToolUse:Bash", "PostToolUse:Edit|Write|NotebookEdit"]
        await call.good("uninstall_plugin", plugin_name="agent-loop")
        assert await names(call) == []
        started = await call.good("start_conversation", config={"project_path": "shop"})
        listed = await call.good("list_active_hooks")
        assert [(hook["name"], hook["timeout"], hook["plugin"]) for hook in listed["hooks"]] == [
            ("Stop", 7, "")
        ]
        await call.good("end_conversation", session_id=started["session_id"])
        assert await names(call) == []

    tools(body)


def test_a_hook_that_takes_too_long_blocks_nothing_and_one_that_crashes_neither(tools: Any) -> None:
    hooks = [
        {"type": "command", "command": "echo late >&2; sleep 60; exit 2", "timeout": 1},
        {"type": "command", "command": "echo broken >&2; exit 1"},
    ]
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}

    async def body(call: Any) -> None:
        started = await call.good("start_conversation", config={"settings": settings})
        session = {"session_id": started["session_id"]}
        ran = await call.good("trigger_hook", hook_name="PreToolUse:Bash", payload=COMMIT, **session)
        assert ran["blocked"] is False
        assert [run["outcome"] for run in ran["runs"]] == ["cancelled", "error"]
        assert "broken" in ran["output"]

    tools(body)
