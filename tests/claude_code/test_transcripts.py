"""Transcripts: the CLI's own record of a session, read while it runs and kept when it is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import Transcript, TranscriptKept, bundled_cli
from soundstage.claude_code._transcript import keep_transcript, read_transcript
from soundstage.errors import InvalidStateError, ScriptError, WaitTimeout
from soundstage.messages import ToolCall, ToolResult
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]


def test_the_history_has_all_turns_in_order_with_tools_and_results(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        session = run.claude.session
        assert session.transcript() == Transcript(session_id=session.id)
        look = CallSpec(name="Bash", arguments={"command": "echo seen", "description": "d"})
        run.script.on(user="first", times=1).reply(tool_calls=[look])
        run.script.on(user="first").reply("one")
        run.script.on(user="second", priority=1).reply("two")
        await run.claude.prompt("first", within=30)
        await run.claude.prompt("second", within=30)
        history = session.transcript().history
        assert [(turn.role, turn.text) for turn in history] == [
            ("user", "first"),
            ("assistant", ""),
            ("user", ""),
            ("assistant", "one"),
            ("user", "second"),
            ("assistant", "two"),
        ]
        (called,), (returned,) = history[1].parts, history[2].parts
        assert isinstance(called, ToolCall)
        assert isinstance(returned, ToolResult)
        assert (called.name, returned.text) == ("Bash", "seen")

    with_claude(body)


def test_a_transcript_outlives_its_home_and_is_copied_where_the_test_wants_it(
    with_claude: Play, tmp_path: Path
) -> None:
    async def body(run: Any) -> Any:
        run.script.on(user="hello").reply("hi there")
        await run.claude.prompt("hello", within=30)
        return run.claude.session, run.journal

    session, journal = with_claude(body, transcripts=tmp_path / "kept")
    assert [turn.text for turn in session.transcript().history] == ["hello", "hi there"]
    (kept,) = journal.events(TranscriptKept)
    assert (kept.conversation, kept.entries) == (session.id, len(session.transcript().entries))
    copy = tmp_path / "kept" / f"{session.id}.jsonl"
    assert kept.path == str(copy)
    assert len(copy.read_text().splitlines()) == kept.entries


def test_a_script_that_runs_dry_ends_the_session_and_its_transcript_is_kept(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.strict = True
        run.script.on(user="first").reply("one")
        await run.claude.prompt("first", within=30)
        run.script.rules.clear()
        run.script.version += 1
        with pytest.raises(ScriptError, match="no answer for Claude Code") as caught:
            await run.claude.prompt("second", within=30)
        assert "second" in caught.value.seen
        assert "one" in [turn.text for turn in run.claude.session.transcript().history]
        assert run.journal.events(TranscriptKept)
        with pytest.raises(InvalidStateError, match="has been ended"):
            await run.claude.prompt("third", within=30)

    with_claude(body)


def test_a_session_that_hangs_leaves_a_transcript_too(with_claude: Play) -> None:
    async def body(run: Any) -> Any:
        run.script.on(user="hello").reply("hi there")
        run.script.on(user="wait", priority=1).fault("stall")
        await run.claude.prompt("hello", within=30)
        with pytest.raises(WaitTimeout):
            await run.claude.prompt("wait", within=0.3)
        return run.claude.session

    session = with_claude(body)
    assert [turn.text for turn in session.transcript().history][:2] == ["hello", "hi there"]


def test_a_torn_line_and_noise_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-work"
    folder.mkdir(parents=True)
    said = {"type": "user", "uuid": "1", "message": {"content": "hello"}}
    lines = [json.dumps(said), "[]", '{"type": "mode"}', '{"type": "assi']
    (folder / "id.jsonl").write_text("\n".join(lines))
    found = read_transcript(tmp_path, "id")
    assert [(entry.type, entry.text, entry.id) for entry in found.entries] == [
        ("user", "hello", "1"),
        ("mode", "", ""),
    ]
    assert keep_transcript(tmp_path, "other", tmp_path / "kept") is None
    assert not (tmp_path / "kept").exists()


def test_nothing_is_read_or_kept_through_a_link_that_a_program_has_left(tmp_path: Path) -> None:
    home, outside, kept = tmp_path / "home", tmp_path / "outside", tmp_path / "kept"
    project = home / ".claude/projects/-work"
    (project / "whole/subagents").mkdir(parents=True)
    (outside / "subagents").mkdir(parents=True)
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "SECRET"}}) + "\n"
    for path in (outside / "key.jsonl", outside / "subagents/agent-1.jsonl"):
        path.write_text(line)
    (project / "linked.jsonl").symlink_to(outside / "key.jsonl")
    (project / "whole.jsonl").write_text(line.replace("SECRET", "hello"))
    (project / "whole/subagents/agent-1.jsonl").symlink_to(outside / "key.jsonl")
    os.mkfifo(project / "whole/subagents/agent-2.jsonl")
    (project / "folder.jsonl").write_text(line.replace("SECRET", "hello"))
    (project / "folder").symlink_to(outside)
    os.mkfifo(project / "pipe.jsonl")
    (home / ".claude/projects/-other").symlink_to(outside)
    found = {name: read_transcript(home, name) for name in ("linked", "whole", "folder", "pipe", "key")}
    assert [name for name, transcript in found.items() if transcript.entries] == ["whole", "folder"]
    assert not [
        name for name, transcript in found.items() if any(one.entries for one in transcript.subagents)
    ]
    copies = [keep_transcript(home, name, kept) for name in found]
    assert copies == [None, kept / "whole.jsonl", kept / "folder.jsonl", None, None]
    assert sorted(path.name for path in kept.rglob("*") if path.is_file()) == ["folder.jsonl", "whole.jsonl"]
    assert "SECRET" not in "".join(path.read_text() for path in kept.glob("*.jsonl"))
