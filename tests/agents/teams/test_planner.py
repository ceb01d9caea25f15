"""The plan orchestrator: who does what, in which order, and what is reported."""

from __future__ import annotations

import asyncio
import json

import pytest

from soundstage.agents.runtime import AgentDefinition
from soundstage.agents.teams import (
    EmptyMessageError,
    PlanDecided,
    PlanError,
    PlanMade,
    PlanOrchestrator,
    RoutingError,
    TaskSkipped,
)
from soundstage.clock import run
from soundstage.errors import NoMatchError
from soundstage.journal import Journal
from support.teams import Cast

AGENTS = tuple(
    AgentDefinition(slug=slug) for slug in ("orchestrator", "search", "code", "test", "review", "qa", "docs")
)
APPROVED = json.dumps({"approved": True, "summary": "fine"})
PASSED = json.dumps({"passed": True})


def planned(*tasks):
    """A plan: (agent, description, dependencies...)."""
    listed = [{"agent": t[0], "description": t[1], "dependsOn": list(t[2:])} for t in tasks]
    return json.dumps({"plan": "the plan", "tasks": listed})


def rejected(issue="plaintext"):
    return json.dumps({"approved": False, "issues": [{"message": issue, "file": "a.py"}]})


def wrote(text, *files):
    return {"output": text, "files": files}


FAILED = {"success": False, "error": "Agent error: 529", "reason": "error"}


class Stage:
    def __init__(self, cast, agents=AGENTS, **options):
        self.journal = Journal()
        self.cast = cast
        self.planner = PlanOrchestrator(cast, agents, self.journal, **options)

    def run(self, request="Rename it"):
        return run(self.planner.run(request))


def test_search_then_code_and_the_result_is_passed_on():
    cast = Cast(
        orchestrator=[planned(("search", "find"), ("code", "change", 0))],
        search=["in a.py"],
        code=[wrote("changed", "a.py")],
    )
    result = Stage(cast).run()
    assert cast.order == ["orchestrator", "search", "code"]
    assert cast.tasks[2].context == {"search_0_result": "in a.py"}
    assert cast.tasks[2].prompt == "change"
    assert [task.status for task in result.tasks] == ["completed", "completed"]
    assert "2/2 tasks completed" in result.summary


def test_two_searches_run_at_the_same_time_and_both_before_code():
    meeting = asyncio.Barrier(2)

    async def meet(task):
        await meeting.wait()
        return f"found by {task.id[-1]}"

    cast = Cast(
        orchestrator=[planned(("search", "a"), ("search", "b"), ("code", "c", 0, 1))],
        search=[meet, meet],
        code=["changed"],
    )
    Stage(cast).run()
    assert cast.order == ["orchestrator", "search", "search", "code"]
    assert cast.tasks[3].context == {"search_0_result": "found by 0", "search_1_result": "found by 1"}


def test_a_chain_of_three():
    cast = Cast(
        orchestrator=[planned(("test", "t", 1), ("code", "c", 2), ("search", "s"))],
        search=["s"],
        code=["c"],
        test=["t"],
    )
    Stage(cast).run()
    assert cast.order == ["orchestrator", "search", "code", "test"]
    assert cast.tasks[3].context == {"code_1_result": "c"}


def test_one_harmless_file_needs_no_gates():
    cast = Cast(orchestrator=[planned(("code", "change"))], code=[wrote("ok", "a.py")])
    assert Stage(cast).run().quality.reason == ""
    assert cast.order == ["orchestrator", "code"]


def test_a_change_of_many_files_is_reviewed_and_tested():
    cast = Cast(
        orchestrator=[planned(("code", "change"))],
        code=[wrote("ok", "a.py", "b.py", "c.py")],
        review=[APPROVED],
        qa=[PASSED],
    )
    result = Stage(cast).run()
    assert cast.order == ["orchestrator", "code", "review", "qa"]
    assert result.quality.reason == "3 files of code changed, more than 2"
    assert "QA: passed" in result.summary
    assert "- c.py" in cast.tasks[2].prompt


def test_a_review_that_fails_leads_to_a_fix_and_another_review_of_all_files():
    cast = Cast(
        orchestrator=[planned(("code", "change auth"))],
        code=[wrote("ok", "a.py"), wrote("hashed", "b.py")],
        review=[rejected(), APPROVED],
        qa=[PASSED],
    )
    result = Stage(cast).run()
    assert cast.order == ["orchestrator", "code", "review", "code", "review", "qa"]
    assert "plaintext" in cast.tasks[3].prompt
    assert "- b.py" not in cast.tasks[2].prompt
    assert "- b.py" in cast.tasks[4].prompt
    assert (result.quality.fixes, result.quality.files) == (1, ("a.py", "b.py"))


def test_what_is_never_approved_is_not_tested_and_people_are_warned():
    cast = Cast(
        orchestrator=[planned(("code", "auth"))],
        code=["ok", "fix", "fix"],
        review=[rejected()] * 3,
        qa=["never asked"],
    )
    result = Stage(cast).run()
    assert cast.order == ["orchestrator", "code", "review", "code", "review", "code", "review"]
    assert result.quality.qa is None
    assert "Warning: review: not approved after 2 fixes; QA was not run" in result.summary


@pytest.mark.parametrize(
    ("lines", "order", "warning"),
    [
        ({"review": ["LGTM"]}, ["review"], "review: no verdict"),
        ({"review": [FAILED]}, ["review"], "review: no verdict, so the gates end here: the agent failed"),
        ({"review": [rejected()], "code": [FAILED]}, ["review", "code"], "code: fix 1 failed"),
        ({"review": [APPROVED], "qa": ["yes"]}, ["review", "qa"], "qa: no verdict"),
        (
            {"review": [APPROVED], "qa": ['{"passed": false, "blockers": ["unit tests"]}']},
            ["review", "qa"],
            "qa: not passed: unit tests",
        ),
    ],
    ids=["no review", "review fails", "fix fails", "no report", "not passed"],
)
def test_what_goes_wrong_at_the_gates_is_a_warning(lines, order, warning):
    code = ["ok", *lines.pop("code", [])]
    cast = Cast(orchestrator=[planned(("code", "auth"))], code=code, **lines)
    result = Stage(cast).run()
    assert cast.order == ["orchestrator", "code", *order]
    assert any(found.startswith(warning) for found in result.quality.warnings)


def test_a_team_without_reviewers_is_warned_that_there_was_no_review():
    cast = Cast(orchestrator=[planned(("code", "auth"))], code=["ok"])
    result = Stage(cast, agents=AGENTS[:3]).run()
    assert "the team has no review and no qa" in result.summary


def test_no_code_no_gates():
    cast = Cast(orchestrator=[planned(("docs", "auth"))], docs=["written"])
    assert Stage(cast).run().quality.reason == ""


def test_what_a_failed_agent_has_left_is_not_reviewed_as_if_it_were_done():
    cast = Cast(
        orchestrator=[planned(("code", "change auth"))],
        code=[{**FAILED, "files": ("a.py", "b.py", "c.py")}],
    )
    result = Stage(cast).run()
    assert cast.order == ["orchestrator", "code"]
    assert result.quality.reason == ""
    assert "Agent error: 529" in result.summary


@pytest.mark.parametrize("failure", [FAILED, RuntimeError("broken")], ids=["reported", "raised"])
def test_a_failure_skips_what_depends_on_it_and_nothing_else(failure):
    cast = Cast(
        orchestrator=[
            planned(("search", "a"), ("code", "b", 0), ("test", "c", 1, 3), ("docs", "d"), ("docs", "e", 3))
        ],
        search=[failure],
        docs=["d", "e"],
    )
    stage = Stage(cast)
    result = stage.run()
    assert sorted(cast.order) == ["docs", "docs", "orchestrator", "search"]
    assert [task.status for task in result.tasks] == [
        "failed",
        "skipped",
        "skipped",
        "completed",
        "completed",
    ]
    assert result.tasks[1].error == "it needs task 0 (search), which failed"
    assert result.tasks[2].error == "it needs task 1 (code), which was skipped"
    assert [event.task for event in stage.journal.events(TaskSkipped)] == [1, 2]
    assert "2/5 tasks completed" in result.summary
    assert "Warning: search failed" in result.summary


def test_what_the_author_got_wrong_is_no_failure_of_an_agent_and_nothing_runs_on():
    ended = []

    async def for_ever(task):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(task.agent)

    cast = Cast(
        orchestrator=[planned(("search", "a"), ("code", "b"))],
        search=[for_ever],
        code=[NoMatchError("no rule")],
    )
    with pytest.raises(NoMatchError):
        Stage(cast).run()
    assert ended == ["search"]


def test_an_abort_ends_all_tasks():
    ended = []

    async def for_ever(task):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(task.agent)

    cast = Cast(orchestrator=[planned(("search", "a"), ("code", "b"))], search=[for_ever], code=[for_ever])

    async def main():
        task = asyncio.create_task(Stage(cast).planner.run("Go"))
        while len(cast.tasks) < 3:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert sorted(ended) == ["code", "search"]


def test_a_plan_of_a_thousand_tasks_is_carried_out():
    tasks = [("docs", str(index), *([index // 10] if index else [])) for index in range(1000)]
    tasks = [(agent, text, *(n for n in needs if n != int(text))) for agent, text, *needs in tasks]
    cast = Cast(orchestrator=[planned(*tasks)], docs=["ok"] * 1000)
    result = Stage(cast).run()
    assert "1000/1000 tasks completed" in result.summary


def test_a_direct_answer_is_the_summary_and_nobody_else_works():
    cast = Cast(orchestrator=["It is in a.py."])
    result = Stage(cast).run()
    assert (result.summary, result.plan, result.tasks) == ("It is in a.py.", None, ())


def test_a_plan_that_cannot_be_carried_out_is_refused_before_anybody_works():
    cast = Cast(orchestrator=[planned(("search", "a"), ("coder", "b", 5))])
    with pytest.raises(PlanError, match="coder"):
        Stage(cast).run()
    assert cast.order == ["orchestrator"]


def test_an_orchestrator_that_fails_and_an_empty_request_are_errors():
    with pytest.raises(RoutingError, match="529"):
        Stage(Cast(orchestrator=[FAILED])).run()
    with pytest.raises(EmptyMessageError):
        Stage(Cast()).run("  ")


class TestPlanMode:
    """Somebody looks at the plan first."""

    @pytest.fixture
    def stage(self):
        plans = [planned(("code", "change")), planned(("docs", "write"))]
        return Stage(Cast(orchestrator=plans, code=["changed"], docs=["written"]))

    def test_a_created_plan_waits_and_is_carried_out_once_when_approved(self, stage):
        draft = run(stage.planner.create("Rename it"))
        assert draft.plan.tasks[0].agent == "code"
        assert stage.cast.order == ["orchestrator"]
        result = run(stage.planner.approve())
        assert result.tasks[0].output == "changed"
        assert run(stage.planner.approve()) is None
        assert [event.decision for event in stage.journal.events(PlanDecided)] == ["approved"]
        assert [event.tasks for event in stage.journal.events(PlanMade)] == [("code: change",)]

    def test_without_a_plan_there_is_nothing_to_decide(self, stage):
        assert run(stage.planner.approve()) is None
        assert stage.planner.edit(0, agent="docs") is None
        assert stage.planner.reject() is False

    def test_a_rejected_plan_is_gone(self, stage):
        run(stage.planner.create("Rename it"))
        assert stage.planner.reject() is True
        assert stage.planner.pending is None
        assert run(stage.planner.approve()) is None

    def test_a_task_can_be_edited_and_bad_edits_leave_the_plan_as_it_was(self, stage):
        run(stage.planner.create("Rename it"))
        assert stage.planner.edit(0, description="change it well").tasks[0].description == "change it well"
        assert stage.planner.edit(0, agent="docs").tasks[0].agent == "docs"
        with pytest.raises(PlanError, match="no agent 'nobody'"):
            stage.planner.edit(0, agent="nobody")
        with pytest.raises(PlanError, match="no such task; there are 0 to 0"):
            stage.planner.edit(-1, agent="code")
        run(stage.planner.approve())
        assert (stage.cast.tasks[-1].agent, stage.cast.tasks[-1].prompt) == ("docs", "change it well")

    def test_a_new_request_drops_the_plan(self, stage):
        run(stage.planner.create("Rename it"))
        assert stage.run("Write it").tasks[0].output == "written"
        assert run(stage.planner.approve()) is None
        assert [event.decision for event in stage.journal.events(PlanDecided)] == ["dropped"]

    def test_a_direct_answer_does_not_wait(self):
        stage = Stage(Cast(orchestrator=["In a.py."]))
        draft = run(stage.planner.create("Where is it?"))
        assert (draft.plan, draft.answer) == (None, "In a.py.")
        assert stage.planner.pending is None
