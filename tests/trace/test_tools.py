"""Tool calls find their results, each call once, whoever tells of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import HookFired, ModelRequested, ModelResponded, ToolCalled, ToolReturned
from soundstage.messages import Caller, ModelRequest, ModelResponse, assistant, call, tool, user
from soundstage.trace import build_trace


class Talk:
    """A conversation on a tape: requests with a history, and replies with tool calls."""

    def __init__(self, tape: Any) -> None:
        self.tape = tape

    def ask(
        self, *messages: Any, agent: str = "a", conversation: str = "c", calls: tuple[Any, ...] = ()
    ) -> int:
        """A request, and if it has calls, the reply that makes them; the position of the last of both."""
        position = self.request(*messages, agent=agent, conversation=conversation)
        return self.reply(position, *calls) if calls else position

    def request(self, *messages: Any, agent: str = "a", conversation: str = "c") -> int:
        caller = Caller(agent=agent, conversation=conversation)
        request = ModelRequest(model="m", messages=messages or (user("go"),), caller=caller)
        return self.tape.add(ModelRequested(request=request))

    def reply(self, asked: int, *calls: Any) -> int:
        return self.tape.add(ModelResponded(response=ModelResponse(parts=calls)), cause=asked)

    @property
    def tools(self) -> list[tuple[str, str | None]]:
        return [(use.call_id, use.result) for use in build_trace(self.tape.records).tools]


@pytest.fixture
def talk(tape):
    return Talk(tape)


def test_a_call_has_the_result_that_the_next_request_brings(traced):
    async def body(scene):
        scene.script.on(iteration=1).reply(
            tool_calls=[{"name": "Read", "arguments": {"path": "a.py"}, "id": "r1"}], delay=2
        )
        scene.script.on(iteration=2).reply("done", delay=3)
        await scene.work("clerk", "read it", {"Read": "text of a.py"})

    trace = traced(body)
    (use,) = trace.tools
    assert (use.call_id, use.name, use.arguments, use.raw) == ("r1", "Read", {"path": "a.py"}, "")
    assert (use.agent, use.conversation) == ("clerk", "c")
    assert (use.result, use.is_error) == ("text of a.py", False)
    assert (use.asked_at, use.returned_at) == (trace.steps[0].answered_at, trace.steps[1].position)
    assert (use.started, use.ended, use.duration) == (2.0, 2.0, 0.0)
    assert trace.steps[0].tools == trace.runs[0].tools == (use,)
    assert trace.steps[1].tools == ()


def test_a_call_that_nobody_answers_has_no_result(talk):
    talk.ask(calls=(call("t", id="1"),))
    talk.ask(user("never mind"))
    (use,) = build_trace(talk.tape.records).tools
    assert (use.result, use.returned_at, use.ended, use.duration) == (None, None, None, None)


def test_an_empty_result_is_a_result(talk):
    talk.ask(calls=(call("t", id="1"),))
    talk.ask(tool("1", ""))
    assert talk.tools == [("1", "")]


def test_an_error_of_a_tool_is_marked(talk):
    talk.ask(calls=(call("t", id="1"),))
    talk.ask(tool("1", "boom", is_error=True))
    assert build_trace(talk.tape.records).tools[0].is_error


def test_arguments_that_are_no_json_stay_readable(traced):
    async def body(scene):
        scene.script.on(iteration=1).reply(tool_calls=[{"name": "Read", "raw": "{path"}])
        scene.script.on(iteration=2).reply("sorry")
        await scene.work("clerk", "go")

    (use,) = traced(body).tools
    assert (use.arguments, use.raw, use.result) == ({}, "{path", "ok")


def test_the_whole_history_in_every_request_answers_a_call_once(talk):
    history = [user("go")]
    for number in range(5):
        talk.ask(*history, calls=(call("t", id=f"i{number}"),))
        history += [assistant("", call("t", id=f"i{number}")), tool(f"i{number}", f"result {number}")]
    talk.ask(*history)
    assert talk.tools == [(f"i{number}", f"result {number}") for number in range(5)]


def test_an_id_that_is_used_again_and_again_gets_its_own_results(talk):
    history = [user("go")]
    for number in range(4):
        talk.ask(*history, calls=(call("t", {"n": number}, id="same"),))
        history += [assistant("", call("t", id="same")), tool("same", f"result {number}")]
    talk.ask(*history)
    assert talk.tools == [("same", f"result {number}") for number in range(4)]


def test_an_old_result_does_not_answer_a_new_call_with_the_same_id(talk):
    first = [user("go"), assistant("", call("t", id="same")), tool("same", "old")]
    talk.ask(user("go"), calls=(call("t", id="same"),))
    talk.ask(*first, calls=(call("t", id="same"),))
    talk.ask(*first, assistant("never mind"), user("something else"))
    assert talk.tools == [("same", "old"), ("same", None)]


def test_a_superseded_call_does_not_take_the_result_of_its_successor(talk):
    talk.ask(calls=(call("t", id="same"),))
    talk.ask(user("never mind"), calls=(call("t", id="same"),))
    talk.ask(user("x"), assistant("", call("t", id="same")), tool("same", "for the second"))
    assert talk.tools == [("same", None), ("same", "for the second")]


def test_calls_of_one_reply_without_ids_are_answered_in_their_order(talk):
    talk.ask(calls=(call("t", {"n": 1}), call("t", {"n": 2})))
    talk.ask(user("go"), assistant("", call("t"), call("t")), tool("", "one"), tool("", "two"))
    assert talk.tools == [("", "one"), ("", "two")]


def test_a_retried_request_changes_nothing(talk):
    talk.ask(calls=(call("t", id="same"),))
    brought = (assistant("", call("t", id="same")), tool("same", "first"))
    talk.ask(*brought)
    talk.ask(*brought, calls=(call("t", id="same"),))
    talk.ask(*brought, assistant("", call("t", id="same")), tool("same", "second"))
    assert talk.tools == [("same", "first"), ("same", "second")]


def test_a_result_before_the_last_words_of_the_model_is_found_too(talk):
    talk.ask(calls=(call("t", id="1"),))
    talk.ask(user("go"), assistant("", call("t", id="1")), tool("1", "seen"), assistant("I begin with"))
    assert talk.tools == [("1", "seen")]


def test_of_two_results_one_may_be_new_and_the_other_before_the_last_words_of_the_model(talk):
    talk.ask(calls=(call("t", id="1"), call("t", id="2")))
    talk.ask(tool("2", "two"), assistant("and the other"), tool("1", "one"))
    assert talk.tools == [("1", "one"), ("2", "two")]


def test_a_shortened_history_does_not_hide_a_result(talk):
    talk.ask(*[user(f"line {number}") for number in range(9)], calls=(call("t", id="1"),))
    talk.ask(user("a summary"), assistant("", call("t", id="1")), tool("1", "seen"))
    assert talk.tools == [("1", "seen")]


def test_one_conversation_does_not_answer_the_calls_of_another(talk):
    talk.ask(conversation="x", calls=(call("t", id="1"),))
    talk.ask(conversation="y", calls=(call("t", id="1"),))
    talk.ask(tool("1", "for y"), conversation="y")
    assert talk.tools == [("1", None), ("1", "for y")]


def test_two_agents_with_the_same_ids_get_their_own_results(talk):
    talk.ask(agent="a", calls=(call("t", id="1"),))
    talk.ask(agent="b", calls=(call("t", id="1"),))
    talk.ask(tool("1", "for b"), agent="b")
    talk.ask(tool("1", "for a"), agent="a")
    assert talk.tools == [("1", "for a"), ("1", "for b")]


def test_another_agent_may_bring_the_result(talk):
    talk.ask(agent="worker", calls=(call("finish", id="f1"),))
    talk.ask(tool("f1", "noted"), agent="chief")
    (use,) = build_trace(talk.tape.records).tools
    assert (use.agent, use.result) == ("worker", "noted")


def test_a_client_that_does_not_send_ids_back_is_joined_by_the_names_of_its_tools(talk):
    for _ in range(2):
        talk.ask(calls=(call("look", id="drawn-1"), call("ring", id="drawn-2"), call("look", id="drawn-3")))
        made_up = (call("look", id="x1"), call("ring", id="x2"), call("look", id="x3"))
        results = (
            tool("x1", "seen", name="look"),
            tool("x3", "seen again", name="look"),
            tool("x2", "ding", name="ring"),
        )
        talk.ask(user("go"), assistant("", *made_up), *results)
    assert talk.tools == [("drawn-1", "seen"), ("drawn-2", "ding"), ("drawn-3", "seen again")] * 2


def test_a_runtime_gives_the_exact_times_of_a_call_that_a_reply_asked_for(talk):
    asked = talk.ask(calls=(call("t", {"n": 1}, id="1"),))
    called = talk.tape.add(ToolCalled(call_id="1", name="t", agent="a", conversation="c"), cause=asked)
    returned = talk.tape.add(ToolReturned(call_id="1", text="exact"), cause=called)
    talk.ask(tool("1", "exact"))
    (use,) = build_trace(talk.tape.records).tools
    assert (use.asked_at, use.returned_at) == (asked, returned)
    assert (use.started, use.ended) == (called / 10, returned / 10)
    assert (use.arguments, use.result) == ({"n": 1}, "exact")


@pytest.mark.parametrize("conversation", ["c", ""])
def test_a_runtime_that_begins_before_the_reply_is_complete_is_joined_too(talk, conversation):
    request = talk.request()
    called = talk.tape.add(ToolCalled(call_id="1", name="t", conversation=conversation))
    done = talk.reply(request, call("s", id="0"), call("t", {"n": 1}, id="1"))
    talk.ask(tool("0", "zero"), tool("1", "one"))
    trace = build_trace(talk.tape.records)
    assert [(use.call_id, use.result, use.agent) for use in trace.tools] == [
        ("0", "zero", "a"),
        ("1", "one", "a"),
    ]
    assert (trace.tools[1].asked_at, trace.tools[1].started) == (done, called / 10)
    assert trace.steps[0].tools == trace.tools
    assert trace.agents == ("a",)


def test_a_call_that_is_done_before_the_reply_is_complete_stays_done(talk):
    request = talk.request()
    called = talk.tape.add(ToolCalled(call_id="1", name="t"))
    talk.tape.add(ToolReturned(call_id="1", text="exact"), cause=called)
    talk.reply(request, call("t", id="1"))
    talk.ask(tool("1", "as sent"))
    talk.ask(user("x"), calls=(call("t", id="1"),))
    talk.ask(tool("1", "second"))
    assert talk.tools == [("1", "exact"), ("1", "second")]


def test_an_event_without_its_agent_is_joined_by_its_conversation(talk):
    asked = talk.ask(calls=(call("t", id="1"),))
    called = talk.tape.add(ToolCalled(call_id="1", name="t", conversation="c"))
    (use,) = build_trace(talk.tape.records).tools
    assert (use.agent, use.asked_at, use.started) == ("a", asked, called / 10)


def test_a_return_without_a_cause_is_joined_by_its_id(tape):
    for identity in ("1", "2"):
        tape.add(ToolCalled(call_id=identity, name="t"))
    tape.add(ToolReturned(call_id="2", text="two"))
    assert [use.result for use in build_trace(tape.records).tools] == [None, "two"]


def test_an_event_without_its_conversation_is_joined_by_its_id(talk):
    talk.ask(conversation="deep", calls=(call("t", id="1"),))
    talk.tape.add(ToolCalled(call_id="1", name="t"))
    talk.tape.add(ToolReturned(call_id="1", text="by id"))
    assert talk.tools == [("1", "by id")]


def test_calls_of_a_runtime_whose_model_is_not_journaled_are_listed(tape):
    first = tape.add(ToolCalled(call_id="1", name="t", arguments={"n": 1}, agent="robot"))
    second = tape.add(ToolCalled(call_id="1", name="t", arguments={"n": 2}, agent="robot"))
    tape.add(ToolReturned(call_id="1", text="two"), cause=second)
    tape.add(ToolReturned(call_id="1", text="one", is_error=True), cause=first)
    trace = build_trace(tape.records)
    assert [(use.arguments["n"], use.result, use.is_error) for use in trace.tools] == [
        (1, "one", True),
        (2, "two", False),
    ]
    assert trace.agents == ("robot",)
    assert trace.tools[0].asked_at == first


def test_a_result_without_a_call_is_ignored(talk):
    talk.tape.add(ToolReturned(call_id="9", text="of nobody"))
    talk.ask(tool("8", "of nobody"))
    assert talk.tools == []


class Call(NamedTuple):
    """A generated call: which of the ids, whether a runtime reports it, whether it is answered."""

    identity: int
    reported: bool
    answered: bool


CALLS = st.lists(st.builds(Call, st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=4)


@given(rounds=st.lists(st.tuples(st.sampled_from("ab"), CALLS), max_size=8))
def test_no_call_is_lost_or_listed_twice_and_each_has_its_own_result(new_tape, rounds):
    """Agents take turns in one conversation. Each agent uses four ids over and over, its history grows."""
    talk = Talk(new_tape())
    histories = {"a": [user("go")], "b": [user("go")]}
    expected: dict[tuple[str, int, int], str | None] = {}
    for number, (agent, drawn) in enumerate(rounds):
        calls = list({one.identity: one for one in drawn}.values())
        asked = [
            call("t", {"round": number, "id": one.identity}, id=f"{agent}{one.identity}") for one in calls
        ]
        done = talk.ask(*histories[agent], agent=agent, calls=tuple(asked))
        histories[agent].append(assistant("", *asked))
        for one, made in zip(calls, asked, strict=True):
            text = f"result {number}.{one.identity}"
            expected[agent, number, one.identity] = text if one.reported or one.answered else None
            if one.reported:
                event = ToolCalled(call_id=made.id, name="t", agent=agent, conversation="c")
                called = talk.tape.add(event, cause=done)
                talk.tape.add(ToolReturned(call_id=made.id, text=text), cause=called)
            if one.answered:
                histories[agent].append(tool(made.id, text))
    for agent, history in histories.items():
        talk.ask(*history, agent=agent)
    tools = build_trace(talk.tape.records).tools
    assert {(use.agent, use.arguments["round"], use.arguments["id"]): use.result for use in tools} == expected
    assert len(tools) == len(expected)


@given(st.lists(st.text(max_size=3), max_size=6), st.booleans())
def test_every_call_of_a_reply_is_listed_whatever_its_id(new_tape, ids, reported):
    talk = Talk(new_tape())
    done = talk.ask(calls=tuple(call("t", id=one) for one in ids)) if ids else 0
    for one in ids if reported else ():
        talk.tape.add(ToolCalled(call_id=one, name="t", agent="a", conversation="c"), cause=done)
    assert [use.call_id for use in build_trace(talk.tape.records).tools] == ids


def test_a_call_that_a_hook_has_told_of_is_the_one_that_the_runtime_then_runs(tape):
    tape.add(HookFired(hook="guard", event="PreToolUse", call_id="1", input={"tool_name": "read"}))
    at = tape.add(
        ToolCalled(call_id="1", name="read", arguments={"path": "a"}, agent="ada", conversation="s")
    )
    tape.add(ToolReturned(call_id="1", text="A"), cause=at)
    (use,) = build_trace(tape.records).tools
    assert (use.name, use.arguments, use.agent, use.result) == ("read", {"path": "a"}, "ada", "A")
