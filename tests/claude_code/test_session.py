"""The real CLI in a run: turns, tools, hooks, failures, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import ClaudeCode, ClaudeTurn, HookResponse, bundled_cli
from soundstage.clock import IdSource
from soundstage.drivers import Driver, DriverSession
from soundstage.errors import AppError, EnvironmentProblem, InvalidStateError, ScriptError, WaitTimeout
from soundstage.journal import (
    FileChanged,
    HookFired,
    Journal,
    MessageReceived,
    MessageSent,
    ModelRequested,
    Noted,
    ProcessExited,
    ProcessStarted,
    RunAborted,
    event,
)
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Exists = Callable[[int], bool]
Make = Callable[..., Path]


def call(name: str, **arguments: Any) -> CallSpec:
    return CallSpec(name=name, arguments=arguments)


def bash(command: str) -> CallSpec:
    return call("Bash", command=command, description="test")


# --- turns


def test_a_text_turn_has_words_usage_price_and_a_drawn_session_id(with_claude: Play) -> None:
    async def body(run: Any) -> tuple[str, ...]:
        run.script.on(user="hello").reply("hi there")
        turn = await run.claude.prompt("hello", within=30)
        assert isinstance(turn, ClaudeTurn)
        assert (turn.text, turn.is_error, turn.subtype, turn.denials) == ("hi there", False, "success", ())
        assert turn.usage.output_tokens > 0
        assert turn.cost_usd > 0
        assert turn.seconds > 0
        assert turn.init is not None
        assert "Bash" in turn.init.tools
        (request,) = run.requests()
        assert request.caller.conversation == turn.session_id == run.claude.session.id
        return (turn.session_id,)

    assert with_claude(body, ids=IdSource(7)) == (IdSource(7).uuid(),)


def test_a_second_prompt_goes_on_with_the_conversation_and_costs_its_own_price(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="first").reply("one", usage={"input_tokens": 1000, "output_tokens": 10})
        run.script.on(user="second", priority=1).reply(
            "two", usage={"input_tokens": 3000, "output_tokens": 10}
        )
        first = await run.claude.prompt("first", within=30)
        second = await run.claude.prompt("second", within=30)
        assert (first.text, second.text) == ("one", "two")
        assert second.session_id == first.session_id
        assert second.cost_usd == pytest.approx(second.result.total_cost_usd - first.cost_usd)
        assert second.cost_usd > first.cost_usd
        assert [message.text for message in run.requests()[1].messages if message.role == "assistant"] == [
            "one"
        ]
        assert len(run.journal.events(ProcessStarted)) == 1

    with_claude(body)


def test_the_journal_tells_the_turn_and_what_led_to_what(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="hello").reply("hi there")
        await run.claude.prompt("hello", within=30)
        asked, told, sent = (
            record
            for record in run.journal.read(type=(MessageReceived, MessageSent, Noted))
            if getattr(record.event, "text", "") in ("hello", "hi there", "result")
        )
        assert asked.event == MessageReceived(text="hello", channel=run.claude.session.id, sender="test")
        assert sent.event == MessageSent(text="hi there", channel=run.claude.session.id, sender="claude-code")
        assert (told.cause, sent.cause) == (asked.position, asked.position)
        assert told.event.data["is_error"] is False
        noted = [event.data for event in run.journal.events(Noted) if event.text == "session"]
        assert [data["permission_mode"] for data in noted] == ["default"]
        assert "ANTHROPIC_API_KEY" in run.journal.events(ProcessStarted)[0].environment

    with_claude(body)


def test_tools_really_run_in_the_workspace(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        workspace, script = run.workspace, run.script
        path = workspace.write("calc.py", "def add(a, b):\n    return a - b\n")
        workspace.git()
        workspace.commit("first version")
        script.on(user="fix it", iteration=1).reply(tool_calls=[call("Read", file_path=str(path))])
        edit = call("Edit", file_path=str(path), old_string="a - b", new_string="a + b")
        script.on(tool_result="return a - b").reply(tool_calls=[edit])
        script.on(tool_result="has been updated").reply(
            tool_calls=[bash("git commit -qam 'fix: add' && git log --oneline")]
        )
        script.on(tool_result="fix: add").reply("fixed")
        turn = await run.claude.prompt("fix it", within=40)
        assert (turn.text, turn.is_error) == ("fixed", False)
        assert [use.name for use in turn.tool_uses] == ["Read", "Edit", "Bash"]
        assert not any(use.is_error for use in turn.tool_uses)
        assert "fix: add" in (turn.tool_uses[2].text or "")
        assert workspace.read("calc.py") == "def add(a, b):\n    return a + b\n"
        assert [change.path for change in workspace.record_changes()] == ["calc.py"]
        assert [event.change for event in run.journal.events(FileChanged)] == ["modified"]
        assert [(commit.subject, commit.files) for commit in workspace.commits()] == [
            ("fix: add", ("calc.py",)),
            ("first version", ("calc.py",)),
        ]

    with_claude(body, permission_mode="acceptEdits", allowed_tools=["Bash(git *)"])


def test_a_denied_tool_is_reported_and_does_not_run(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        path = run.workspace.root / "new.txt"
        run.script.on(user="write", iteration=1).reply(
            tool_calls=[call("Write", file_path=str(path), content="x")]
        )
        run.script.on(tool_result="/permission/").reply("I may not")
        turn = await run.claude.prompt("write", within=30)
        assert (turn.text, turn.is_error) == ("I may not", False)
        assert [(denial.tool, denial.arguments["content"]) for denial in turn.denials] == [("Write", "x")]
        assert turn.tool_uses[0].is_error
        assert not path.exists()

    with_claude(body)


def test_hooks_of_settings_are_events(with_claude: Play) -> None:
    hook = {"type": "command", "command": "echo no way >&2; exit 2"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}

    async def body(run: Any) -> None:
        run.script.on(user="go", iteration=1).reply(tool_calls=[bash("echo hello")])
        run.script.on(tool_result="no way").reply("blocked")
        turn = await run.claude.prompt("go", within=30)
        assert turn.text == "blocked"
        (fired,) = run.journal.events(HookFired)
        assert (fired.hook, fired.event, fired.exit_code, fired.outcome) == (
            "PreToolUse:Bash",
            "PreToolUse",
            2,
            "error",
        )
        assert "no way" in fired.output
        assert any(isinstance(message, HookResponse) for message in turn.messages)

    with_claude(body, allowed_tools=["Bash"], settings=settings)


def test_a_plugin_folder_is_loaded_and_its_command_expanded(with_claude: Play, tmp_path: Path) -> None:
    plugin = tmp_path / "demo"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "demo", "version": "1.0.0"}')
    (plugin / "commands").mkdir()
    (plugin / "commands/greet.md").write_text("---\ndescription: greets\n---\nSay hello to $ARGUMENTS.")

    async def body(run: Any) -> None:
        run.script.on(user="Say hello to the world.").reply("hello, world")
        turn = await run.claude.prompt("/demo:greet the world", within=30)
        assert turn.text == "hello, world"
        assert turn.init is not None
        assert "demo:greet" in turn.init.commands
        assert turn.init.plugin_errors == ()

    with_claude(body, plugin_dirs=[plugin])


def test_an_earlier_session_is_resumed_in_the_same_home(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="remember").reply("I will")
        run.script.on(user="what was it", priority=1).reply("this")
        first = await run.claude.prompt("remember", within=30)
        assert await run.claude.end() == 0
        with pytest.raises(InvalidStateError, match="has been ended"):
            await run.claude.prompt("too late", within=30)
        async with await run.claude.open(resume=first.session_id) as resumed:
            turn = await resumed.prompt("what was it", within=30)
        assert (turn.text, turn.session_id) == ("this", first.session_id)
        assert "remember" in "\n".join(message.text for message in run.requests()[1].messages)

    with_claude(body)


def test_control_requests_are_answered_or_refused(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        session = run.claude.session
        assert (await session.control("mcp_status", within=20))["mcpServers"] == []
        with pytest.raises(AppError, match="bogus"):
            await session.control("bogus", within=20)

    with_claude(body)


# --- hermetic


def test_nothing_of_the_parent_reaches_it_and_the_home_is_left_alone(
    with_claude: Play, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_API_KEY": "sk-wrong-wrong",
        "ANTHROPIC_AUTH_TOKEN": "wrong",
        "ANTHROPIC_MODEL": "wrong-model",
        "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CODE_EXTRA_BODY": '{"wrong": true}',
        "HTTPS_PROXY": "http://127.0.0.1:2",
        "HOME": str(tmp_path),
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)

    async def body(run: Any) -> list[Path]:
        run.script.on(user="env", iteration=1).reply(tool_calls=[bash("env | sort; touch ~/was-here")])
        run.script.on(tool_result="HOME").reply("done")
        turn = await run.claude.prompt("env", within=30)
        assert (turn.text, turn.is_error) == ("done", False)
        seen = turn.tool_uses[0].text or ""
        assert "wrong" not in seen
        assert str(tmp_path) not in seen
        assert (run.claude.home / "was-here").exists()
        (asked, _) = run.requests()
        assert asked.settings.get("wrong") is None
        assert "5" * 64 in str(asked.settings)
        return [run.claude.home, run.workspace.root]

    folders = with_claude(body, allowed_tools=["Bash"])
    assert list(tmp_path.iterdir()) == []
    assert not [folder for folder in folders if folder.exists()]


def test_root_may_bypass_permissions_in_the_throw_away_home(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="go", iteration=1).reply(tool_calls=[bash("echo it ran > out.txt")])
        run.script.on(user="go").reply("done")
        assert (await run.claude.prompt("go", within=30)).text == "done"
        assert run.workspace.read("out.txt") == "it ran\n"

    with_claude(body, permission_mode="bypassPermissions")


def test_instructions_above_the_workspace_are_refused(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("be rude")
    folder = tmp_path / "project"
    folder.mkdir()

    async def main() -> None:
        with pytest.raises(EnvironmentProblem, match=r"CLAUDE\.md"):
            await ClaudeCode(Journal(), "http://127.0.0.1:1", folder).start()

    asyncio.run(main())


# --- what goes wrong


def test_a_failed_request_is_an_error_of_the_turn_and_the_session_goes_on(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="first", times=1).error(529, "Overloaded", should_retry=False)
        run.script.on(user="second").reply("recovered")
        turn = await run.claude.prompt("first", within=30)
        assert (turn.is_error, turn.subtype) == (True, "success")
        assert turn.result.api_error_status == 529
        assert "529" in turn.text
        assert turn.cost_usd == 0
        assert not (await run.claude.prompt("second", within=30)).is_error

    with_claude(body)


def test_a_limit_of_turns_is_an_error(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="loop").reply(tool_calls=[bash("true")])
        turn = await run.claude.prompt("loop", within=30)
        assert (turn.is_error, turn.subtype) == (True, "error_max_turns")
        assert [event.reason for event in run.journal.events(RunAborted)] == ["budget"]

    with_claude(body, allowed_tools=["Bash"], max_turns=2)


def test_an_early_exit_shows_code_and_standard_error(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        for _ in range(2):
            with pytest.raises(AppError, match="exit code 1") as caught:
                await run.claude.prompt("hello", within=30)
            assert "unknown option '--bogus'" in str(caught.value)
        assert run.journal.events(ProcessExited)[0].code == 1

    with_claude(body, extra_args=["--bogus"])


def test_a_cli_that_dies_in_the_middle_of_a_turn_is_an_error(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="hello").fault("stall")
        turn = asyncio.create_task(run.claude.prompt("hello", within=30))
        await run.journal.wait_for(ModelRequested, within=30)
        os.kill(run.claude.session.pid, 9)
        with pytest.raises(AppError, match="exit code -9"):
            await turn

    with_claude(body)


def test_two_prompts_at_once_are_refused(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="first").reply("one")
        first = asyncio.create_task(run.claude.prompt("first", within=30))
        await run.journal.wait_for(event(MessageReceived, text="first"), within=30)
        with pytest.raises(InvalidStateError, match="under way"):
            await run.claude.prompt("second", within=30)
        assert (await first).text == "one"

    with_claude(body)


def test_a_cli_that_is_not_there_is_named(with_claude: Play, tmp_path: Path) -> None:
    async def body(run: Any) -> None:
        with pytest.raises(EnvironmentProblem, match="pip install") as caught:
            await run.claude.start()
        assert str(tmp_path / "claude") in str(caught.value)

    with_claude(body, started=False, cli=tmp_path / "claude")


def test_without_a_session_at_first_plugins_come_before_it_and_it_may_work_elsewhere(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "demo")
    make_plugin(market / "demo", {"commands/greet.md": "Greet $ARGUMENTS.\n"})
    (tmp_path / "other").mkdir()

    async def body(run: Any) -> None:
        with pytest.raises(InvalidStateError, match=r"open\(\) one first"):
            await run.claude.prompt("hello")
        assert (await run.claude.plugins.install("demo", marketplace=market)).status == "loaded"
        assert run.journal.events(MessageReceived) == []
        session = await run.claude.open(cwd=tmp_path / "other")
        assert run.claude.session is session
        turn = await run.claude.run_command("/demo:greet", "Ann", within=30)
        assert "Greet Ann." in turn.expansion.text
        assert run.journal.events(ProcessStarted)[-1].cwd == str(tmp_path / "other")

    with_claude(body, opens=False)


def test_calls_before_start_and_wrong_options_say_what_to_do(tmp_path: Path) -> None:
    claude = ClaudeCode(Journal(), "http://127.0.0.1:1", tmp_path)
    with pytest.raises(InvalidStateError, match="start it first"):
        asyncio.run(claude.prompt("x"))
    with pytest.raises(InvalidStateError, match="start it first"):
        asyncio.run(claude.open())
    with pytest.raises(ScriptError, match="permision_mode"):
        ClaudeCode(Journal(), "http://127.0.0.1:1", tmp_path, permision_mode="plan")
    assert isinstance(claude, Driver)
    assert isinstance(claude, DriverSession)


# --- nothing is left


def sleeper(run: Any) -> Path:
    """Let the agent start a tool that never ends; it tells its process id through a pipe."""
    pipe = run.workspace.root / "pipe"
    os.mkfifo(pipe)
    run.script.on(user="sleep", iteration=1).reply(tool_calls=[bash("echo $$ > pipe; exec sleep 1000")])
    return Path(pipe)


def test_a_turn_that_takes_too_long_ends_the_cli_and_shows_what_was_said(
    with_claude: Play, exists: Exists
) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="hello").reply("hi")
        run.script.on(user="wait", priority=1).fault("stall")
        await run.claude.prompt("hello", within=30)
        with pytest.raises(WaitTimeout, match=r"did not finish within 0\.3 s") as caught:
            await run.claude.prompt("wait for ever", within=0.3)
        assert "exit code" in str(caught.value)
        assert not exists(run.claude.session.pid)
        unfinished = run.claude.session.unfinished
        assert (unfinished.prompt, unfinished.is_error, unfinished.subtype) == (
            "wait for ever",
            True,
            "unfinished",
        )
        assert "did not finish" in unfinished.text
        assert len(unfinished.requests) == 1
        with pytest.raises(AppError, match="before this prompt"):
            await run.claude.prompt("again", within=30)
        assert run.claude.session.unfinished is unfinished

    with_claude(body)


def test_a_cancelled_prompt_ends_the_cli_and_its_tools(with_claude: Play, exists: Exists) -> None:
    async def body(run: Any) -> None:
        pipe = sleeper(run)
        turn = asyncio.create_task(run.claude.prompt("sleep", within=60))
        tool = int(await asyncio.to_thread(pipe.read_text))
        assert exists(tool)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert not exists(tool)
        assert not exists(run.claude.session.pid)

    with_claude(body, allowed_tools=["Bash"])


def test_an_interrupt_ends_the_turn_and_the_session_goes_on(with_claude: Play, exists: Exists) -> None:
    async def body(run: Any) -> None:
        pipe = sleeper(run)
        run.script.on(user="awake").reply("yes")
        turn = asyncio.create_task(run.claude.prompt("sleep", within=60))
        tool = int(await asyncio.to_thread(pipe.read_text))
        await run.claude.interrupt(within=30)
        assert (await turn).result.terminal_reason == "aborted_tools"
        assert (await run.claude.prompt("awake?", within=30)).text == "yes"
        assert [event.reason for event in run.journal.events(RunAborted)] == ["interrupted"]
        await run.claude.end()
        assert not exists(tool)

    with_claude(body, allowed_tools=["Bash"])


def test_what_a_tool_left_running_is_gone_with_the_session(with_claude: Play, exists: Exists) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="daemon", iteration=1).reply(
            tool_calls=[bash("setsid sleep 1000 > /dev/null 2>&1 & echo pid $!")]
        )
        run.script.on(tool_result="pid").reply("started")
        turn = await run.claude.prompt("daemon", within=30)
        tool = int((turn.tool_uses[0].text or "").split()[1])
        assert exists(tool)
        assert await run.claude.end() == 0
        assert not exists(tool)
        assert [event.data for event in run.journal.events(Noted) if "left" in event.text] == [
            {"names": ["sleep"]}
        ]

    with_claude(body, allowed_tools=["Bash"])


def test_a_session_without_a_prompt_ends_at_once(with_claude: Play, exists: Exists) -> None:
    async def body(run: Any) -> int:
        return int(run.claude.session.pid)

    assert not exists(with_claude(body))
