"""The runtime against a live model: the real client, over HTTP, to a server that speaks as providers do."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask, workspace_tools
from soundstage.clock import SystemClock
from soundstage.journal import Journal, ModelRequested, ToolReturned
from soundstage.live import LiveModel
from soundstage.messages import call
from soundstage.models import ErrorSpec, Script
from support.wires import run, serving

KINDS = ["openai", "openai-responses", "anthropic", "gemini"]


def model_of(kind, url):
    base = f"{url}/v1" if kind.startswith("openai") else url
    return LiveModel(kind, api_key="not-a-real-key", base_url=base, allow=True)


def work(script, kind, root):
    async def main():
        async with serving(script) as served:
            tools = workspace_tools(root)
            coder = AgentDefinition(
                slug="coder",
                prompt="You write code.",
                tools=("read_file", "write_file"),
                permissions=frozenset({"read", "write"}),
                max_output_tokens=500,
            )
            journal = Journal(clock=SystemClock())
            loop = AgentLoop(
                model_of(kind, served.server.url),
                AgentRegistry([coder], tools),
                journal=journal,
                default_model="some-model",
            )
            outcome = await loop.run(AgentTask(id="1", agent="coder", prompt="copy a to b"))
            return outcome, journal, served.journal

    return run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_tools_run_and_results_go_back_over_the_wire(tmp_path, kind):
    (tmp_path / "a").write_text("text of a")
    script = Script(strict=True)
    calls = [call("read_file", {"path": "a"}), call("write_file", {"path": "b", "content": "text of a"})]
    script.on(user="copy", tool_result=False).reply(tool_calls=calls, text="Both at once.")
    script.on(tool_result="wrote b").reply("Copied.")
    outcome, journal, served = work(script, kind, tmp_path)
    assert outcome.error == ""
    assert outcome.output == "Copied."
    assert outcome.files == ("b",)
    assert (tmp_path / "b").read_text() == "text of a"
    assert [event.text for event in journal.events(ToolReturned)] == ["text of a", "wrote b: 1 lines"]
    first, second = (event.request for event in served.events(ModelRequested))
    assert first.system_text == "You write code."
    assert first.model == "some-model"
    assert [tool.name for tool in first.tools] == ["read_file", "write_file"]
    assert [result.text for result in second.tool_results] == ["text of a", "wrote b: 1 lines"]
    assert journal.events(ModelRequested)[0].request.settings == {"max_tokens": 500}


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_the_provider_is_a_failure_as_data(tmp_path, kind):
    script = Script()
    script.on(user="copy").reply(error=ErrorSpec(status=429, message="slow down"))
    outcome, _, _ = work(script, kind, tmp_path)
    assert (outcome.success, outcome.reason) == (False, "error")
    assert outcome.error.startswith("Agent error: ")
    assert "slow down" in outcome.error


@pytest.mark.parametrize("kind", KINDS)
def test_conversations_side_by_side_do_not_share_counters_over_the_wire(kind):
    script = Script(strict=True)
    script.on(agent="clerk", iteration=1).reply("first")
    script.on(agent="clerk", iteration=2).reply("second")

    async def main():
        async with serving(script) as served:
            clerks = AgentRegistry([AgentDefinition(slug="clerk")])
            journal = Journal(clock=SystemClock())
            loop = AgentLoop(model_of(kind, served.server.url), clerks, journal=journal, default_model="m")

            async def talk(conversation):
                tasks = [
                    AgentTask(id=f"{conversation}{n}", agent="clerk", prompt="go", conversation=conversation)
                    for n in range(2)
                ]
                return [(await loop.run(task)).output for task in tasks]

            said = await asyncio.gather(talk("a"), talk("b"))
            return said, served.journal.events(ModelRequested)

    said, asked = run(main())
    assert said == [["first", "second"]] * 2
    callers = [(event.request.caller.agent, event.request.caller.conversation) for event in asked]
    assert sorted(callers) == [("clerk", "a")] * 2 + [("clerk", "b")] * 2
