"""Scenarios of a judge: one prompt without tools, whose answer is a verdict, or should be one."""

from __future__ import annotations

import json
from pathlib import Path

from _steps import OWNER, Reply, TableScenario

from soundstage.runs import RunResult
from soundstage.scenarios import ScenarioSheet

SYSTEM = "You are a judge. Answer with one JSON object: passed, score, criteria, reasoning."
PROMPT = """\
Judge this run by the rubric "repair", whose threshold is 0.7.
- correct: add() adds
- small: no other line is changed
The run changed calc.py: -    return a - b +    return a + b"""


class Judge(TableScenario):
    """The common part of the three judges."""

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


class JudgeHappyPath(Judge):
    name = "judge-happy-path"
    sheet = sheet("a verdict that passes")
    answer = json.dumps(
        {
            "passed": True,
            "score": 0.95,
            "criteria": {"correct": 1.0, "small": 0.9},
            "reasoning": "One sign was changed, and add() adds.",
        }
    )


class JudgeFail(Judge):
    name = "judge-fail"
    sheet = sheet("a verdict that fails")
    answer = json.dumps(
        {
            "passed": False,
            "score": 0.3,
            "criteria": {"correct": 0.2, "small": 0.4},
            "reasoning": "The change is not what was asked for.",
        }
    )


class JudgeMalformedResponse(Judge):
    name = "judge-malformed-response"
    sheet = sheet("words that are no verdict")
    answer = "It looks right to me, I would say eight of ten."
