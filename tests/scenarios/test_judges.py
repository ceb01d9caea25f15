"""The recorded judges (R3.106): one that passes, one that fails, one without a verdict."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from soundstage.errors import UnknownNameError
from soundstage.judges import JudgmentFailedError
from soundstage.scenarios.testing import RecordedJudgeBuilder

ROOT = Path(__file__).resolve().parents[2] / "examples" / "scenarios"


@pytest.fixture(scope="module")
def defined():
    """The file that defines the scenarios of judges."""
    sys.path.insert(0, str(ROOT))
    try:
        spec = importlib.util.spec_from_file_location("scenarios_of_judges", ROOT / "judges.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT))
    return module


def recorded(defined, scenario):
    return RecordedJudgeBuilder(rubric=defined.RUBRIC, scenario=scenario, root=ROOT).make()


@pytest.mark.parametrize(
    ("scenario", "outcome", "score"), [("judge-happy-path", "passed", 0.95), ("judge-fail", "failed", 0.3)]
)
async def test_a_recorded_verdict_is_read_with_its_quotes_and_its_tokens(defined, scenario, outcome, score):
    judgment = await recorded(defined, scenario).judge(defined.JUDGED)
    assert (judgment.outcome, judgment.score) == (outcome, pytest.approx(score))
    assert judgment.evidence == ("return a + b", "It changed one line")
    assert judgment.usage.total_tokens == 1050


async def test_a_recorded_verdict_does_not_hold_for_another_run(defined):
    judgment = await recorded(defined, "judge-happy-path").judge("The agent did nothing.")
    assert judgment.outcome == "void"


async def test_recorded_words_without_a_verdict_are_an_error_that_shows_them(defined):
    with pytest.raises(JudgmentFailedError, match="eight of ten"):
        await recorded(defined, "judge-malformed-response").judge(defined.JUDGED)


def test_a_recording_that_is_none_of_a_judge_is_refused(defined):
    with pytest.raises(UnknownNameError, match="judge-fail"):
        recorded(defined, "simple-file-edit")


def test_what_was_recorded_is_what_judges_ask_now(defined):
    """Otherwise the recordings are of another prompt, and are to be recorded again."""
    import json

    from soundstage.judges import Judge
    from soundstage.models import Script, ScriptedModel

    asked = Judge(defined.RUBRIC, ScriptedModel(Script())).prompt(defined.JUDGED)
    for name in ("judge-happy-path", "judge-fail", "judge-malformed-response"):
        assert json.loads((ROOT / "recorded" / name / "input.json").read_text())["prompt"] == asked
