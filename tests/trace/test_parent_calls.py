"""Tool calls of agents that a tool call has started: each names that call, where there is no doubt."""

from __future__ import annotations

import pytest

from soundstage.journal import Journal, ModelRequested, ModelResponded
from soundstage.messages import Caller, Message, ModelRequest, ModelResponse, ToolCall, ToolResult, user
from soundstage.trace import build_trace


def exchange(journal: Journal, caller: Caller, message: Message, *calls: ToolCall) -> None:
    request = ModelRequest(model="m", messages=(message,), caller=caller)
    at = journal.append(ModelRequested(request=request))
    journal.append(ModelResponded(response=ModelResponse(model="m", parts=calls)), cause=at)


def agent_call(identity: str, **arguments: str) -> ToolCall:
    return ToolCall(id=identity, name="Agent", arguments=dict(arguments))


def work(started: tuple[ToolCall, ...], *subagents: tuple[str, str]) -> dict[str, str]:
    """Parents by call: the main agent starts others, and each of them makes a call of its own."""
    journal = Journal()
    exchange(journal, Caller(conversation="s"), user("go"), *started)
    for name, prompt in subagents:
        caller = Caller(agent=name, conversation="s", parent="main")
        exchange(journal, caller, user(prompt), ToolCall(id=f"of {name}", name="Read", arguments={}))
    return {use.call_id: use.parent for use in build_trace(journal.read()).tools}


def test_a_call_within_the_only_open_call_of_the_parent_names_it():
    found = work((agent_call("a", prompt="look"),), ("subagent-1", "look"))
    assert found == {"a": "", "of subagent-1": "a"}


def test_of_several_open_calls_it_is_the_one_with_the_prompt_or_the_name_of_the_agent():
    calls = (
        agent_call("a", prompt="look"),
        agent_call("b", prompt="leap"),
        agent_call("c", agent="reviewer"),
    )
    found = work(calls, ("subagent-1", "leap"), ("subagent-2", "look"), ("reviewer", "go on"))
    assert [found[call] for call in ("of subagent-1", "of subagent-2", "of reviewer")] == ["b", "a", "c"]


@pytest.mark.parametrize("prompt", ["look", "something else"])
def test_a_call_in_doubt_names_none(prompt):
    calls = (agent_call("a", prompt="look"), agent_call("b", prompt="look"))
    assert work(calls, ("subagent-1", prompt))["of subagent-1"] == ""


def test_an_agent_that_works_on_after_its_call_has_ended_has_the_next_one():
    journal = Journal()
    sub = Caller(agent="sub", conversation="s", parent="main")
    exchange(journal, Caller(conversation="s"), user("go"), agent_call("a"))
    exchange(journal, sub, user("look"), ToolCall(id="first", name="Read", arguments={}))
    result = Message(role="tool", parts=(ToolResult(call_id="a", text="done"),))
    exchange(journal, Caller(conversation="s"), result, agent_call("b"))
    exchange(journal, sub, user("look again"), ToolCall(id="second", name="Read", arguments={}))
    found = {use.call_id: use.parent for use in build_trace(journal.read()).tools}
    assert (found["first"], found["second"]) == ("a", "b")


def test_an_agent_works_in_the_call_of_its_first_request_until_that_has_a_result():
    journal = Journal()
    sub = Caller(agent="sub", conversation="s", parent="main")
    exchange(journal, Caller(conversation="s"), user("go"), agent_call("a", prompt="look"))
    exchange(journal, sub, user("look"), ToolCall(id="first", name="Read", arguments={}))
    exchange(journal, Caller(agent="main", conversation="s"), user("more"), agent_call("b", prompt="and on"))
    exchange(journal, sub, user("and on"), ToolCall(id="second", name="Read", arguments={}))
    found = {use.call_id: use.parent for use in build_trace(journal.read()).tools}
    assert (found["first"], found["second"]) == ("a", "a")
