"""The work of a session as events: which tool use a hook is about, to-do lists, notifications, tokens, commits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundstage.claude_code import HookCallback, bundled_cli
from soundstage.claude_code._log import SessionLog
from soundstage.claude_code._messages import AssistantMessage, HookResponse, TurnResult, UserMessage
from soundstage.claude_code._work import ToolsInWork, notification
from soundstage.journal import (
    Committed,
    HookFired,
    Journal,
    ModelResponded,
    Notified,
    RunAborted,
    Todo,
    TodosChanged,
    UsageReported,
)
from soundstage.messages import ToolCall, ToolResult
from soundstage.models import CallSpec

HOOKS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")


def called(*names: str) -> AssistantMessage:
    parts = tuple(
        ToolCall(id=f"c{number}", name=name, arguments={"n": number}) for number, name in enumerate(names)
    )
    return AssistantMessage(data={}, parts=parts)


def returned(identity: str, *, is_error: bool = False, **result: Any) -> UserMessage:
    parts = (ToolResult(call_id=identity, text="", is_error=is_error),)
    return UserMessage(data={"tool_use_result": result}, parts=parts)


def fired(work: ToolsInWork, hook: str) -> HookFired:
    event = hook.partition(":")[0]
    return work.hook_fired(HookResponse(data={}, hook_id="h", hook=hook, event=event, outcome="success"))


def test_a_hook_of_the_stream_is_about_the_one_open_call_of_its_tool_and_else_about_none_that_is_known():
    work = ToolsInWork()
    work.heard(called("Bash", "Read", "Read"))
    assert fired(work, "PreToolUse:Bash").call_id == "c0"
    assert fired(work, "PreToolUse:Bash").input == {"tool_name": "Bash", "tool_input": {"n": 0}}
    assert (fired(work, "PreToolUse:Read").call_id, fired(work, "PreToolUse:Read").input) == ("", {})
    work.heard(returned("c1"))
    assert (fired(work, "PostToolUse:Read").call_id, fired(work, "PostToolUse:Read").input) == ("c2", {})
    assert fired(work, "Stop").call_id == ""
    work.heard(returned("c0"))
    assert fired(work, "PostToolUse:Bash").call_id == ""


def test_a_to_do_list_follows_the_tools_that_were_not_refused():
    work = ToolsInWork()
    create = AssistantMessage(
        data={}, parts=(ToolCall(id="a", name="TaskCreate", arguments={"subject": "look"}),)
    )
    update = ToolCall(id="b", name="TaskUpdate", arguments={"taskId": "1", "status": "completed"})
    refused = ToolCall(id="c", name="TaskUpdate", arguments={"taskId": "1", "status": "deleted"})
    assert work.heard(create) is None
    assert work.heard(returned("a", task={"id": "1", "subject": "look"})) == TodosChanged(
        todos=(Todo(id="1", text="look"),)
    )
    work.heard(AssistantMessage(data={}, parts=(update, refused)))
    assert work.heard(returned("c", is_error=True)) is None
    assert work.heard(returned("b")) == TodosChanged(todos=(Todo(id="1", text="look", status="completed"),))
    work.heard(AssistantMessage(data={}, parts=(refused,)))
    assert work.heard(returned("c")) == TodosChanged(todos=())


def test_a_list_that_is_written_whole_replaces_the_one_before():
    work = ToolsInWork()
    todos = [{"content": "look", "status": "in_progress"}, {"content": "leap", "status": "odd"}, "no item"]
    work.heard(
        AssistantMessage(data={}, parts=(ToolCall(id="a", name="TodoWrite", arguments={"todos": todos}),))
    )
    assert work.heard(returned("a")) == TodosChanged(
        todos=(Todo(text="look", status="in_progress"), Todo(text="leap"))
    )


def test_a_notification_is_told_as_its_hook_was():
    given = {"message": "may I?", "title": "Bash", "notification_type": "permission_prompt"}
    assert notification(given) == Notified(text="may I?", title="Bash", kind="permission_prompt")


@pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
@pytest.mark.parametrize(
    ("reason", "result"),
    [
        ("budget", {"subtype": "error_max_budget_usd", "is_error": True}),
        ("budget", {"subtype": "error_max_turns", "is_error": True}),
        ("interrupted", {"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}),
        (
            "session-timeout",
            {"subtype": "success", "is_error": True, "text": "Request timed out. If the API is slow"},
        ),
        (None, {"subtype": "success", "text": "Request timed out is what the log says."}),
        (None, {"subtype": "success", "is_error": True, "text": "API Error: 529"}),
        (None, {"subtype": "error_max_turns", "is_error": True, "origin": "task-notification"}),
    ],
)
def test_a_turn_that_a_limit_or_an_interrupt_ended_is_an_abort_and_no_other_is(reason, result):
    journal = Journal()
    SessionLog(journal, "claude").heard(
        TurnResult(**{"data": {}, "is_error": False, "session_id": "s", **result}), "s", None
    )
    assert [event.reason for event in journal.events(RunAborted)] == ([reason] if reason else [])


def test_a_session_tells_hooks_with_their_tool_uses_its_to_do_list_its_commits_and_its_tokens(
    with_claude: Callable[..., Any],
) -> None:
    def call(name: str, **arguments: Any) -> CallSpec:
        return CallSpec(name=name, arguments=arguments)

    async def body(run: Any) -> Journal:
        run.workspace.git()
        run.script.on(user="go", times=1, priority=2).reply(
            tool_calls=[call("TaskCreate", subject="look", description="d")]
        )
        commit = "git commit -q --allow-empty -m 'feat: begin'"
        run.script.on(tool_result=True, times=1, priority=2).reply(
            tool_calls=[
                call("TaskUpdate", taskId="1", status="completed"),
                call("Bash", command=commit, description="d"),
                call("Bash", command="exit 3", description="d"),
            ]
        )
        run.script.on(tool_result=True, times=1, priority=1).reply("done")
        await run.claude.prompt("go", within=60)
        return run.journal

    tools = ["Bash", "TaskCreate", "TaskUpdate"]
    journal = with_claude(
        body,
        allowed_tools=tools,
        extra_args=["--tools", ",".join(tools)],
        hooks=[HookCallback(event=event, function=lambda given: None) for event in HOOKS],
    )
    hooks = journal.events(HookFired)
    calls = [call for event in journal.events(ModelResponded) for call in event.response.tool_calls]
    assert len(calls) == 4
    for call in calls:
        before, after = (hook for hook in hooks if hook.call_id == call.id)
        assert (before.event, before.input["tool_input"], before.paired) == (
            "PreToolUse",
            call.arguments,
            True,
        )
        assert after.event == (
            "PostToolUseFailure" if call.arguments.get("command") == "exit 3" else "PostToolUse"
        )
        assert ("error" if after.event == "PostToolUseFailure" else "tool_response") in after.input
    assert [event.todos for event in journal.events(TodosChanged)] == [
        (Todo(id="1", text="look"),),
        (Todo(id="1", text="look", status="completed"),),
    ]
    assert [event.subject for event in journal.events(Committed)] == ["feat: begin"]
    [told] = journal.events(UsageReported)
    assert told.usage.output_tokens == sum(
        event.response.usage.output_tokens for event in journal.events(ModelResponded)
    )
    assert told.cost
