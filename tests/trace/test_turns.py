"""Turns stay whole when agents of one conversation are at work at the same time."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask, ToolRegistry, tool
from soundstage.clock import run
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    Journal,
    ModelFailed,
    ModelRequested,
    ModelResponded,
)
from soundstage.messages import Caller, ModelRequest, ModelResponse, Text, ToolCall, assistant, user
from soundstage.messages import tool as result
from soundstage.models import Script, ScriptedModel
from soundstage.trace import Trace, assert_agent_count, assert_agent_sequence, build_trace


def turns(trace):
    return [(run.agent, len(run.steps)) for run in trace.runs]


class Talk:
    """An agent with a history of its own that asks on a tape, step by step; every reply but the last calls a tool."""

    def __init__(self, tape, agent, calls, *, ids, task="go", conversation="c"):
        self.tape, self.agent, self.ids, self.conversation = tape, agent, ids, conversation
        self.history = [user(task)]
        self.left = calls
        self.asked = None

    @property
    def over(self):
        return self.left < 0

    def step(self):
        """The next thing: a request, or the reply to it."""
        if self.asked is None:
            caller = Caller(agent=self.agent, conversation=self.conversation)
            request = ModelRequest(model="m", messages=tuple(self.history), caller=caller)
            self.asked = self.tape.add(ModelRequested(request=request))
            return
        call = ToolCall(id=next(self.ids), name="look", arguments={})
        parts = (call,) if self.left else (Text(text=f"{self.agent} is done"),)
        reply = ModelResponse(parts=parts)
        self.tape.add(ModelResponded(response=reply), cause=self.asked)
        self.asked = None
        self.history += [reply.message(), result(call.id, "seen")]
        self.left -= 1


def interleaved(talks, order):
    """Let the agents go on in an order of their indexes, and then one after the other."""
    for number in order:
        if not talks[number].over:
            talks[number].step()
    for talk in talks:
        while not talk.over:
            talk.step()


@pytest.mark.parametrize("same_ids", [False, True], ids=["ids of their own", "the same ids"])
@pytest.mark.parametrize("names", [("a", "b"), ("worker", "worker")], ids=["two agents", "one agent twice"])
def test_two_loops_in_one_conversation_are_two_turns_in_whatever_order_they_go_on(new_tape, names, same_ids):
    for order in set(itertools.permutations([0, 0, 0, 0, 1, 1, 1, 1])):
        tape = new_tape()
        ids = itertools.repeat("call_0") if same_ids else map("call_{}".format, itertools.count())
        talks = [Talk(tape, name, 1, ids=ids, task=f"task {n}") for n, name in enumerate(names)]
        interleaved(talks, order)
        trace = build_trace(tape.records)
        assert sorted(turns(trace)) == sorted((name, 2) for name in names), order


def test_two_agent_loops_side_by_side_are_two_turns():
    @tool
    async def look() -> str:
        """Look."""
        await asyncio.sleep(1)
        return "seen"

    async def main():
        journal, script = Journal(), Script()
        for name in ("ann", "bob"):
            for _ in range(2):
                script.on(agent=name, times=1).reply(tool_calls=[{"name": "look"}])
            script.on(agent=name).reply(f"{name} is done")
        agents = [AgentDefinition(slug=name, tools=("look",)) for name in ("ann", "bob")]
        loop = AgentLoop(ScriptedModel(script), AgentRegistry(agents, ToolRegistry([look])), journal=journal)
        tasks = [AgentTask(id=name, agent=name, prompt="go", conversation="c") for name in ("ann", "bob")]
        await asyncio.gather(*map(loop.run, tasks))
        return Trace.of(journal)

    trace = run(main())
    assert turns(trace) == [("ann", 3), ("bob", 3)]
    assert [one.finished.text for one in trace.runs] == ["ann is done", "bob is done"]
    assert_agent_sequence(trace, "ann", "bob")
    assert trace.handovers == (), "neither took over from the other"


def test_what_is_asked_between_start_and_end_of_an_agent_is_its_turn(traced):
    async def body(scene):
        for name in ("a", "b"):
            scene.add(AgentStarted(agent=name, conversation="c"))
        for _ in range(2):
            for name in ("a", "b"):
                await scene.ask(name)
        for name in ("a", "b"):
            scene.add(AgentFinished(agent=name, conversation="c", text=f"{name} is done"))
        await scene.ask("a")

    trace = traced(body)
    assert turns(trace) == [("a", 2), ("b", 2), ("a", 1)]
    assert [one.finished.text for one in trace.runs[:2]] == ["a is done", "b is done"]
    assert trace.runs[2].finished is None


def test_of_two_works_of_one_agent_that_are_open_the_cause_tells(traced):
    async def body(scene):
        from soundstage.models import working_on

        started = [scene.add(AgentStarted(agent="a", conversation="c", task=task)) for task in "12"]
        for position in (*started, *started):
            working_on.set(position)
            await scene.ask("a", user(f"task {position}"))
        for position in started:
            scene.add(AgentFinished(agent="a", conversation="c", text=str(position)), cause=position)

    trace = traced(body)
    assert turns(trace) == [("a", 2), ("a", 2)]
    assert [one.finished.text for one in trace.runs] == [
        str(one.position) for one in trace.records if isinstance(one.event, AgentStarted)
    ]


def test_work_that_is_handed_out_to_one_agent_in_pieces_is_a_turn_for_each_piece(traced):
    """However fast the pieces are done: a request that has nothing of the last one is no part of its turn."""

    async def body(scene):
        for piece in ("one", "two", "three"):
            await scene.ask("worker", user(f"summarise {piece}"))

    assert_agent_count(traced(body), "worker", 3)


def test_people_who_talk_to_one_agent_at_once_have_a_turn_each(traced):
    async def body(scene):
        scene.script.on(user="ann").reply("hello ann")
        scene.script.on(user="bob").reply("hello bob")
        talks = {name: [user(f"I am {name}")] for name in ("ann", "bob")}
        for _ in range(3):
            for name, history in talks.items():
                answer = await scene.ask("clerk", *history)
                history += [answer.message(), user(f"{name} again")]

    assert turns(traced(body)) == [("clerk", 3), ("clerk", 3)]


def test_a_request_that_is_made_again_is_part_of_the_turn(tape):
    request = ModelRequest(model="m", messages=(user("go"),), caller=Caller(agent="a"))
    first = tape.add(ModelRequested(request=request))
    tape.add(ModelRequested(request=request))
    tape.add(ModelFailed(reason="client_gone", message="gone"), cause=first)
    assert turns(build_trace(tape.records)) == [("a", 2)]


def test_a_history_that_is_cut_still_goes_on_with_its_turn(traced):
    async def body(scene):
        scene.script.queue("first", "second")
        await scene.ask("a", user("a long story"))
        await scene.ask("a", assistant("first"), user("and then?"))

    assert turns(traced(body)) == [("a", 2)]


def test_an_agent_that_waits_for_one_that_it_started_has_another_turn_after_it(traced):
    """The call has the task, its result has what the other one said; no header and no event says who started it."""

    async def body(scene):
        script = scene.script
        ask = [{"name": "ask_reviewer", "arguments": {"task": "look at auth.py"}}]
        script.on(agent="main", iteration=1).reply(tool_calls=ask)
        script.on(agent="reviewer").reply("it is\nfine")
        history = [user("go")]
        wish = await scene.ask("main", *history)
        said = await scene.ask("reviewer", user("look at auth.py"))
        answer = result(wish.tool_calls[0].id, f"the reviewer: {said.text}")
        await scene.ask("main", *history, wish.message(), answer)

    trace = traced(body)
    assert_agent_sequence(trace, "main", "reviewer", "main")
    assert [(edge.sender, edge.receiver) for edge in trace.handovers] == [
        ("main", "reviewer"),
        ("reviewer", "main"),
    ]


@pytest.mark.parametrize("parent", ["main", ""])
def test_one_that_works_meanwhile_without_being_waited_for_leaves_the_turn_whole(traced, parent):
    async def body(scene):
        scene.script.on(agent="main", iteration=1).reply(tool_calls=[{"name": "look"}])
        history = [user("go")]
        wish = await scene.ask("main", *history)
        await scene.ask("reviewer", user("other things"), parent=parent)
        await scene.ask("main", *history, wish.message(), result(wish.tool_calls[0].id, "seen"))

    whole = ["main", "reviewer"]
    assert_agent_sequence(traced(body), *(whole if not parent else [*whole, "main"]))


def test_who_answers_the_call_of_another_takes_over_from_it(traced):
    """A hand-over: the transcript goes on with another agent, and comes back; ids are used again."""

    async def body(scene):
        history = [user("go")]
        for name in ("triage", "billing", "triage"):
            scene.script.queue({"tool_calls": [{"name": "transfer", "id": "call_1"}]})
            wish = await scene.ask(name, *history)
            history += [wish.message(), result("call_1", "done")]

    trace = traced(body)
    assert turns(trace) == [("triage", 1), ("billing", 1), ("triage", 1)]
    assert [edge.via for edge in trace.handovers] == ["transfer", "transfer"]
