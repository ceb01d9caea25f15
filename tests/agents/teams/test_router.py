"""The turn router: who works when, on what, in which phase, and what ends it."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents.runtime import AgentDefinition
from soundstage.agents.teams import (
    AgentNotFoundError,
    ConversationCoordinator,
    ConversationNotFoundError,
    RoutingError,
    TurnRouter,
    UnknownPhaseError,
)
from soundstage.clock import run
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.journal import FlowEnded, Journal, PhaseChanged, Routed
from soundstage.messages import call, reminder
from soundstage.trace import Trace
from support.teams import TEAM, Cast, route, saying


class Stage:
    """A team of actors, one conversation, and the run of it."""

    def __init__(self, cast, **options):
        self.journal = Journal()
        self.coordinator = ConversationCoordinator(self.journal)
        self.cast = cast
        self.router = TurnRouter(self.coordinator, cast, TEAM, **options)
        self.id = self.coordinator.create("Implement auth")

    def run(self, message="", **options):
        return run(self.router.run(self.id, message, **options))

    @property
    def conversation(self):
        return self.coordinator.get(self.id)

    @property
    def phases(self):
        return [(event.left, event.entered) for event in self.journal.events(PhaseChanged)]


def done(name="complete", **arguments):
    return call(name, arguments, id="c1")


def test_the_orchestrator_decides_before_every_round_and_targets_work_in_their_order():
    cast = Cast(
        orchestrator=[route("executor", "test-pm"), route("test-pm"), route("END")],
        executor=["done"],
        test_pm=["bad", "good"],
    )
    ended = Stage(cast).run()
    assert cast.order == [
        "orchestrator",
        "executor",
        "test-pm",
        "orchestrator",
        "test-pm",
        "orchestrator",
    ]
    assert (ended.reason, ended.iterations) == ("end", 3)


def test_agents_before_end_work_and_those_after_do_not():
    cast = Cast(orchestrator=[route("executor", "END", "test-pm")], executor=["done"])
    assert Stage(cast).run().reason == "end"
    assert cast.order == ["orchestrator", "executor"]


def test_complete_by_a_verifier_ends_the_run_before_the_next_target():
    cast = Cast(
        orchestrator=[route("test-pm", "executor")],
        test_pm=[saying("fine", done())],
        executor=["never asked"],
    )
    assert Stage(cast).run().reason == "complete"
    assert cast.order == ["orchestrator", "test-pm"]


def test_complete_by_the_orchestrator_ends_the_run_without_a_decision():
    cast = Cast(orchestrator=[saying("all is done", done())])
    assert Stage(cast).run().reason == "complete"


@pytest.mark.parametrize(
    ("line", "verifiers"),
    [
        (saying("done", done()), None),  # executor is not offered the tool
        (saying("done", done("continue", phase="plan")), ["executor"]),
        (saying("done", done(), refused=True), ["executor"]),
    ],
    ids=["no verifier", "continue", "a refused call"],
)
def test_nothing_else_ends_the_run(line, verifiers):
    cast = Cast(orchestrator=[route("executor"), route("END")], executor=[line])
    assert Stage(cast, verifiers=verifiers).run().reason == "end"


def test_a_run_ends_after_so_many_rounds():
    cast = Cast(orchestrator=[route("executor")] * 3, executor=["again"] * 3)
    ended = Stage(cast, max_iterations=3).run()
    assert (ended.reason, ended.iterations) == ("max_iterations", 3)
    assert TurnRouter(ConversationCoordinator(Journal()), cast, TEAM).max_iterations == 20


def test_a_single_run_may_have_a_number_of_rounds_of_its_own():
    stage = Stage(Cast(orchestrator=[route("executor")] * 2, executor=["again"] * 2))
    ended = stage.run(max_iterations=2)
    assert (ended.reason, ended.iterations) == ("max_iterations", 2)
    with pytest.raises(ScriptError, match="at least one round"):
        stage.run(max_iterations=0)


def test_the_trace_has_decisions_phases_and_the_reason_of_the_end():
    cast = Cast(
        orchestrator=[route("executor", phase="execute", reason="go"), route("END", phase="chores")],
        executor=["done"],
    )
    stage = Stage(cast)
    stage.run()
    first, second = stage.journal.events(Routed)
    assert (first.agents, first.left, first.phase, first.reason, first.iteration) == (
        ("executor",),
        "discovery",
        "execute",
        "go",
        1,
    )
    assert (second.agents, second.left, second.phase, second.iteration) == (
        ("END",),
        "execute",
        "chores",
        2,
    )
    assert stage.phases == [("discovery", "execute"), ("execute", "chores")]
    trace = Trace.of(stage.journal)
    assert trace.stop_reason == "end"
    assert "flow ended" in trace.format() or "end" in trace.format()


def test_continue_only_proposes_a_phase():
    cast = Cast(
        orchestrator=[route("executor", phase="execute"), route("END")],
        executor=[saying("done", done("continue", phase="verification"))],
    )
    stage = Stage(cast)
    stage.run()
    assert [task.phase for task in cast.tasks] == ["discovery", "execute", "execute"]
    assert stage.phases == [("discovery", "execute")]
    assert '"phase":"verification"' in cast.tasks[2].history[-1].text


def test_the_users_words_are_there_once_and_every_agent_sees_the_rest_its_own_way():
    cast = Cast(
        orchestrator=[route("executor", reason="go"), route("test-pm"), route("executor", "END")],
        executor=["plaintext it is", "hashed"],
        test_pm=[saying("bad", done("continue", feedback="Hash passwords"))],
    )
    Stage(cast).run("Implement auth")
    seen = [[(message.role, message.text) for message in task.history] for task in cast.tasks]
    assert seen[0] == [("user", "Implement auth")]
    assert seen[2] == [
        ("user", "Implement auth"),
        ("assistant", route("executor", reason="go")),
        ("user", reminder("[executor] plaintext it is")),
    ]
    assert seen[3] == [("user", f"Implement auth\n\n{reminder('[executor] plaintext it is')}")]
    assert [role for role, _ in seen[5]] == ["user", "assistant", "user"]
    assert seen[5][1] == ("assistant", "plaintext it is")
    assert "Hash passwords" in seen[5][2][1]
    assert [task.prompt for task in cast.tasks[:2]] == ["", reminder("It is your turn. Phase: discovery. go")]
    assert [task.parent for task in cast.tasks[:2]] == ["", "orchestrator"]


def test_an_agent_keeps_its_tools_in_its_history_and_no_open_or_old_result_at_the_end():
    look = call("look", {"path": "a"}, id="t1")
    cast = Cast(
        orchestrator=[route("executor"), route("executor", "END")],
        executor=[{**saying("looking", look, done("continue", summary="seen")), "output": ""}, "ok"],
    )
    Stage(cast).run()
    own = cast.tasks[3].history[1:]
    assert [message.role for message in own] == ["assistant", "tool", "assistant"]
    assert [part.name for part in own[0].parts[1:]] == ["look"]
    assert own[-1].text == "seen"


def test_an_unknown_agent_is_corrected_once():
    cast = Cast(orchestrator=[route("coder"), route("executor", "END")], executor=["done"])
    stage = Stage(cast)
    assert stage.run().reason == "end"
    assert cast.order == ["orchestrator", "orchestrator", "executor"]
    correction = cast.tasks[1].history[-1]
    assert correction.role == "user"
    assert "'coder'" in correction.text
    assert "- executor: Writes code." in correction.text
    assert len(stage.journal.events(Routed)) == 1
    assert "coder" not in "".join(message.text for message in cast.tasks[2].history)


def test_an_agent_that_stays_unknown_is_an_error_with_the_agents_that_there_are():
    stage = Stage(Cast(orchestrator=[route("coder"), route("coder")]))
    with pytest.raises(AgentNotFoundError, match="coder") as caught:
        stage.run()
    assert caught.value.known == ("executor", "test-pm")


def test_a_reply_that_is_no_decision_is_an_error_with_the_reply_and_the_journal_says_so():
    stage = Stage(Cast(orchestrator=["I would rather not"]))
    with pytest.raises(RoutingError) as caught:
        stage.run()
    assert caught.value.raw == "I would rather not"
    [ended] = stage.journal.events(FlowEnded)
    assert ended.reason == "error"
    assert "RoutingError" in ended.detail


def test_an_orchestrator_that_fails_is_an_error_with_the_reason():
    stage = Stage(Cast(orchestrator=[{"success": False, "error": "overloaded", "reason": "error"}]))
    with pytest.raises(RoutingError, match="overloaded"):
        stage.run()


def test_an_unknown_phase_is_an_error_with_the_phases_that_there_are_and_nobody_works():
    cast = Cast(orchestrator=[route("executor", phase="party")])
    stage = Stage(cast)
    with pytest.raises(UnknownPhaseError, match="verification"):
        stage.run()
    assert cast.order == ["orchestrator"]


def test_an_agent_that_fails_is_reported_to_the_orchestrator_and_the_run_goes_on():
    cast = Cast(
        orchestrator=[route("executor"), route("END")],
        executor=[{"success": False, "error": "429: slow down", "reason": "error"}],
    )
    assert Stage(cast).run().reason == "end"
    assert "(failed: 429: slow down)" in cast.tasks[2].history[-1].text


def test_callbacks_are_told_before_each_agent_and_at_each_transition():
    told = []

    async def on_phase(left, entered):
        told.append((left, "->", entered))

    cast = Cast(
        orchestrator=[route("executor", phase="execute"), route("END", phase="execute")], executor=["ok"]
    )
    Stage(cast).run(
        on_agent_execution=lambda agent, phase: told.append((agent, phase)), on_phase_transition=on_phase
    )
    assert told == [
        ("orchestrator", "discovery"),
        ("discovery", "->", "execute"),
        ("executor", "execute"),
        ("orchestrator", "execute"),
    ]


def test_what_a_callback_raises_comes_out_and_the_journal_keeps_what_happened():
    def refuse(agent, phase):
        if agent == "executor":
            raise ZeroDivisionError("mine")

    stage = Stage(Cast(orchestrator=[route("executor", phase="execute")], executor=["never"]))
    with pytest.raises(ZeroDivisionError, match="mine"):
        stage.run(on_agent_execution=refuse)
    assert stage.phases == [("discovery", "execute")]
    assert Trace.of(stage.journal).stop_reason == "error"


def test_a_run_that_is_cancelled_says_so_and_can_be_run_again():
    async def for_ever(task):
        await asyncio.Event().wait()

    cast = Cast(orchestrator=[route("executor"), route("END")], executor=[for_ever])
    stage = Stage(cast)

    async def main():
        task = asyncio.create_task(stage.router.run(stage.id))
        while cast.order != ["orchestrator", "executor"]:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await stage.router.run(stage.id)

    assert run(main()).reason == "end"
    assert [event.reason for event in stage.journal.events(FlowEnded)] == ["aborted", "end"]


def test_a_conversation_goes_on_with_another_message():
    cast = Cast(orchestrator=[route("executor", "END"), route("executor", "END")], executor=["one", "two"])
    stage = Stage(cast)
    stage.run()
    stage.run("Now the docs")
    assert [message.text for message in cast.tasks[2].history] == [
        "Implement auth",
        route("executor", "END"),
        reminder("[executor] one") + "\n\nNow the docs",
    ]
    assert stage.conversation.iterations == 2
    assert stage.conversation.runs == {"orchestrator": 2, "executor": 2}


def test_one_conversation_is_run_once_at_a_time():
    stage = Stage(Cast(orchestrator=[route("END"), route("END")]))

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.router.run(stage.id))
            with pytest.raises(InvalidStateError, match="is being run"):
                await asyncio.gather(asyncio.sleep(0), stage.router.run(stage.id))

    run(main())


def test_bad_teams_and_ids_are_refused():
    coordinator = ConversationCoordinator(Journal())
    with pytest.raises(ScriptError, match="no agent besides"):
        TurnRouter(coordinator, Cast(), [AgentDefinition(slug="orchestrator")])
    with pytest.raises(ScriptError, match="verifier"):
        TurnRouter(coordinator, Cast(), TEAM, verifiers=["pm"])
    with pytest.raises(ScriptError, match="one round"):
        TurnRouter(coordinator, Cast(), TEAM, max_iterations=0)
    with pytest.raises(ConversationNotFoundError, match="no conversation 'x'"):
        run(TurnRouter(coordinator, Cast(), TEAM).run("x"))
