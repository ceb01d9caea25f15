"""Scenarios of a judge: one prompt without tools, whose answer is a verdict, or should be one."""

from __future__ import annotations

import json
from pathlib import Path

from _steps import OWNER, Reply, TableScenario

from soundstage.judges import Criterion, Judge, Rubric
from soundstage.models import Script, ScriptedModel
from soundstage.runs import RunResult
from soundstage.scenarios import ScenarioSheet

SYSTEM = "You are a judge. Answer with one JSON object, and with nothing else."
RUBRIC = Rubric(
    name="repair",
    criteria=(
        Criterion(id="correct", description="add() adds"),
        Criterion(id="small", description="no other line is changed"),
    ),
)
JUDGED = """\
The agent was asked to repair add() in calc.py. It changed one line:
-    return a - b
+    return a + b"""
PROMPT = Judge(RUBRIC, ScriptedModel(Script())).prompt(JUDGED)


def verdict(correct: float, small: float, *, passed: bool, reasoning: str) -> str:
    """A verdict as the model says it."""
    criteria = {
        "correct": {"score": correct, "evidence": ["return a + b"]},
        "small": {"score": small, "evidence": ["It changed one line"]},
    }
    score = (correct + small) / 2
    return json.dumps({"passed": passed, "score": score, "criteria": criteria, "reasoning": reasoning})


class JudgeScenario(TableScenario):
    """The common part of the three judges."""

    version = 2
    files = {}
    prompt = PROMPT
    requires = ()
    answer = ""

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return ((self.answer,),)

    async def program(self, prompt: str, workspace: Path) -> None:
        from claude_agent_sdk import ClaudeAgentOptions, query

        options = ClaudeAgentOptions(
            cwd=str(workspace),
            model="claude-sonnet-4-5",
            system_prompt=SYSTEM,
            tools=[],
            max_turns=1,
            setting_sources=[],
        )
        async for _ in query(prompt=prompt, options=options):
            pass

    def assert_results(self, result: RunResult) -> None:
        assert result.output == self.answer
        assert not result.tools


def sheet(output: str) -> ScenarioSheet:
    """The sheet of a judge with another output."""
    return ScenarioSheet(
        workspace="nothing", prompt="a fixed rubric and a fixed run", output=output, owner=OWNER
    )


class JudgeHappyPath(JudgeScenario):
    name = "judge-happy-path"
    sheet = sheet("a verdict that passes")
    answer = verdict(1.0, 0.9, passed=True, reasoning="One sign was changed, and add() adds.")


class JudgeFail(JudgeScenario):
    name = "judge-fail"
    sheet = sheet("a verdict that fails")
    answer = verdict(0.2, 0.4, passed=False, reasoning="The change is not what was asked for.")


class JudgeMalformedResponse(JudgeScenario):
    name = "judge-malformed-response"
    sheet = sheet("words that are no verdict")
    answer = "It looks right to me, I would say eight of ten."
