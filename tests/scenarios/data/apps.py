"""The scenarios of the two applications of these tests: their own code is what runs."""

from __future__ import annotations

from pathlib import Path

from soundstage.messages import Usage
from soundstage.models import CallSpec, Script
from soundstage.runs import RunResult
from soundstage.scenarios import Scenario, ScenarioSheet
from soundstage.worlds import Workspace
from support.sdk_reviewer_agent import review
from support.sdk_shop_agent import work

COUNTS = Usage(input_tokens=1000, output_tokens=50)


class Reviewer(Scenario):
    name = "reviewer"
    sheet = ScenarioSheet(
        workspace="shop.py", prompt="the application's own", output="a review", owner="these tests"
    )

    def setup_workspace(self, workspace: Workspace) -> None:
        workspace.write("shop.py", "def total(prices):\n    return sum(prices[1:])\n")

    def build_prompt(self) -> str:
        return "the application has its own"

    def script(self, workspace: Path) -> Script:
        script = Script()
        read = CallSpec(name="Read", arguments={"file_path": f"{workspace}/shop.py"})
        script.on(iteration=1).reply("I read it.", tool_calls=[read], usage=COUNTS)
        script.on(iteration=2).reply("total() leaves out the first price.", usage=COUNTS)
        return script

    async def program(self, prompt: str, workspace: Path) -> None:
        assert await review(str(workspace)) == 0

    def assert_results(self, result: RunResult) -> None:
        assert [tool.name for tool in result.tools] == ["Read"]


class Shop(Scenario):
    name = "shop"
    sheet = ScenarioSheet(
        workspace="prices.txt and .env", prompt="the application's own", output="a price", owner="these tests"
    )
    requires = ("PreToolUse", "CanUseTool")

    def setup_workspace(self, workspace: Workspace) -> None:
        workspace.write("prices.txt", "pear: ?\n")
        workspace.write(".env", "COLOUR=blue\n")

    def build_prompt(self) -> str:
        return "the application has its own"

    def script(self, workspace: Path) -> Script:
        script = Script()
        path = f"{workspace}/prices.txt"
        calls = (
            CallSpec(name="mcp__shop__price", arguments={"fruit": "pear"}),
            CallSpec(name="Read", arguments={"file_path": path}),
            CallSpec(
                name="Edit", arguments={"file_path": path, "old_string": "pear: ?", "new_string": "pear: 5"}
            ),
            CallSpec(name="Write", arguments={"file_path": f"{workspace}/other.txt", "content": "x"}),
        )
        for number, call in enumerate(calls, 1):
            script.on(user="price of a pear", iteration=number).reply(tool_calls=[call], usage=COUNTS)
        script.on(user="price of a pear", iteration=5).reply("The pear has its price.", usage=COUNTS)
        remove = CallSpec(name="Bash", arguments={"command": "rm .env"})
        script.on(user="delete .env", iteration=6).reply(tool_calls=[remove], usage=COUNTS)
        script.on(user="delete .env", iteration=7).reply("I may not.", usage=COUNTS)
        return script

    async def program(self, prompt: str, workspace: Path) -> None:
        assert await work(str(workspace)) == 0

    def assert_results(self, result: RunResult) -> None:
        assert [tool.name for tool in result.tools if tool.is_error] == ["Write", "Bash"]
