"""Runs of agents, hand-overs, and a part of a trace."""

from __future__ import annotations

import contextlib

import pytest

from soundstage.errors import ModelError, ScriptError
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    EgressTried,
    MessageReceived,
    MessageSent,
    ModelFailed,
    Noted,
    Routed,
    ToolCalled,
    ToolReturned,
)
from soundstage.models import working_on
from soundstage.trace import assert_no_egress


def agents(trace):
    return [(run.agent, len(run.steps)) for run in trace.runs]


def test_consecutive_steps_of_an_agent_are_one_run(routed):
    assert agents(routed) == [("orchestrator", 1), ("executor", 2), ("tester", 1), ("orchestrator", 1)]
    run = routed.runs[1]
    assert (run.phase, run.text, run.outcome) == (
        "execute",
        "done, passwords are stored as plaintext",
        "success",
    )
    assert [use.name for use in run.tools] == ["Read", "Bash"]
    assert (run.position, run.started, run.ended) == (run.steps[0].position, 0.0, 0.0)


def test_conversations_do_not_break_each_others_runs(traced):
    async def body(scene):
        for _ in range(2):
            await scene.ask("clerk", conversation="alice")
            await scene.ask("clerk", conversation="bob")

    trace = traced(body)
    assert [(run.conversation, len(run.steps)) for run in trace.runs] == [("alice", 2), ("bob", 2)]
    assert trace.conversations == ("alice", "bob")


def test_an_agent_that_starts_again_begins_a_new_run(traced):
    async def body(scene):
        for task in ("one", "two"):
            scene.add(AgentStarted(agent="clerk", conversation="c", parent="chief", task=task))
            await scene.ask("clerk")

    trace = traced(body)
    assert agents(trace) == [("clerk", 1), ("clerk", 1)]
    assert [run.parent for run in trace.runs] == ["chief", "chief"]


def test_an_agent_that_has_finished_begins_a_new_run(traced):
    async def body(scene):
        await scene.ask("clerk")
        scene.add(AgentFinished(agent="clerk", conversation="c", outcome="aborted", text="enough"))
        await scene.ask("clerk")

    first, second = traced(body).runs
    assert (first.outcome, first.finished.text) == ("aborted", "enough")
    assert (second.outcome, second.finished) == ("success", None)


def test_the_report_of_an_agent_reaches_its_latest_run_even_after_others_were_at_work(traced):
    async def body(scene):
        await scene.ask("chief")
        await scene.ask("clerk")
        scene.add(AgentFinished(agent="chief", conversation="c", outcome="failure"))

    assert [run.outcome for run in traced(body).runs] == ["failure", "success"]


def test_an_agent_that_started_without_a_request_is_known_and_has_no_run(traced):
    async def body(scene):
        await scene.ask("chief")
        scene.add(AgentStarted(agent="clerk", conversation="c"))

    trace = traced(body)
    assert trace.agents == ("chief", "clerk")
    assert agents(trace) == [("chief", 1)]


@pytest.mark.parametrize(("reason", "outcome"), [("error", "failure"), ("client_gone", "aborted")])
def test_the_outcome_without_a_report_is_that_of_the_last_step(tape, reason, outcome):
    from soundstage.journal import ModelRequested
    from soundstage.messages import ModelRequest
    from soundstage.trace import build_trace

    asked = tape.add(ModelRequested(request=ModelRequest(model="m", messages=())))
    assert build_trace(tape.records).runs[0].outcome == "unfinished"
    tape.add(ModelFailed(reason=reason, message="x"), cause=asked)
    assert build_trace(tape.records).runs[0].outcome == outcome


def test_the_text_of_a_run_is_the_last_that_was_said(traced):
    async def body(scene):
        scene.script.on(agent="clerk", iteration=1).reply("said")
        scene.script.on(agent="clerk", iteration=2).error(500, "broken")
        with contextlib.suppress(ModelError):
            for _ in range(2):
                await scene.ask("clerk")

    (run,) = traced(body).runs
    assert (run.text, run.outcome) == ("said", "failure")


def test_hand_overs_tell_who_took_over_and_how(routed):
    edges = [(edge.sender, edge.receiver, edge.via, edge.message) for edge in routed.handovers]
    assert edges == [
        ("orchestrator", "executor", "routing", "work to do"),
        ("executor", "tester", "routing", "work to do"),
        ("tester", "orchestrator", "", "Plaintext is not acceptable"),
    ]
    assert [edge.position for edge in routed.handovers] == [run.position for run in routed.runs[1:]]


def test_a_hand_over_without_a_router_goes_through_the_last_tool(traced):
    async def body(scene):
        scene.script.on(agent="chief").reply(text="you do it", tool_calls=[{"name": "delegate"}])
        await scene.ask("chief")
        await scene.ask("clerk")

    (edge,) = traced(body).handovers
    assert (edge.via, edge.message) == ("delegate", "you do it")


def test_only_an_agent_leaves_its_runs_apart(routed):
    part = routed.only(agent="Orchestrator")
    assert agents(part) == [("orchestrator", 1), ("orchestrator", 1)]
    assert part.agents == ("orchestrator",)
    assert part.tools == ()
    assert {step.agent for step in part.steps} == {"orchestrator"}
    assert routed.only(agent="executor").tools == routed.tools


def test_only_an_agent_keeps_the_events_that_name_it(traced):
    async def body(scene):
        for name in ("a", "b"):
            scene.add(AgentStarted(agent=name, conversation="c"))
            await scene.ask(name)
            scene.add(ToolCalled(call_id=name, name="t", agent=name, conversation="c"))
            scene.add(AgentFinished(agent=name, conversation="c", outcome="failure"))

    part = traced(body).only(agent="b")
    assert [type(record.event).__name__ for record in part.records] == [
        "AgentStarted",
        "ModelRequested",
        "ModelChunked",
        "ModelResponded",
        "ToolCalled",
        "AgentFinished",
    ]
    assert [failure.message for failure in part.failures] == ["b: failure"]


def test_only_a_conversation_has_its_messages_and_not_those_of_others(traced):
    async def body(scene):
        for name in ("alice", "bob"):
            heard = scene.add(MessageReceived(text=f"I am {name}", sender=name))
            working_on.set(heard)
            await scene.ask("clerk", conversation=name)
            answered = len(scene.journal)
            scene.add(Routed(agents=("END",), conversation=name), cause=answered)
            scene.add(MessageSent(text=f"hello {name}"), cause=answered)
            called = scene.add(ToolCalled(call_id=name, name="t", conversation=name))
            scene.add(ToolReturned(call_id=name, text=name), cause=called)

    part = traced(body).only(conversation="alice")
    assert [line.text for line in part.messages] == ["I am alice", "hello alice"]
    assert part.conversations == ("alice",)
    assert len(part.routes) == 1
    assert [use.result for use in part.tools] == ["alice"]
    assert "bob" not in part.format()


def test_what_concerns_the_whole_run_is_not_filtered_away(traced):
    async def body(scene):
        await scene.ask("a")
        scene.add(EgressTried(host="example.org", port=443))
        scene.add(DaemonChanged(daemon="app", status="running", error="late"))
        scene.add(Noted(text="unrelated"))

    part = traced(body).only(agent="a")
    assert len(part.egress) == len(part.failures) == 1
    assert part.notes == ()
    with pytest.raises(AssertionError):
        assert_no_egress(part)


def test_a_choice_that_nothing_fits_is_an_error(routed):
    with pytest.raises(ScriptError, match=r"no agent 'exeutor'(.|\n)*did you mean 'executor'"):
        routed.only(agent="exeutor")
    with pytest.raises(ScriptError, match=r"no conversation 'd'(.|\n)*'c'"):
        routed.only(conversation="d")
    with pytest.raises(ScriptError, match="without a choice"):
        routed.only()
