"""Scenarios about the work itself: shell, errors, to-do lists, budgets, time, several agents and stages."""

from __future__ import annotations

from pathlib import Path

from _steps import OWNER, Reply, TableScenario, add_steps, edit, shell, with_tools

from soundstage.claude_code import SubagentStarted
from soundstage.messages import Usage
from soundstage.models import CallSpec, Script
from soundstage.runs import RunResult
from soundstage.scenarios import ScenarioSheet

CALC = {"calc.py": "def add(a, b):\n    return a - b\n"}


class ToolUsageShell(TableScenario):
    name = "tool-usage-shell"
    sheet = ScenarioSheet(
        workspace="three text files",
        prompt="count their lines",
        output="one shell call, with its output and its time",
        owner=OWNER,
    )
    files = {"a.txt": "1\n2\n", "b.txt": "3\n", "c.txt": "4\n5\n6\n"}
    prompt = "How many lines have the text files?"
    options = with_tools("Bash(cat *)", "Bash(wc *)")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return (("", shell("cat a.txt b.txt c.txt | wc -l")), ("Six lines.",))

    def assert_results(self, result: RunResult) -> None:
        (tool,) = result.tools
        assert (tool.name, tool.result, tool.is_error) == ("Bash", "6", False)
        assert tool.duration is not None
        assert tool.duration > 0


class ErrorCorrectionLoop(TableScenario):
    name = "error-correction-loop"
    sheet = ScenarioSheet(
        workspace="calc.py, and a check that fails",
        prompt="make the check pass",
        output="the check fails, an edit, the check passes, in this order",
        owner=OWNER,
    )
    files = {**CALC, "check.sh": "grep -q 'a + b' calc.py || { echo 'add() subtracts'; exit 1; }\n"}
    prompt = "Run `sh check.sh` and make it pass."
    options = with_tools("Bash(sh check.sh)")
    requires = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return (
            ("", shell("sh check.sh")),
            ("It subtracts.", ("Read", {"file_path": f"{folder}/calc.py"})),
            ("", edit(folder / "calc.py", "a - b", "a + b")),
            ("", shell("sh check.sh")),
            ("The check passes.",),
        )

    def assert_results(self, result: RunResult) -> None:
        assert [(tool.name, tool.is_error) for tool in result.tools] == [
            ("Bash", True),
            ("Read", False),
            ("Edit", False),
            ("Bash", False),
        ]
        assert "add() subtracts" in (result.tools[0].result or "")


class TodoCompletion(TableScenario):
    name = "todo-completion"
    sheet = ScenarioSheet(
        workspace="nothing",
        prompt="two tasks, to be tracked",
        output="both to-do items end completed",
        owner=OWNER,
    )
    prompt = "Track two tasks, and do them: say hello, say goodbye."
    options = with_tools("TaskCreate", "TaskUpdate", "TaskList")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        made = [
            ("TaskCreate", {"subject": text, "description": text, "activeForm": f"Saying {text[4:]}"})
            for text in ("Say hello", "Say goodbye")
        ]
        done = [
            ("", ("TaskUpdate", {"taskId": number, "status": status}))
            for number in ("1", "2")
            for status in ("in_progress", "completed")
        ]
        return (*(("", one) for one in made), *done, ("Hello. Goodbye.",))

    def assert_results(self, result: RunResult) -> None:
        assert [(todo.text, todo.status) for todo in result.todos] == [
            ("Say hello", "completed"),
            ("Say goodbye", "completed"),
        ]


class CostBudgetEnforced(TableScenario):
    name = "cost-budget-enforced"
    sheet = ScenarioSheet(
        workspace="calc.py",
        prompt="repair add(), with a budget of one cent",
        output="the tokens cross the budget, and the run is ended before the edit",
        owner=OWNER,
    )
    files = CALC
    prompt = "add() in calc.py subtracts. Repair it."
    options = with_tools(max_budget_usd=0.01)
    requires = ("PreToolUse",)

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return ()

    def script(self, workspace: Path) -> Script:
        script = Script()
        read = CallSpec(name="Read", arguments={"file_path": f"{workspace}/calc.py"})
        dear = Usage(input_tokens=50_000, output_tokens=1_000)
        script.on(iteration=1).reply("A long look.", tool_calls=[read], usage=dear)
        return script

    def assert_results(self, result: RunResult) -> None:
        assert (result.status, result.abort) == ("partial", "budget")
        assert not result.files


class SessionTimeout(TableScenario):
    name = "session-timeout"
    sheet = ScenarioSheet(
        workspace="calc.py",
        prompt="repair add(); the model does not answer in time",
        output="the session ends by its own limit of time, and says so",
        owner=OWNER,
    )
    files = CALC
    prompt = "add() in calc.py subtracts. Repair it."
    options = with_tools(env={"API_TIMEOUT_MS": "700"})
    requires = ("PreToolUse",)

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return ()

    def script(self, workspace: Path) -> Script:
        script = add_steps(Script(), ("", ("Read", {"file_path": f"{workspace}/calc.py"})))
        script.on(iteration=2).reply("too late", delay=600.0)
        return script

    def assert_results(self, result: RunResult) -> None:
        assert (result.status, result.abort) == ("partial", "session-timeout")
        assert [tool.name for tool in result.tools] == ["Read"]


class MultiAgentWorkflow(TableScenario):
    name = "multi-agent-workflow"
    sheet = ScenarioSheet(
        workspace="calc.py",
        prompt="a planner plans, a coder edits, a reviewer reads",
        output="three subagents in order, each with its own branch; calc.py adds",
        owner=OWNER,
    )
    files = CALC
    prompt = "Let the planner plan, the coder repair and the reviewer review add() in calc.py."
    requires = ("PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop")
    agents = ("planner", "coder", "reviewer")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return (
            *(
                (
                    "",
                    (
                        "Agent",
                        {
                            "description": f"the {one}",
                            "prompt": f"{one}: your part of add()",
                            "subagent_type": one,
                        },
                    ),
                )
                for one in self.agents
            ),
            ("Planned, repaired, reviewed.",),
        )

    def script(self, workspace: Path) -> Script:
        script = add_steps(Script(), *self.replies(workspace), user="Let the planner")
        read = ("Read", {"file_path": f"{workspace}/calc.py"})
        add_steps(script, ("", read), ("One edit: plus for minus.",), user="planner: your part")
        change = edit(workspace / "calc.py", "a - b", "a + b")
        add_steps(script, ("", read), ("", change), ("Edited.",), user="coder: your part")
        add_steps(script, ("", read), ("It adds.",), user="reviewer: your part")
        return script

    async def program(self, prompt: str, workspace: Path) -> None:
        from claude_agent_sdk import AgentDefinition

        from soundstage.scenarios import ask_with_hooks

        agents = {one: AgentDefinition(description=one, prompt=f"You are the {one}.") for one in self.agents}
        await ask_with_hooks(prompt, workspace, {**self.options, "agents": agents})

    def assert_results(self, result: RunResult) -> None:
        tools = ["Agent", "Read", "Agent", "Read", "Edit", "Agent", "Read"]
        assert [tool.name for tool in result.tools] == tools
        events = [record.event for record in result.timeline]
        begun = [event.agent for event in events if isinstance(event, SubagentStarted)]
        assert begun == list(self.agents)
        assert [file.path for file in result.files] == ["calc.py"]


class MultiStage(TableScenario):
    name = "multi-stage"
    sheet = ScenarioSheet(
        workspace="calc.py and its check",
        prompt="one session plans, a second repairs, a third checks",
        output="three sessions, one after the other, in one folder",
        owner=OWNER,
    )
    files = ErrorCorrectionLoop.files
    prompt = "add() in calc.py"
    options = with_tools("Bash(sh check.sh)")
    stages = ("Plan the repair of ", "Repair ", "Check ")

    def replies(self, folder: Path) -> tuple[Reply, ...]:
        return ()

    def script(self, workspace: Path) -> Script:
        script = Script()
        read = ("Read", {"file_path": f"{workspace}/calc.py"})
        add_steps(script, ("", read), ("Plus for minus.",), user=self.stages[0])
        change = edit(workspace / "calc.py", "a - b", "a + b")
        add_steps(script, ("", read), ("", change), ("Repaired.",), user=self.stages[1])
        add_steps(script, ("", shell("sh check.sh")), ("It passes.",), user=self.stages[2])
        return script

    async def program(self, prompt: str, workspace: Path) -> None:
        from soundstage.scenarios import ask_with_hooks

        for stage in self.stages:
            await ask_with_hooks(stage + prompt, workspace, dict(self.options))

    def assert_results(self, result: RunResult) -> None:
        assert [tool.name for tool in result.tools] == ["Read", "Read", "Edit", "Bash"]
        assert result.output == "It passes."
