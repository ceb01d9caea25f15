"""The plan orchestrator on the real agent loop: what agents write decides about the gates, what fails is retried."""

from __future__ import annotations

import json

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, ToolContext, tool
from soundstage.agents.teams import Backoff, PlanOrchestrator, RetryingModel, planning_prompt
from soundstage.host import HostBuilder
from soundstage.models import Script
from soundstage.trace import assert_agent_sequence, assert_tool_calls


@tool(permissions="write")
async def write_file(path: str, *, context: ToolContext) -> str:
    """Write a file.

    Args:
        path: where.
    """
    context.changed(path, None, "0" * 64)
    return "written"


def definition(slug, **fields):
    return AgentDefinition(slug=slug, description=f"Does {slug}.", prompt=f"You are the {slug}.", **fields)


WRITER = {"tools": ("write_file",), "permissions": frozenset({"write"})}
WORKERS = (definition("search"), definition("code", **WRITER), definition("review"), definition("qa"))
TEAM = (AgentDefinition(slug="orchestrator", prompt=planning_prompt(WORKERS)), *WORKERS)


def write(*paths):
    return [{"name": "write_file", "arguments": {"path": path}} for path in paths]


def on_the_loop(script, request="Mend the login"):
    async def body(host):
        model = RetryingModel(host.model, backoff=Backoff(jitter=0))
        loop = AgentLoop(model, AgentRegistry(TEAM, [write_file]), journal=host.journal, default_model="m")
        planner = PlanOrchestrator(loop, TEAM, host.journal, ids=host.ids)
        result = await planner.run(request)
        return result, host.trace

    return HostBuilder().with_script(script).run(body)


def test_two_searches_code_a_failed_review_a_fix_an_approval_and_the_tests():
    plan = {
        "plan": "Look twice, then mend",
        "tasks": [
            {"agent": "search", "description": "find the page"},
            {"agent": "search", "description": "find the tests"},
            {"agent": "code", "description": "mend it", "dependsOn": [0, 1]},
        ],
    }
    script = Script(strict=True)
    script.on(agent="orchestrator").reply("Here it is:\n" + json.dumps(plan))
    script.on(agent="search", user="the page").reply("it is in page.py", delay=3)
    script.on(agent="search", user="the tests").reply("there are none", delay=2)
    script.on(agent="code", tool_result="written", user="mend it").reply("Mended.")
    script.on(agent="code", tool_result="written", user="no check of the length").reply("Checked.")
    script.on(agent="code", contains="it is in page.py", user="mend it").reply(
        tool_calls=write("page.py", "form.py", "user.py")
    )
    script.on(agent="code", user="no check of the length").reply(tool_calls=write("check.py"))
    issue = {"file": "form.py", "message": "no check of the length", "severity": "major"}
    script.on(agent="review", user="check.py").reply(json.dumps({"approved": True}))
    script.on(agent="review").reply(json.dumps({"approved": False, "issues": [issue]}))
    script.on(agent="qa", times=1, priority=1).error(529, "busy")
    script.on(agent="qa").reply(json.dumps({"passed": True}))

    result, trace = on_the_loop(script)

    assert_agent_sequence(trace, "orchestrator", "search", "search", "code", "review", "code", "review", "qa")
    assert_tool_calls(trace, *["write_file"] * 4, agent="code")
    assert result.quality.files == ("page.py", "form.py", "user.py", "check.py")
    assert result.quality.reason == "3 files of code changed, more than 2"
    assert "3/3 tasks completed" in result.summary
    assert "QA: passed" in result.summary
    assert (
        trace.duration == 3 + 1
    )  # the searches run side by side; the tester's model is asked again after 1 s


def test_an_agent_whose_model_fails_for_good_is_a_failure_and_the_rest_goes_on():
    plan = {
        "plan": "p",
        "tasks": [
            {"agent": "search", "description": "find"},
            {"agent": "code", "description": "mend", "dependsOn": [0]},
            {"agent": "search", "description": "look"},
        ],
    }
    script = Script(strict=True)
    script.on(agent="orchestrator").reply(json.dumps(plan))
    script.on(agent="search", user="find").error(500, "down")
    script.on(agent="search", user="look").reply("seen")
    result, trace = on_the_loop(script)
    assert [task.status for task in result.tasks] == ["failed", "skipped", "completed"]
    assert "status 500" in result.tasks[0].error
    assert len([step for step in trace.steps if step.failure]) == 4  # the first try and three more
    assert "Warning: search failed" in result.summary


def test_the_second_try_of_an_agent_is_iteration_two_though_it_is_made_in_another_conversation():
    plan = {
        "plan": "p",
        "tasks": [{"agent": "search", "description": "find"}, {"agent": "code", "description": "mend"}],
    }
    script = Script(strict=True)
    script.on(agent="orchestrator").reply(json.dumps(plan))
    script.on(agent="search").reply("found")
    script.on(agent="code", iteration=1).reply(tool_calls=write("auth.py", "form.py", "user.py"))
    script.on(agent="code", iteration=2).reply("Mended.")
    script.on(agent="code", iteration=3).reply("Checked.")
    issue = {"file": "auth.py", "message": "no check", "severity": "major"}
    script.on(agent="review", iteration=1).reply(json.dumps({"approved": False, "issues": [issue]}))
    script.on(agent="review", iteration=2).reply(json.dumps({"approved": True}))
    script.on(agent="qa").reply(json.dumps({"passed": True}))
    result, trace = on_the_loop(script)
    assert "Review: approved after 1 fixes" in result.summary
    tries = [run.conversation for run in trace.runs if run.agent == "code"]
    assert len(set(tries)) == 2, "the first in its task, the second in the plan"
    assert {step.whole for step in trace.steps} == {result.conversation}
