"""One workflow whole: Claude Code notes, a team on LangGraph looks up, a person on Discord decides; page and budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.messages import Usage
from soundstage.models import CallSpec
from soundstage.report import Section, render_text, write_page
from soundstage.runs import Budget
from soundstage.trace import assert_no_egress, assert_tool_calls
from soundstage.workflows import Stage, StageResult, Until, WorkflowResult

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "A day in Bern from Zurich, please"
pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)


def write_scripts(script, folder):
    """The words of both: Claude Code writes a note, and a supervisor on LangGraph has a researcher look it up."""
    write = CallSpec(name="Write", arguments={"file_path": f"{folder}/note.txt", "content": "Bern\n"})
    script.on(user="Note the city", iteration=1).reply(
        tool_calls=[write], usage=Usage(input_tokens=2000, output_tokens=50)
    )
    script.on(tool_result="note.txt").reply("Noted: Bern.", usage=Usage(input_tokens=2100, output_tokens=9))
    for name in ("supervisor", "researcher"):
        script.agent(name, system=f"You are the {name}")
    task = CallSpec(name="transfer_to_researcher", arguments={"task": "sights in Bern"})
    script.on(agent="supervisor", iteration=1).reply(tool_calls=[task])
    look = CallSpec(name="look_up", arguments={"place": "Bern"})
    script.on(agent="researcher", iteration=1).reply(tool_calls=[look])
    script.on(agent="researcher", after_tool="look_up").reply("Bern has a clock tower.")
    script.on(agent="supervisor", iteration=2).reply("See the clock tower.")


async def desk(prompt, run):
    """The travel desk on LangGraph, in this process; it asks the address in the environment."""
    from examples.langgraph_team.team import answer

    return await answer(prompt)


class Told:
    """A reporter."""

    def __init__(self):
        self.results = []

    def report(self, result):
        self.results.append(result)


@pytest.fixture
def workflow_reporters():
    return [Told()]


@pytest.mark.claude_code(permission_mode="acceptEdits")
async def test_claude_code_hands_on_to_a_team_on_langgraph_and_to_a_person(
    workflow,
    workflow_reporters,
    claude_code,
    workspace,
    script,
    trace,
    journal,
    discord,
    tmp_path,
    monkeypatch,
):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    write_scripts(script, workspace.root)
    hooks = []

    async def before(context, stage):
        hooks.append(stage.name)

    async def approve(context):
        ann = discord.user("ann")
        await ann.says(f"approved: {context.output}", channel="general")

    result = await workflow(
        Stage("note", prompt="Note the city: Bern.", target=claude_code, metadata={"tool": "Claude Code"}),
        Stage("ask", prompt=QUESTION, target=desk, until=Until(lambda context: "tower" in context.output)),
        Stage("approve", approve, should_run=lambda context: "note.txt" in {f.path for f in context.files}),
        before=[before],
        budget=Budget(cost=0.50),
    )

    assert [(stage.name, stage.status) for stage in result.stages] == [
        ("note", "complete"),
        ("ask", "complete"),
        ("approve", "complete"),
    ]
    assert hooks == ["note", "ask", "approve"]
    assert [run.output for run in workflow.context.runs] == ["Noted: Bern.", "See the clock tower."]
    assert [(file.path, file.after.text()) for file in result.files] == [("note.txt", "Bern\n")]
    assert result.stage("ask").reason == "predicate-met"
    assert {use.name for use in result.stage("note").result.tools} == {"Write"}
    assert {"look_up", "transfer_to_researcher"} == {use.name for use in result.stage("ask").result.tools}
    assert result.usage == sum((stage.result.usage for stage in result.stages), Usage())
    assert 0 < result.cost.usd <= 0.50
    told = workflow_reporters[0].results
    assert [one.name for one in told if isinstance(one, StageResult)] == hooks
    assert told[-1] is result
    assert isinstance(result, WorkflowResult)

    assert_tool_calls(trace(), "Write", "transfer_to_researcher", "look_up")
    assert [run.agent for run in trace().runs] == ["main", "supervisor", "researcher", "supervisor"]
    assert_no_egress(trace())
    page = tmp_path / "page.html"
    write_page(page, [Section("the day in Bern", journal.read())])
    shown = page.read_text()
    assert '"StageStarted"' in shown
    for stage in hooks:
        assert f"StageStarted {stage}\n" in render_text(trace())
        assert f"{stage} · complete" in shown
