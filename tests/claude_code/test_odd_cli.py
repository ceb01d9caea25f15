"""A CLI of another version: what it says is noted, and what cannot be read is an error, never a wait."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import ClaudeCode
from soundstage.errors import EnvironmentProblem, HarnessError, WaitTimeout
from soundstage.journal import FactMissed, Journal, MessageSent

RESULT = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "result": "done"}


def with_lines(
    folder: Path, lines: list[str], body: Callable[[ClaudeCode], Awaitable[Any]]
) -> tuple[Journal, Any]:
    """Run `body` with a program that answers each line of input with `lines`."""
    cli = folder / "cli"
    cli.write_text(
        f"#!{sys.executable}\nimport sys\nfor _ in sys.stdin:\n    for line in {lines!r}: print(line, flush=True)\n"
    )
    cli.chmod(0o755)
    journal = Journal()
    work = folder / "work"
    work.mkdir()

    async def main() -> Any:
        claude = ClaudeCode(journal, "http://127.0.0.1:1", work, cli=cli)
        await claude.start()
        try:
            return await body(claude)
        finally:
            await claude.stop()

    return journal, asyncio.run(main())


def test_a_result_of_another_shape_is_an_error_that_names_the_tested_version(tmp_path: Path) -> None:
    async def body(claude: ClaudeCode) -> None:
        with pytest.raises(HarnessError, match=r"no bool 'is_error'") as caught:
            await claude.prompt("hello", within=30)
        assert "pip install" in caught.value.hint

    with_lines(tmp_path, ['{"type": "result", "subtype": "success"}'], body)


def test_noise_new_messages_and_results_of_other_origin_do_not_end_a_turn(tmp_path: Path) -> None:
    other = {**RESULT, "result": "a task", "origin": {"kind": "task-notification"}}
    lines = ["not json", '{"type": "brand_new"}', json.dumps(other), json.dumps(RESULT), json.dumps(RESULT)]

    async def body(claude: ClaudeCode) -> list[str]:
        turn = await claude.prompt("hello", within=30)
        return [turn.text, *[type(message).__name__ for message in turn.messages[:4]]]

    journal, seen = with_lines(tmp_path, lines, body)
    assert seen == ["done", "UnknownMessage", "UnknownMessage", "TurnResult", "TurnResult"]
    assert [event.text for event in journal.events(MessageSent)] == ["done"]
    [missed] = journal.events(FactMissed)
    assert (missed.what, missed.reason.partition(" in ")[0]) == ("message", "not a JSON object")


def test_a_cli_that_says_nothing_is_ended_in_time(tmp_path: Path) -> None:
    async def body(claude: ClaudeCode) -> None:
        with pytest.raises(WaitTimeout, match="no message at all"):
            await claude.prompt("hello", within=0.2)

    with_lines(tmp_path, [], body)
    with pytest.raises(WaitTimeout, match="did not answer 'interrupt'"):
        (tmp_path / "second").mkdir()
        with_lines(tmp_path / "second", [], lambda claude: claude.interrupt(within=0.2))


def test_a_cli_that_is_too_old_is_named_with_the_extra_to_install(tmp_path: Path) -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "1.0.44"}

    async def body(claude: ClaudeCode) -> None:
        with pytest.raises(EnvironmentProblem, match=r"version 1\.0\.44") as caught:
            await claude.prompt("hello", within=30)
        assert "pip install 'soundstage[claude]'" in caught.value.hint

    with_lines(tmp_path, [json.dumps(init), json.dumps(RESULT)], body)


@pytest.mark.parametrize("end", ["kill -SEGV $$", "exit 127"])
def test_a_cli_that_crashes_before_its_first_word_is_a_problem_of_the_machine(
    tmp_path: Path, end: str
) -> None:
    cli = tmp_path / "cli"
    cli.write_text(f"#!/bin/sh\nread line\n{end}\n")
    cli.chmod(0o755)
    (tmp_path / "work").mkdir()

    async def main() -> None:
        claude = ClaudeCode(Journal(), "http://127.0.0.1:1", tmp_path / "work", cli=cli)
        await claude.start()
        try:
            with pytest.raises(EnvironmentProblem, match="pip install"):
                await claude.prompt("hello", within=30)
        finally:
            await claude.stop()

    asyncio.run(main())


def test_a_plugin_command_that_prints_no_json_is_a_problem_of_the_machine(tmp_path: Path) -> None:
    async def body(claude: ClaudeCode) -> None:
        with pytest.raises(EnvironmentProblem, match="does not answer as it should"):
            await claude.plugins.list()

    with_lines(tmp_path, [], body)


def test_a_cli_that_cannot_be_run_says_so(tmp_path: Path) -> None:
    cli = tmp_path / "cli"
    cli.write_text("not a program")
    cli.chmod(0o755)
    (tmp_path / "work").mkdir()

    async def main() -> None:
        with pytest.raises(EnvironmentProblem, match="cannot be run"):
            await ClaudeCode(Journal(), "http://127.0.0.1:1", tmp_path / "work", cli=cli).start()

    asyncio.run(main())
