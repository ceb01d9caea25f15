"""Agents and subagents: who asked, what they had been told, and where they are in the trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import SubagentFinished, SubagentStarted, bundled_cli
from soundstage.errors import AppError
from soundstage.journal import ModelResponded
from soundstage.models import CallSpec
from soundstage.trace import Trace

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Make = Callable[..., Path]
REVIEWER = "---\nname: reviewer\ndescription: reviews\ntools: Read\n---\nYou review strictly.\n"


def agent(prompt: str, kind: str = "general-purpose", **more: Any) -> CallSpec:
    arguments = {"description": "d", "prompt": prompt, "subagent_type": kind, **more}
    return CallSpec(name="Agent", arguments=arguments)


def test_subagents_of_subagents_are_branches_joined_by_the_id_of_the_tool_call(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    folder = make_plugin(tmp_path / "demo", {"agents/reviewer.md": REVIEWER})

    async def body(run: Any) -> None:
        script = run.script
        script.on(user="inner task", priority=3).reply("inner done")
        script.on(user="outer task", priority=2, iteration=1).reply(
            tool_calls=[agent("inner task", "demo:reviewer")]
        )
        script.on(user="outer task", priority=2).reply("outer done")
        script.on(user="begin", iteration=1).reply(tool_calls=[agent("outer task")])
        script.on(user="begin").reply("all done")
        turn = await run.claude.prompt("begin", within=40)
        outer, inner = turn.subagents
        assert (outer.agent, outer.task, outer.text) == ("general-purpose", "outer task", "outer done")
        assert (inner.agent, inner.task, inner.text) == ("demo:reviewer", "inner task", "inner done")
        assert (outer.parent, inner.parent) == ("", outer.id)
        assert {outer.status, inner.status} == {"completed"}
        assert outer.call_id == turn.tool_uses[0].id
        assert not outer.background
        main, first, second = turn.callers
        assert ([len(main.requests), len(first.requests), len(second.requests)]) == ([2, 2, 1])
        assert (main.id, first.id, second.id) == ("", outer.id, inner.id)
        assert "You review strictly." in second.guidance
        assert "You review strictly." not in turn.guidance
        assert second.tools == ("Read",)
        assert inner.calls == second
        order = [request.caller.headers.get("x-claude-code-agent-id", "") for request in turn.requests]
        assert order == ["", outer.id, inner.id, outer.id, ""]

        started = list(run.journal.read(type=SubagentStarted))
        assert [(record.event.agent_id, record.event.parent) for record in started] == [
            (outer.id, ""),
            (inner.id, outer.id),
        ]
        trace = Trace.of(run.journal)
        for record in started:
            asked = trace.causes(record.position)[-2].event
            assert isinstance(asked, ModelResponded)
            assert [call.id for call in asked.response.tool_calls] == [record.event.call_id]
        assert [(agent_run.agent, agent_run.parent) for agent_run in trace.runs[:3]] == [
            ("main", ""),
            (f"subagent-{outer.id}", "main"),
            (f"subagent-{inner.id}", f"subagent-{outer.id}"),
        ]
        for agent_run, record in zip(trace.runs[1:3], started, strict=True):
            asked = trace.causes(agent_run.position)[-2].event
            assert isinstance(asked, ModelResponded)
            assert [call.id for call in asked.response.tool_calls] == [record.event.call_id]
        ends = run.journal.read(type=SubagentFinished)
        assert [(record.event.text, record.cause) for record in ends] == [
            ("inner done", started[1].position),
            ("outer done", started[0].position),
        ]
        transcript = run.claude.session.transcript()
        assert {(found.id, found.agent, found.call_id, found.parent) for found in transcript.subagents} == {
            (outer.id, "general-purpose", outer.call_id, ""),
            (inner.id, "demo:reviewer", inner.call_id, outer.id),
        }

    with_claude(body, plugin_dirs=[folder])


def test_an_agent_of_a_plugin_or_of_the_test_can_be_the_main_one(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    folder = make_plugin(tmp_path / "demo", {"agents/reviewer.md": REVIEWER})

    async def body(run: Any) -> None:
        turn = await run.claude.prompt("hello", within=30)
        assert "You review strictly." in turn.guidance
        assert turn.callers[0].tools == ("Read",)
        zed = {"zed": {"description": "d", "prompt": "You are Zed."}}
        async with await run.claude.open(agent="zed", agents=zed) as session:
            assert "You are Zed." in (await session.prompt("hello", within=30)).guidance
        with pytest.raises(AppError, match="no agent 'nobody'"):
            await run.claude.open(agent="nobody")

    with_claude(body, plugin_dirs=[folder], agent="demo:reviewer")


def test_a_subagent_in_the_background_is_seen_as_such_and_its_answer_is_not_that_of_the_prompt(
    with_claude: Play,
) -> None:
    async def body(run: Any) -> None:
        script = run.script
        script.on(user="side task", priority=2).reply("side done")
        script.on(user="begin", iteration=1).reply(tool_calls=[agent("side task")])
        script.on(tool_result="launched", priority=1).reply("went on")
        script.on(user="/task-notification/").reply("heard of it")
        turn = await run.claude.prompt("begin", within=40)
        assert turn.text == "went on"
        (subagent,) = turn.subagents
        assert subagent.background
        finished = await run.journal.wait_for(SubagentFinished, within=30)
        assert finished.event.text == "side done"

    with_claude(body, environment={"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "0"})
