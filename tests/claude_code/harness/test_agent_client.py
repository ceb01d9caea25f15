"""The real Claude Code CLI as the client: an agent that tests a plugin end to end with the tools.

Two CLIs run here. The outer one is the agent: our driver starts it, its model is scripted by this test, and the
harness is an MCP server of its session, over stdio and over HTTP. What the inner ones do, the agent asks for with
the tools.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from soundstage.claude_code import ClaudeCode
from soundstage.journal import EgressTried, Journal, ModelRequested
from soundstage.lifecycle import Supervisor
from soundstage.messages import ModelRequest, ToolResult, call
from soundstage.models import Reply, Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

EXPLORED = "A systematic look at the parser is done. Next: /agent-loop:plan"


class Agent:
    """An agent that calls one tool after the other, each with what the last ones have returned."""

    def __init__(self, marketplace: Path) -> None:
        self.results: list[dict[str, Any]] = []
        self._steps = iter(self._plan(str(marketplace)))

    def _plan(self, marketplace: str) -> Any:
        yield "install_plugin", {"plugin_name": "agent-loop", "marketplace_path": marketplace}
        yield "get_plugin_status", {"plugin_name": "agent-loop"}
        bash = {"name": "Bash", "arguments": {"command": "git commit -m 'feat: x'"}}
        script = [
            EXPLORED,
            {"tool_calls": [bash]},
            "I couldn't commit: there is no plan. Let's try /agent-loop:plan.",
        ]
        yield "start_conversation", {"config": {"script": script, "strict": True, "allowed_tools": ["Bash"]}}
        session = {"session_id": self.results[-1]["session_id"]}
        yield "execute_command", {"command": "/agent-loop:explore the parser", **session}
        explored = self.results[-1]
        yield "assert_contains_keywords", {"text": explored["response"], "keywords": ["systematic"]}
        yield "assert_command_suggested", {"response": explored["response"], "command_name": "/plan"}
        yield "verify_agent_transition", {"expected_stage": "exploring", **session}
        yield "execute_command", {"command": "/agent-loop:commit", **session}
        refused = self.results[-1]
        action = refused["metadata"]["tool_calls"][0]["action_id"]
        yield "verify_hook_blocked_action", {"action_id": action}
        yield "assert_error_handled_gracefully", {"response": refused["response"], "error_type": "git_error"}
        yield "end_conversation", session
        yield "uninstall_plugin", {"plugin_name": "agent-loop"}

    def __call__(self, request: ModelRequest) -> Reply:
        """The agent's next step."""
        last = request.messages[-1] if request.messages[-1].role != "system" else request.messages[-2]
        returned = [part for part in last.parts if isinstance(part, ToolResult)]
        if returned:
            self.results.append(_data(returned[-1].text))
        try:
            name, arguments = next(self._steps)
        except StopIteration:
            return Reply(text="The plugin has been tested.")
        return Reply(tool_calls=(call(f"mcp__harness__{name}", arguments),))


def _data(text: str) -> dict[str, Any]:
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def test_an_agent_tests_a_plugin_over_stdio(marketplace: Path, command: list[str]) -> None:
    results = asyncio.run(_tested(marketplace, {"command": command[0], "args": command[1:]}))
    _check(results)


def test_an_agent_tests_a_plugin_over_http(marketplace: Path, over_http: Any) -> None:
    async def main() -> list[dict[str, Any]]:
        async with over_http() as harness:
            headers = {"Authorization": f"Bearer {harness.token}"}
            return await _tested(marketplace, {"type": "http", "url": harness.url, "headers": headers})

    _check(asyncio.run(main()))


async def _tested(marketplace: Path, server: Mapping[str, Any]) -> list[dict[str, Any]]:
    journal = Journal()
    agent = Agent(marketplace)
    script = Script(strict=True)
    script.on(user="/^/").reply(agent)
    model = ModelServer(ScriptedModel(script), journal)
    workspace = Workspace(journal)
    claude = ClaudeCode(
        journal, model, workspace, mcp_servers={"harness": dict(server)}, allowed_tools=("mcp__harness",)
    )
    supervisor = Supervisor((model, workspace, claude), clock=journal.clock)
    await supervisor.start()
    try:
        turn = await claude.prompt("Test the plugin agent-loop with the harness.", within=50)
    finally:
        await supervisor.stop()
    assert turn.text == "The plugin has been tested."
    assert journal.events(EgressTried) == []
    offered = {tool.name for tool in journal.events(ModelRequested)[0].request.tools}
    assert "mcp__harness__start_conversation" in offered
    return agent.results


def _check(results: list[dict[str, Any]]) -> None:
    (
        installed,
        status,
        started,
        explored,
        keywords,
        suggestion,
        stage,
        refused,
        blocked,
        handled,
        ended,
        gone,
    ) = results
    assert installed["loaded"] is True
    assert status["status"] == "loaded"
    assert started["session_id"]
    assert (explored["response"], explored["workflow_stage"]) == (EXPLORED, "exploring")
    assert keywords["passed"] is suggestion["passed"] is stage["passed"] is True
    assert refused["workflow_stage"] == "exploring"
    assert blocked["blocked"] is True
    assert "There is no plan" in blocked["reason"]
    assert handled["passed"] is True, handled
    assert (ended["ended"], ended["unused_rules"]) == (True, [])
    assert gone["uninstalled"] is True
