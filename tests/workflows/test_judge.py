"""`context.judge()` (R3.61), the fixture `judge`, and one workflow whole with judge and report (R3.116)."""

from __future__ import annotations

import pytest

from judges.conftest import ANSWER, RUBRIC, verdict
from soundstage.journal import Journal
from soundstage.judges import CalibrationError, JudgmentFailedError, RunJudged
from soundstage.messages import ModelRequest, Usage, user
from soundstage.models import Script, ScriptedModel, complete
from soundstage.report import Section, render_text, write_page
from soundstage.runs import Budget
from soundstage.trace import Trace
from soundstage.workflows import NoRunError, Stage, StageResult, WorkflowContext


def judging(text):
    script = Script()
    script.on(purpose="judge").reply(text, usage=Usage(input_tokens=1000, output_tokens=100))
    return ScriptedModel(script, shared=True)


async def repair(prompt, run):
    return ANSWER if "Repair" in prompt else "nothing done"


def context(text=None, **options):
    given = {} if text is None else {"judge_model": lambda: judging(text)}
    return WorkflowContext(Journal(), repair, **given, **options)


async def test_without_a_run_there_is_nothing_to_judge():
    with pytest.raises(RuntimeError, match="no run to judge") as caught:
        await context(verdict()).judge(RUBRIC)
    assert isinstance(caught.value, NoRunError)


async def test_the_last_run_is_judged_unless_another_one_is_given():
    made = context(verdict())
    first = await made.run_agent("Repair add()")
    await made.run_agent("Do nothing")
    last = await made.judge(RUBRIC)
    assert (last.outcome, "'add() adds now' does not stand" in last.reasons[0]) == ("void", True)
    assert (await made.judge(RUBRIC, first)).passed
    assert (await made.judge(RUBRIC, run=made.get_run(0))).passed


async def test_a_model_of_the_call_goes_before_that_of_the_context():
    made = context(verdict())
    await made.run_agent("Repair add()")
    assert (await made.judge(RUBRIC, model=judging(verdict(passed=False)))).outcome == "failed"
    with pytest.raises(JudgmentFailedError, match="eight of ten"):
        await made.judge(RUBRIC, model=judging("I would say eight of ten."))


async def test_options_of_the_judge_are_handed_on():
    made = context(verdict(quotes=["3 passed"]))
    await made.run_agent("Repair add()")
    assert (await made.judge(RUBRIC, attachments={"log": "3 passed"})).passed
    with pytest.raises(CalibrationError):
        await made.judge(RUBRIC, throw_on_fail=True)


async def test_what_was_judged_stands_in_the_journal_of_the_workflow_and_the_run_keeps_its_own_figures():
    made = context(verdict())
    run = await made.run_agent("Repair add()")
    judgment = await made.judge(RUBRIC)
    (record,) = made.journal.read(0, RunJudged)
    assert record.event.usage == judgment.usage
    assert made.get_run(-1) is run
    assert run.usage.total_tokens == 0
    assert made.output == ANSWER


async def test_the_fixture_judges_what_has_happened_by_the_script_of_the_test(script, model, journal, judge):
    script.on(user="Repair").reply(ANSWER)
    script.on(purpose="judge").reply(verdict())
    await complete(model, ModelRequest(model="gpt-4.1", messages=(user("Repair add()"),)))
    judgment = await judge(RUBRIC)
    assert judgment.passed
    assert (await judge(RUBRIC, "another text")).outcome == "void"
    assert [step.purpose for step in Trace.of(journal).steps] == ["main", "judge", "judge"]


class Told:
    def __init__(self):
        self.results = []

    def report(self, result):
        self.results.append(result)


@pytest.fixture
def workflow_reporters():
    return [Told()]


async def test_one_workflow_whole_with_configuration_stages_hooks_judge_report_and_budget(
    workflow, workflow_reporters, script, journal, tmp_path
):
    script.on(purpose="judge").reply(verdict(), usage=Usage(input_tokens=1000, output_tokens=100))
    hooks = []

    async def before(context, stage):
        hooks.append(stage.name)

    async def review(context):
        judgment = await context.judge(RUBRIC)
        assert judgment.passed, judgment.reasons

    result = await workflow(
        Stage("repair", prompt="Repair add()", target=repair),
        Stage("review", review),
        before=[before],
        budget=Budget(cost=0.10),
        config={"timeout": 30.0},
    )
    assert [(stage.name, stage.status) for stage in result.stages] == [
        ("repair", "complete"),
        ("review", "complete"),
    ]
    assert hooks == ["repair", "review"]
    assert [one.name for one in workflow_reporters[0].results if isinstance(one, StageResult)] == hooks
    assert result.stage("repair").result.usage.total_tokens == 0
    assert result.stage("review").result.usage.total_tokens == 1100
    assert result.cost.usd == pytest.approx((1000 * 2 + 100 * 10) / 1e6)
    assert result.cost.usd <= 0.10
    page = tmp_path / "page.html"
    write_page(page, [Section("repaired and reviewed", journal.read())])
    assert '"RunJudged"' in page.read_text()
    assert "RunJudged repair · script" in render_text(Trace.of(journal))
