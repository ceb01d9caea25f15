"""Stages follow from the commands that were executed and what they came to."""

from __future__ import annotations

from typing import Any

import pytest

from soundstage.claude_code import ClaudeTurn, TurnResult
from soundstage.claude_code.harness._conversation import ConversationTurn
from soundstage.claude_code.harness._stages import check_workflow, stage_after
from soundstage.errors import ScriptError
from soundstage.journal import Committed


def turn(*, failed: bool = False, commit: bool = False) -> ClaudeTurn:
    """A turn; with `commit`, one that has made a commit."""
    result = TurnResult(data={}, is_error=failed, subtype="success", session_id="s")
    made = (Committed(hash="a" * 40, subject="feat: x"),) if commit else ()
    return ClaudeTurn(prompt="", messages=(), result=result, commits=made)


def after(*asked: tuple[str, ClaudeTurn], workflow: Any = "") -> tuple[str, str]:
    answers = [
        ConversationTurn(str(number), "s", turn, command) for number, (command, turn) in enumerate(asked)
    ]
    where = stage_after(answers, workflow)
    return where.workflow, where.stage


def test_a_conversation_is_idle_before_its_first_command() -> None:
    assert after() == ("", "idle")
    assert after(("", turn())) == ("", "idle")


def test_a_command_leads_to_its_stage() -> None:
    assert after(("agent-loop:explore", turn())) == ("agent-loop", "exploring")
    assert after(("agent-loop:explore", turn()), ("agent-loop:plan", turn())) == ("agent-loop", "planning")


def test_a_command_that_failed_leads_nowhere() -> None:
    asked = (("agent-loop:explore", turn()), ("agent-loop:plan", turn(failed=True)))
    assert after(*asked) == ("agent-loop", "exploring")


def test_a_commit_counts_when_git_has_made_it() -> None:
    code = ("agent-loop:code", turn())
    assert after(code, ("agent-loop:commit", turn(commit=True)))[1] == "complete"
    assert after(code, ("agent-loop:commit", turn()))[1] == "coding"
    assert after(("epti:commit-code", turn()))[1] == "committing-code"
    assert after(("epti:commit-code", turn(commit=True)))[1] == "complete"
    assert after(("epti:commit-tests", turn(commit=True)))[1] == "committing-tests"


def test_one_name_of_two_plugins_leads_to_two_stages() -> None:
    assert after(("epti:iterate", turn())) == ("epti", "iterating")
    assert after(("visual-iteration:iterate", turn())) == ("visual-iteration", "refining")


def test_a_workflow_that_was_chosen_takes_no_notice_of_others() -> None:
    asked = (("epti:implement", turn()), ("agent-loop:plan", turn()))
    assert after(*asked, workflow="epti") == ("epti", "implementing")


def test_a_plugin_author_declares_stages_of_their_own() -> None:
    own = {"demo:look": "looking", "think": "thinking"}
    assert after(("demo:look", turn()), workflow=own) == ("own", "looking")
    assert after(("demo:think", turn()), workflow=own) == ("own", "thinking")


def test_a_workflow_that_there_is_not_is_refused() -> None:
    with pytest.raises(ScriptError, match="agent-loop, epti, visual-iteration"):
        check_workflow("agentloop")
