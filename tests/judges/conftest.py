"""A rubric, verdicts as JSON, judges with a script, and a run to judge."""

from __future__ import annotations

import json

import pytest

from soundstage.journal import Journal
from soundstage.judges import Criterion, Judge, Rubric, load_rubric
from soundstage.messages import ModelRequest, Usage, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.runs import build_result

ANSWER = "add() adds now. I changed one line."
RUBRIC = Rubric(
    name="repair",
    criteria=(
        Criterion(id="correct", description="add() adds", weight=0.75),
        Criterion(id="small", description="no other line is changed"),
    ),
)
YAML = """\
name: repair
owner: somebody
criteria:
  - id: correct
    description: add() adds
    weight: 0.75
  - name: small
    description: no other line is changed
    hard: true
"""


def verdict(correct=1.0, small=0.9, *, passed=True, score=0.95, quotes=("add() adds now",), **more):
    """A verdict as the JSON that a model says."""
    criteria = {
        "correct": {"score": correct, "evidence": list(quotes)},
        "small": {"score": small, "evidence": ["I changed one line."]},
    }
    whole = {"passed": passed, "score": score, "criteria": criteria, "reasoning": "because", **more}
    return json.dumps(whole)


def model_that_says(text, usage=None):
    """A model that answers every judge with this text."""
    script = Script()
    script.on(purpose="judge").reply(text, usage=usage or Usage(input_tokens=1000, output_tokens=100))
    return ScriptedModel(script)


def judge_that_says(text, rubric=RUBRIC, **options):
    """A judge whose model says this."""
    return Judge(rubric, model_that_says(text), **options)


@pytest.fixture
def rubric_file(tmp_path):
    path = tmp_path / "repair.yaml"
    path.write_text(YAML)
    return path


@pytest.fixture
def filed(rubric_file):
    """The rubric of a file."""
    return load_rubric(rubric_file)


async def a_run():
    """The journal of a run whose agent has answered, and its result."""
    journal, script = Journal(), Script()
    script.on(user="Repair").reply(ANSWER, usage=Usage(input_tokens=10, output_tokens=5))
    model = JournaledModel(ScriptedModel(script), journal)
    await complete(model, ModelRequest(model="gpt-4.1", messages=(user("Repair add() in calc.py"),)))
    return journal, build_result(journal.read())
