"""Votes of several judges: majority, mean, judges without a verdict, agreement, and who may decide."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from judges.conftest import ANSWER, RUBRIC, a_run, judge_that_says, model_that_says, verdict
from soundstage.agreement import krippendorff_alpha
from soundstage.errors import ProviderError, WrongValueError
from soundstage.judges import CalibrationError, Judge, JudgmentFailedError, Panel, RunJudged, panel_alpha
from soundstage.models import ErrorSpec, Script, ScriptedModel

YES, NO, VOID = verdict(), verdict(correct=0.2, passed=False), verdict(quotes=["nowhere"])
PROSE = "I would say eight of ten."


def panel(*answers, **options):
    return Panel([judge_that_says(answer) for answer in answers], **options)


def votes_of(judgment):
    return [None if vote is None else vote.outcome for vote in judgment.votes]


@pytest.mark.parametrize(
    ("answers", "passed"),
    [
        ((YES, YES, NO), True),
        ((YES, NO, NO), False),
        ((YES, NO), False),
        ((YES, VOID, PROSE), False),
        ((YES, YES, PROSE), True),
    ],
)
async def test_more_than_half_of_all_judges_let_a_run_pass(answers, passed):
    assert (await panel(*answers).judge(ANSWER)).passed is passed


async def test_by_mean_the_scores_decide_and_void_verdicts_have_none():
    yes, no = 0.75 + 0.225, 0.15 + 0.225
    found = await panel(YES, NO, by="mean").judge(ANSWER)
    assert (found.passed, found.score) == (False, pytest.approx((yes + no) / 2))
    found = await panel(YES, YES, NO, VOID, by="mean").judge(ANSWER)
    assert (found.passed, found.score) == (True, pytest.approx((2 * yes + no) / 3))
    assert not (await panel(VOID, VOID, by="mean").judge(ANSWER)).passed


async def test_each_vote_stands_in_the_order_of_the_judges_and_in_the_journal():
    journal, result = await a_run()
    found = await panel(YES, PROSE, NO).judge(result, journal=journal)
    assert votes_of(found) == ["passed", None, "failed"]
    assert found.problems == ("the judge gave no verdict",)
    assert len(journal.read(0, RunJudged)) == 3


async def test_a_panel_without_any_verdict_is_an_error():
    with pytest.raises(JudgmentFailedError, match="eight of ten"):
        await panel(PROSE, PROSE).judge(ANSWER)


async def test_a_model_that_fails_is_no_vote_but_an_error():
    script = Script()
    script.on(purpose="judge").reply(error=ErrorSpec(status=500, message="down"))
    with pytest.raises(ProviderError, match="down"):
        await Panel([judge_that_says(YES), Judge(RUBRIC, ScriptedModel(script))]).judge(ANSWER)


async def test_the_agreement_about_a_run_is_alpha_of_the_scores_of_its_criteria():
    found = await panel(verdict(correct=1.0, small=0.6), verdict(correct=0.9, small=0.5)).judge(ANSWER)
    assert found.alpha == krippendorff_alpha([(1.0, 0.9), (0.6, 0.5)], "interval")
    assert (await panel(verdict(1.0, 1.0), verdict(1.0, 1.0)).judge(ANSWER)).alpha is None


async def test_the_agreement_over_runs_is_alpha_of_the_outcomes_and_void_is_missing():
    found = [
        await panel(*answers).judge(ANSWER) for answers in ((YES, YES), (NO, NO), (YES, NO), (VOID, YES))
    ]
    wanted = [("passed", "passed"), ("failed", "failed"), ("passed", "failed"), (None, "passed")]
    assert panel_alpha(found) == krippendorff_alpha(wanted)


def test_a_panel_decides_only_if_each_of_its_judges_may(filed, tmp_path):
    from judges.test_calibrate import judge_by, judging_script, lines_of, measured

    (tmp_path / "gold.jsonl").write_text(lines_of())
    calibrated, _ = measured(judging_script(), filed, tmp_path / "gold.jsonl")
    other = Judge(filed, model_that_says(YES))
    text = "add() still fails. I changed one line."

    def decide(*judges):
        return asyncio.run(Panel(judges).judge(text, throw_on_fail=True))

    with pytest.raises(CalibrationError):
        decide(calibrated, other)
    with pytest.raises(JudgmentFailedError, match=r"0\.10 is below 0\.5"):
        decide(calibrated, judge_by(judging_script(), filed))


@pytest.mark.parametrize(("count", "by"), [(0, "majority"), (1, "majority"), (2, "best")])
def test_a_panel_has_several_judges_and_a_way_to_count(count, by):
    with pytest.raises(WrongValueError):
        Panel([judge_that_says(YES)] * count, by=by)


async def test_judges_of_a_panel_may_have_rubrics_of_their_own():
    other = msgspec.structs.replace(RUBRIC, name="other", pass_threshold=1.0)
    found = await Panel([judge_that_says(YES), judge_that_says(YES, other)]).judge(ANSWER)
    assert votes_of(found) == ["passed", "failed"]
