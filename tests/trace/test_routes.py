"""Routes: those that a router announced, and those that an orchestrator of one's own decides in its replies."""

from __future__ import annotations

import json

import pytest

from soundstage.journal import Routed
from soundstage.trace import build_trace

DECISION = {"agents": ["Coder"], "phase": "fix", "reason": "a fault"}


def team(*answers, then=("coder",), announced=False):
    """An orchestrator of the test's own: it appends nothing, and asks whom it decided for."""

    async def body(scene):
        for answer in answers:
            scene.script.on(agent="chief", times=1).reply(**answer)
        for agent in then:
            await scene.ask("chief", phase="plan")
            if announced:
                scene.add(Routed(agents=("coder",), phase="fix", conversation="c"))
            await scene.ask(agent, phase="fix")

    return body


@pytest.mark.parametrize(
    "answer",
    [
        {"text": json.dumps(DECISION)},
        {"text": f"I think:\n```json\n{json.dumps(DECISION)}\n```\nGo."},
        {"tool_calls": [{"name": "decide", "arguments": DECISION}]},
        {"text": json.dumps(DECISION), "tool_calls": [{"name": "decide", "arguments": DECISION}]},
    ],
    ids=["a reply", "among prose", "a tool", "both"],
)
def test_a_decision_in_a_reply_is_a_route(traced, answer):
    trace = traced(team(answer))
    (route,) = trace.routes
    assert (route.agents, route.phase, route.reason) == (("Coder",), "fix", "a fault")
    assert (route.left, route.iteration, route.conversation) == ("plan", 1, "c")
    assert [(edge.via, edge.message) for edge in trace.handovers] == [("routing", "a fault")]
    assert "=> Coder [fix]: a fault" in trace.format()


def test_every_round_is_counted_and_the_end_is_a_decision_too(traced):
    async def body(scene):
        for next_ in ("coder", "tester", "FINISH"):
            scene.script.on(agent="chief", times=1).reply(json.dumps({"next": next_}))
        for agent in ("chief", "coder", "chief", "tester", "chief"):
            await scene.ask(agent)

    assert [(one.agents, one.iteration) for one in traced(body).routes] == [
        (("coder",), 1),
        (("tester",), 2),
        (("FINISH",), 3),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "coder, please",
        json.dumps({"agents": ["Ann", "Bob"]}),
        json.dumps({"agents": ["chief"]}),
        json.dumps({"agents": []}),
        json.dumps({"agents": [1]}),
        json.dumps({"agents": ["coder"]}) + json.dumps({"agents": ["coder"], "phase": "other"}),
    ],
)
def test_what_names_no_agent_of_the_trace_or_is_not_one_decision_is_no_route(traced, text):
    assert traced(team({"text": text})).routes == ()


def test_an_announced_route_counts_once(traced):
    trace = traced(team({"text": json.dumps(DECISION)}, announced=True))
    assert [route.agents for route in trace.routes] == [("coder",)]


def test_a_trace_without_records_has_no_routes():
    assert build_trace([]).routes == ()
