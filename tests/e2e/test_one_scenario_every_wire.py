"""One scenario body, in process and over each provider's format through its official SDK: one trace."""

from __future__ import annotations

import pytest

from soundstage.trace import assert_text, assert_tool_calls, diff, normalise
from support.agents import CLIENTS, in_process, run_agent

ORACLE = {"lookup": lambda word: f"{word}: a small drum", "ring": lambda: "ding"}


def scenario(script, client):
    """The body: text before tools, two tools in one answer, arguments, results, a final text."""
    script.agent("clerk", system="You are a clerk")
    script.on(user="What is a tabor?", iteration=1).reply(
        text="Let me see.", tool_calls=[{"name": "lookup", "arguments": {"word": "tabor"}}, {"name": "ring"}]
    )
    script.on(agent="clerk", tool_result="a small drum").reply("A tabor is a small drum.")
    answer = run_agent(client, "What is a tabor?", ORACLE)
    assert answer == "A tabor is a small drum."


@pytest.fixture(params=["in process", *CLIENTS])
def client(request, stage):
    if request.param == "in process":
        return in_process(stage.model)
    return CLIENTS[request.param](stage.server())


def test_a_scenario_has_the_same_trace_in_process_and_over_every_wire(script, client, trace, expected_trace):
    scenario(script, client)
    assert_tool_calls(trace(), ("lookup", {"word": "tabor"}), "ring", agent="clerk")
    assert_text(trace(), "A tabor is a small drum.")
    assert diff(expected_trace, normalise(trace())) == ""


@pytest.fixture
def expected_trace():
    """The trace of the same body in process, made apart from the test's own stage."""
    from soundstage.journal import Journal
    from soundstage.models import JournaledModel, Script, ScriptedModel
    from soundstage.trace import Trace

    script = Script(strict=True)
    journal = Journal()
    scripted = ScriptedModel(script)
    scenario(script, in_process(JournaledModel(scripted, journal, identify=scripted.identify)))
    return normalise(Trace.of(journal))
