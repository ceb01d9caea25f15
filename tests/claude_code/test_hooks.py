"""Hooks of plugins, of settings and of the test: listed, run, logged, and what they stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import (
    HookCallback,
    PermissionAsked,
    PluginHook,
    bundled_cli,
    deny,
    settings_hooks,
)
from soundstage.claude_code._hook_verdict import judge
from soundstage.errors import ExpectationError, ScriptError
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Make = Callable[..., Path]
ASK = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "%s"}}'


def bash(command: str) -> CallSpec:
    return CallSpec(name="Bash", arguments={"command": command, "description": "test"})


def hooks(event: str, command: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    entry = {"hooks": [{"type": "command", "command": command, **more}]}
    return {"hooks": {event: [{**entry, "matcher": matcher} if matcher else entry]}}


def one_tool(run: Any, command: str = "echo it ran > out.txt") -> None:
    run.script.on(user="go", iteration=1).reply(tool_calls=[bash(command)])
    run.script.on(user="go").reply("done")


# --- list, run, log


def test_hooks_of_plugins_and_of_settings_are_listed(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    folder = make_plugin(tmp_path / "demo", {"hooks/hooks.json": hooks("PreToolUse", "exit 2", "Bash")})

    async def body(run: Any) -> None:
        run.workspace.write(
            ".claude/settings.json", '{"hooks": {"Stop": [{"hooks": [{"command": "true"}]}]}}'
        )
        listed = await run.claude.hooks.list()
        assert [(hook.name, hook.plugin) for hook in listed] == [
            ("Stop", ""),
            ("UserPromptSubmit", ""),
            ("PreToolUse:Bash", "demo"),
        ]
        assert [hook.command for hook in await run.claude.hooks.list("PreToolUse:Bash")] == ["exit 2"]
        assert await run.claude.hooks.list("PostToolUse") == ()

    with_claude(body, plugin_dirs=[folder], settings=hooks("UserPromptSubmit", "true"))


def test_a_hook_runs_with_a_payload_and_the_variables_of_the_cli(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    guard = 'grep -q "rm -rf" && { echo "not $CLAUDE_PLUGIN_ROOT" >&2; exit 2; } || true'
    folder = make_plugin(tmp_path / "demo", {"hooks/hooks.json": hooks("PreToolUse", guard, "Bash")})

    async def body(run: Any) -> None:
        (hook,) = await run.claude.hooks.list("PreToolUse")
        ran = await run.claude.hooks.run(hook, {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}})
        assert (ran.blocked, ran.exit_code, ran.reason) == (True, 2, f"not {folder}")
        ran = await run.claude.hooks.run(hook, {"tool_name": "Bash", "tool_input": {"command": "ls"}})
        assert (ran.blocked, ran.outcome) == (False, "success")
        assert [hook.outcome for hook in run.claude.hooks.log("PreToolUse:Bash")] == ["error", "success"]
        assert run.claude.hooks.log("Stop") == ()

    with_claude(body, plugin_dirs=[folder])


def test_a_hook_that_takes_too_long_is_cancelled_and_lets_things_through(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        (hook,) = await run.claude.hooks.list("PreToolUse")
        ran = await run.claude.hooks.run(hook, {}, within=0.1)
        assert (ran.outcome, ran.exit_code, ran.blocked) == ("cancelled", None, False)
        one_tool(run)
        turn = await run.claude.prompt("go", within=30)
        assert run.workspace.read("out.txt") == "it ran\n"  # the real CLI fails open as well
        assert turn.blocked_by(turn.tool_uses[0].id) == ""
        assert run.claude.hooks.log("PreToolUse")[-1].outcome == "cancelled"

    with_claude(body, settings=hooks("PreToolUse", "sleep 1000", timeout=1), allowed_tools=["Bash"])


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "decision", "blocked"),
    [
        (0, "", "", "", False),
        (0, "fine", "", "", False),
        (0, "[1]", "", "", False),
        (1, "", "oops", "", False),
        (2, "", "no", "", True),
        (0, ASK % "deny", "", "deny", True),
        (0, ASK % "ask", "", "ask", True),
        (0, ASK % "allow", "", "allow", False),
        (0, ASK % "strange", "", "", False),
        (0, '{"decision": "block", "reason": "r"}', "", "block", True),
        (0, '{"decision": "approve"}', "", "allow", False),
        (0, '{"continue": false, "stopReason": "r"}', "", "stop", False),
        (1, ASK % "deny", "", "deny", True),
        (0, "a word before\n" + ASK % "deny", "", "", False),
        (0, '{"decision": "deny"}', "", "", False),
        (None, ASK % "deny", "", "", False),
    ],
)
def test_what_a_hook_decided_is_read_as_the_cli_reads_it(
    code: int | None, stdout: str, stderr: str, decision: str, blocked: bool
) -> None:
    ran = judge(PluginHook(event="PreToolUse"), code, stdout, stderr)
    assert (ran.decision, ran.blocked) == (decision, blocked)


def test_a_hook_that_is_no_command_cannot_be_run_by_itself(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        with pytest.raises(ScriptError, match="type prompt"):
            await run.claude.hooks.run(PluginHook(event="Stop", type="prompt"))

    with_claude(body)


@pytest.mark.parametrize("settings", [{}, {"hooks": []}, {"hooks": {"Stop": {}}}, {"hooks": {"Stop": [1]}}])
def test_settings_of_another_shape_have_no_hooks(settings: dict[str, Any]) -> None:
    assert settings_hooks(settings) == ()


# --- what they stop


@pytest.mark.parametrize(
    ("command", "by"),
    [
        ("echo no >&2; exit 2", "hook"),
        (f"echo '{ASK % 'deny'}'", "hook"),
        (f"echo '{ASK % 'ask'}'", "hook"),
        (f"echo '{ASK % 'defer'}'", "hook"),
        ("exit 1", ""),
        ("echo '{\"continue\": false}'", ""),
    ],
)
def test_the_cli_says_whether_a_hook_stopped_a_tool(with_claude: Play, command: str, by: str) -> None:
    async def body(run: Any) -> None:
        one_tool(run)
        turn = await run.claude.prompt("go", within=30)
        (use,) = turn.tool_uses
        assert turn.blocked_by(use.id) == by
        assert (run.workspace.root / "out.txt").exists() == (not by)
        with pytest.raises(ExpectationError, match="no such tool call"):
            turn.blocked_by("nothing")

    with_claude(body, settings=hooks("PreToolUse", command), allowed_tools=["Bash"])


def test_a_tool_that_the_rules_deny_was_not_stopped_by_a_hook(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        one_tool(run)
        turn = await run.claude.prompt("go", within=30)
        assert turn.blocked_by(turn.tool_uses[0].id) == "permission"
        assert turn.decisions[0].source == "config"

    with_claude(body)


def test_a_prompt_that_a_hook_blocks_never_reaches_the_model(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        turn = await run.claude.prompt("go", within=30)
        assert (turn.prompt_blocked, turn.is_error, turn.subtype) == ("not now", False, "success")
        assert run.requests() == []

    with_claude(body, settings=hooks("UserPromptSubmit", "echo not now >&2; exit 2"))


# --- functions of the test


def test_a_function_of_the_test_is_a_hook_and_can_deny(with_claude: Play) -> None:
    seen: list[dict[str, Any]] = []

    async def guard(given: dict[str, Any]) -> dict[str, Any]:
        seen.append(given)
        return deny("not on Fridays")

    async def body(run: Any) -> None:
        one_tool(run)
        turn = await run.claude.prompt("go", within=30)
        assert seen[0]["tool_input"]["command"] == "echo it ran > out.txt"
        assert "not on Fridays" in (turn.tool_uses[0].text or "")
        assert turn.blocked_by(turn.tool_uses[0].id) == "hook"
        assert [(hook.hook, hook.outcome) for hook in run.claude.hooks.log()] == [
            ("PreToolUse:Bash", "success")
        ]

    callback = HookCallback(event="PreToolUse", matcher="Bash", function=guard)
    with_claude(body, hooks=[callback], allowed_tools=["Bash"])


def test_what_a_function_raises_the_prompt_raises(with_claude: Play) -> None:
    def guard(_: dict[str, Any]) -> None:
        raise LookupError("my own mistake")

    async def body(run: Any) -> None:
        one_tool(run)
        with pytest.raises(LookupError, match="my own mistake"):
            await run.claude.prompt("go", within=30)
        assert run.claude.hooks.log()[0].outcome == "error"

    callback = HookCallback(event="PreToolUse", function=guard)
    with_claude(body, hooks=[callback], allowed_tools=["Bash"])


def test_a_function_decides_on_permissions(with_claude: Play) -> None:
    asked: list[PermissionAsked] = []

    def decide(question: PermissionAsked) -> Any:
        asked.append(question)
        command = question.arguments["command"]
        if "bad" in command:
            return "I do not like it"
        return {**question.arguments, "command": "echo changed > out.txt"} if "change" in command else True

    async def body(run: Any) -> None:
        commands = ["touch fine", "touch bad", "touch change"]
        run.script.on(user="go", iteration=1).reply(tool_calls=[bash(command) for command in commands])
        run.script.on(user="go").reply("done")
        turn = await run.claude.prompt("go", within=30)
        assert [question.arguments["command"] for question in asked] == commands
        assert [turn.blocked_by(use.id) for use in turn.tool_uses] == ["", "permission", ""]
        assert "I do not like it" in (turn.tool_uses[1].text or "")
        assert (run.workspace.root / "fine").exists()
        assert run.workspace.read("out.txt") == "changed\n"

    with_claude(body, permission=decide)


def test_wrong_callbacks_are_refused(with_claude: Play) -> None:
    with pytest.raises(ScriptError, match="PreToolUse"):
        HookCallback(event="pre-commit", function=lambda _: None)

    async def body(run: Any) -> None:
        one_tool(run)
        with pytest.raises(ScriptError, match="no decision on Bash"):
            await run.claude.prompt("go", within=30)

    with_claude(body, permission=lambda _: None)


def test_a_session_ends_while_a_function_is_still_thinking(with_claude: Play) -> None:
    thinking = asyncio.Event()

    async def guard(_: dict[str, Any]) -> None:
        thinking.set()
        await asyncio.Event().wait()

    async def body(run: Any) -> None:
        one_tool(run)
        turn = asyncio.create_task(run.claude.prompt("go", within=30))
        await asyncio.wait_for(thinking.wait(), 30)
        await run.claude.interrupt(within=30)
        assert (await turn).is_error

    callback = HookCallback(event="PreToolUse", function=guard)
    with_claude(body, hooks=[callback], allowed_tools=["Bash"])
