"""A session that is used again: what `/clear` takes away, what is put back, and what is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.claude_code._home import HomeState, changed
from soundstage.errors import InvalidStateError
from soundstage.journal import ProcessStarted
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Make = Callable[..., Path]


def bash(command: str) -> CallSpec:
    return CallSpec(name="Bash", arguments={"command": command, "description": "test"})


def test_nothing_of_one_conversation_is_in_the_next_one(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        session = run.claude.session
        (run.workspace.root / "sub").mkdir()
        run.script.on(user="first secret", times=1).reply(tool_calls=[bash("cd sub; pwd; export LEAK=1")])
        run.script.on(user="second", times=1, priority=1).reply(tool_calls=[bash('pwd; echo "[$LEAK]"')])
        first = await run.claude.prompt("first secret", within=30)
        assert first.tool_uses[0].text.endswith("/sub")
        await session.set_permission_mode("plan")
        await session.control("set_model", model="claude-haiku-5-5")
        await session.fresh()
        second = await run.claude.prompt("second", within=30)
        assert second.session_id == session.id != first.session_id
        assert "secret" not in "\n".join(message.everything for message in second.requests[0].messages)
        assert [message.role for message in second.requests[0].messages] == [
            message.role for message in first.requests[0].messages
        ]
        assert second.tool_uses[0].text == f"{run.workspace.root}\n[]"
        assert (first.init.permission_mode, first.init.model) == (
            second.init.permission_mode,
            second.init.model,
        )
        assert second.requests[0].model == first.requests[0].model
        assert second.cost_usd == pytest.approx(second.result.total_cost_usd)
        assert second.guidance == first.guidance
        assert len(run.journal.events(ProcessStarted)) == 1

    with_claude(body, allowed_tools=["Bash"])


def test_the_request_of_a_used_session_is_that_of_a_new_one_but_for_the_blocks_about_clear(
    with_claude: Play,
) -> None:
    async def body(run: Any) -> None:
        await run.claude.prompt("something else", within=30)
        await run.claude.session.fresh()
        used = await run.claude.prompt("hello", within=30)
        async with await run.claude.open() as other:
            new = await other.prompt("hello", within=30)

        def said(turn: Any) -> list[str]:
            texts = [message.everything for message in turn.requests[0].messages]
            return [text.replace(turn.session_id, "ID") for text in texts]

        extra = re.compile(r"<local-command-caveat>.*?</local-command-stdout>\n+", re.DOTALL)
        assert [extra.sub("", text) for text in said(used)] == said(new)
        assert used.requests[0].tools == new.requests[0].tools

    with_claude(body)


def test_a_session_that_loads_another_plugin_is_not_used_again(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "demo")
    make_plugin(market / "demo", {"commands/greet.md": "Hello.\n"})

    async def body(run: Any) -> None:
        await run.claude.prompt("hello", within=30)
        await run.claude.plugins.install("demo", marketplace=market)
        await run.claude.session.reload_plugins()
        with pytest.raises(InvalidStateError, match="commands: ") as caught:
            await run.claude.session.fresh()
        assert "installed_plugins.json is new" in caught.value.seen

    with_claude(body)


def test_a_file_that_is_left_in_the_home_is_a_leak(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        await run.claude.session.fresh()  # nothing has happened yet
        run.script.on(user="remember", times=1).reply(tool_calls=[bash("echo x > ~/.claude/CLAUDE.md")])
        await run.claude.prompt("remember", within=30)
        with pytest.raises(InvalidStateError, match=r"\.claude/CLAUDE\.md is new"):
            await run.claude.session.fresh()

    with_claude(body, permission_mode="bypassPermissions")


def test_a_folder_that_goes_while_a_home_is_looked_at_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "list.lock").mkdir()
    (tmp_path / "list").write_text("1")
    scandir = os.scandir

    def going(folder: str) -> Any:
        if str(folder).endswith(".lock"):
            Path(folder).rmdir()
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", going)
    assert set(HomeState.of(tmp_path).files) == {"list"}


def test_files_of_a_home_are_compared_by_what_is_in_them(tmp_path: Path) -> None:
    for name in ("same", "other", "gone", ".claude.json", ".claude/history.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    before = HomeState.of(tmp_path)
    assert set(before.files) == {"same", "other", "gone"}
    (tmp_path / "other").write_text("2")
    (tmp_path / ".claude.json").write_text("2")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("1")
    assert changed(before, HomeState.of(tmp_path)) == ("new is new", "other is different", "gone is gone")
    assert changed(None, before) == ("gone is new", "other is new", "same is new")
