"""Commands before and after each tool: what they learn, what they can stop, and that nothing of them stays."""

from __future__ import annotations

import json
import os

import pytest

from soundstage.agents.runtime import (
    AgentDefinition,
    AgentLoop,
    AgentRegistry,
    AgentTask,
    ShellHook,
    ShellHooks,
    tool,
)
from soundstage.clock import run
from soundstage.errors import InvalidStateError, ToolDefinitionError
from soundstage.journal import HookFired, ToolCalled, ToolReturned
from soundstage.models import ScriptedModel


@tool
def greet(name: str) -> str:
    """Greet."""
    return f"hello {name}"


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("no")


def hooks(folder, *pairs, environment=None, limit=10.0, tools="*"):
    made = [ShellHook(event=event, command=command, tools=tools) for event, command in pairs]
    return ShellHooks(
        made, project=folder, environment=environment or {"PATH": os.environ["PATH"]}, limit=limit
    )


def test_hooks_run_before_and_after_with_what_they_must_know(use, tmp_path):
    show = "env | grep -E '^(VALARMIND|SOUNDSTAGE)_' | grep -v COMMAND | sort >> seen; cat >> input"
    given = hooks(tmp_path, ("PreToolUse", show), ("PostToolUse", show))
    used = use(greet, {"name": "Ada"}, hooks=given)
    assert used.text == "hello Ada"
    lines = (tmp_path / "seen").read_text().splitlines()
    before, after = lines[:6], lines[6:]
    for prefix in ("SOUNDSTAGE_", "VALARMIND_"):
        assert f'{prefix}ARGS={{"name":"Ada"}}' in before
        assert f"{prefix}TOOL=greet" in before
        assert f"{prefix}AGENT=worker" in before
        assert f"{prefix}SUCCESS=true" in after
        assert f"{prefix}TOOL=greet" in after
    assert json.loads((tmp_path / "input").read_text()[: len('{"name":"Ada"}')]) == {"name": "Ada"}
    kinds = [type(record.event) for record in used.journal.read()]
    assert kinds == [ToolCalled, HookFired, HookFired, ToolReturned]
    assert [record.cause for record in used.journal.read()] == [None, 1, 1, 1]
    assert [(e.event, e.outcome, e.exit_code) for e in used.journal.events(HookFired)] == [
        ("PreToolUse", "success", 0),
        ("PostToolUse", "success", 0),
    ]


def test_a_hook_after_a_tool_that_failed_learns_it(use, tmp_path):
    use(fail, hooks=hooks(tmp_path, ("PostToolUse", "echo $VALARMIND_SUCCESS > seen")))
    assert (tmp_path / "seen").read_text() == "false\n"


def test_exit_code_2_blocks_the_tool_with_the_reason_and_nothing_runs_after(use, tmp_path):
    ran = []

    @tool
    def touch() -> str:
        ran.append(True)
        return "ran"

    given = hooks(
        tmp_path,
        ("PreToolUse", "echo 'not on a Friday' >&2; exit 2"),
        ("PreToolUse", "touch second"),
        ("PostToolUse", "touch after"),
    )
    used = use(touch, hooks=given)
    assert used.text == "ERROR: Blocked by a hook: not on a Friday"
    assert not ran
    assert list(tmp_path.iterdir()) == []
    assert [event.outcome for event in used.journal.events(HookFired)] == ["blocked"]


def test_a_hook_that_fails_is_journaled_and_the_tool_still_runs(use, tmp_path):
    used = use(
        greet,
        {"name": "Ada"},
        hooks=hooks(tmp_path, ("PreToolUse", "echo oh; exit 1"), ("PreToolUse", "nope-x")),
    )
    assert used.text == "hello Ada"
    first, second = used.journal.events(HookFired)
    assert (first.outcome, first.exit_code, first.output) == ("failed", 1, "oh\n")
    assert (second.outcome, second.exit_code) == ("failed", 127)


def test_exit_code_2_after_a_tool_changes_nothing(use, tmp_path):
    used = use(greet, {"name": "Ada"}, hooks=hooks(tmp_path, ("PostToolUse", "exit 2")))
    assert used.text == "hello Ada"
    assert used.journal.events(HookFired)[0].outcome == "failed"


@pytest.mark.parametrize("real", [False, True])
def test_a_hook_that_hangs_is_journaled_when_its_time_is_up_and_the_tool_runs(use, tmp_path, real):
    used = use(
        greet, {"name": "Ada"}, real=real, hooks=hooks(tmp_path, ("PreToolUse", "sleep 600"), limit=0.3)
    )
    assert used.text == "hello Ada"
    (fired,) = used.journal.events(HookFired)
    assert fired.outcome == "timeout"
    assert "no end within 0.3 s" in fired.output


def test_variables_that_are_named_like_secrets_are_not_passed_on(use, tmp_path):
    environment = {
        "PATH": os.environ["PATH"], "OPENAI_API_KEY": "a", "GITHUB_TOKEN": "b", "DB_PASSWORD": "c", "PLAIN": "d",
    }  # fmt: skip
    use(greet, {"name": "A"}, hooks=hooks(tmp_path, ("PreToolUse", "env > seen"), environment=environment))
    seen = (tmp_path / "seen").read_text()
    assert "PLAIN=d" in seen
    assert not any(name in seen for name in ("API_KEY", "TOKEN=", "PASSWORD"))


def test_a_hook_can_be_for_some_tools_only(use, tmp_path):
    given = hooks(tmp_path, ("PreToolUse", "exit 2"), tools="write_*")
    assert use(greet, {"name": "Ada"}, hooks=given).text == "hello Ada"


def test_arguments_too_long_for_a_variable_come_by_the_input(use, tmp_path):
    used = use(
        greet,
        {"name": "x" * 300_000},
        hooks=hooks(tmp_path, ("PreToolUse", "wc -c > n; echo ${VALARMIND_ARGS-none} > v")),
    )
    assert used.journal.events(HookFired)[0].outcome == "success"
    assert (tmp_path / "n").read_text().strip() == str(300_000 + len('{"name":""}'))
    assert (tmp_path / "v").read_text() == "none\n"


def test_a_project_that_is_gone_is_journaled_and_the_tool_runs(use, tmp_path):
    used = use(greet, {"name": "Ada"}, hooks=hooks(tmp_path / "gone", ("PreToolUse", "true")))
    assert used.text == "hello Ada"
    assert "cannot be run" in used.journal.events(HookFired)[0].output


def test_what_is_no_hook_is_refused():
    with pytest.raises(ToolDefinitionError, match="this is no hook"):
        ShellHook(event="OnFriday", command="true")
    with pytest.raises(ToolDefinitionError, match="this is no hook"):
        ShellHook(event="PreToolUse", command=" ")


def test_a_loop_of_another_time_than_its_run_is_refused_because_a_hook_would_be_passed_over(script):
    made = AgentLoop(ScriptedModel(script), AgentRegistry([AgentDefinition(slug="w")]))
    with pytest.raises(InvalidStateError, match="keeps another time"):
        run(made.run(AgentTask(id="t", agent="w", prompt="go")))
    assert made.journal.read() == []
