"""Conditions: what each one looks at, and what holds for lists of names."""

from __future__ import annotations

import pytest

from soundstage.errors import MatchError
from soundstage.match import matcher
from soundstage.messages import Message, Text, ToolResult, assistant, call, system, tool, user
from soundstage.models._conditions import (
    CONDITION_SOURCES,
    RequestContext,
    RequestFacts,
    When,
    compile_conditions,
)

WEATHER = (assistant("", call("get_weather", id="c1")), tool("c1", "72 degrees"))


def holds(request, context=None, **conditions):
    facts = RequestFacts(request, context or RequestContext())
    return all(
        condition.matches(facts.get(name)) for name, condition in compile_conditions(When(**conditions))
    )


@pytest.mark.parametrize(
    ("fields", "conditions", "expected"),
    [
        ({"prompt": "You are Bob"}, {"system": "Bob"}, True),
        ({"prompt": "You are Bob"}, {"system": "/you are bob/i"}, True),
        ({}, {"system": "Bob"}, False),
        ({"agent": "Executor"}, {"agent": "executor"}, True),
        ({"agent": "executor2"}, {"agent": "executor"}, False),
        ({"agent": "executor2"}, {"agent": "/^exec/"}, True),
        ({}, {"agent": "executor"}, False),
        ({"phase": "PLAN"}, {"phase": "plan"}, True),
        ({"model": "gpt-4o"}, {"model": "GPT-4o"}, True),
        ({"model": "gpt-4o-mini"}, {"model": "gpt-4o"}, False),
        ({"tools": ("read", "write")}, {"tool": "Read"}, True),
        ({"tools": ("read_file",)}, {"tool": "read"}, False),
        ({"tools": ("read",)}, {"tool": {"not": "write"}}, True),
        ({"tools": ("read", "write")}, {"tool": {"not": "write"}}, False),
        ({"tools": ("read", "write")}, {"tool": {"all": ["read", "write"]}}, True),
        ({"tools": ("read",)}, {"tool": {"all": ["read", "write"]}}, False),
        ({"tools": ("read",)}, {"tool": ["read", "write"]}, True),
        ({"tools": ("read",)}, {"tools": True}, True),
        ({}, {"tools": True}, False),
        ({}, {"tools": False}, True),
        ({"headers": {"x-user": "ann"}}, {"header": {"X-User": "ann"}}, True),
        ({"headers": {"x-user": "bob"}}, {"header": {"x-user": "ann"}}, False),
        ({}, {"header": {"x-user": "ann"}}, False),
        ({"headers": {"x-user": "ann"}}, {"header": {"x-user": {"equals": None}}}, False),
        ({}, {"header": {"x-user": {"equals": None}}}, True),
        ({"purpose": "title"}, {"purpose": "title"}, True),
        ({}, {"purpose": "title"}, False),
        ({}, {"purpose": "main"}, True),
    ],
)
def test_a_condition_asks_its_part_of_the_request(request_of, fields, conditions, expected):
    assert holds(request_of(**fields), **conditions) is expected


def test_user_is_the_latest_message_with_text_and_nothing_matches_where_there_is_none(request_of):
    assert holds(request_of("first", assistant("ok"), user("second")), user="second")
    assert not holds(request_of("first", assistant("ok"), user("second")), user="first")
    results = Message(role="user", parts=(ToolResult(call_id="c1", text="first result"),))
    assert holds(request_of("ask", results), user="ask")
    assert not holds(request_of(None), user="/^/")


def test_contains_looks_into_every_message_so_that_feedback_is_visible(request_of):
    request = request_of(
        "go", assistant("", call("verify", {"file": "auth.py"}, id="c1")), tool("c1", "2 failed")
    )
    assert holds(request, contains="2 failed")
    assert holds(request, contains="auth.py")
    assert not holds(request, contains="3 failed")


def test_iteration_and_previous_agent_come_from_the_conversation(request_of):
    context = RequestContext(previous_agent="Planner", iteration=2)
    assert holds(request_of(), context, previous_agent="planner", iteration=2)
    assert not holds(request_of(), context, iteration=1)
    assert not holds(request_of(), RequestContext(), previous_agent="/^/")


def test_turn_counts_the_users_messages_and_step_the_models(request_of):
    request = request_of("one", *WEATHER, assistant("done"), user("two"))
    assert holds(request, turn=2, step=3)
    assert not holds(request, turn=1)
    assert holds(request_of(), turn=1, step=1)
    assert holds(request, step=[2, 3])


@pytest.mark.parametrize("word", ["get_weather", "GET_WEATHER", "c1", "/^get/", ["other", "c1"]])
def test_after_tool_is_the_tool_whose_result_has_just_come(request_of, word):
    assert holds(request_of("weather", *WEATHER), after_tool=word)
    assert not holds(request_of("weather", *WEATHER, assistant("warm"), user("thanks")), after_tool=word)
    assert not holds(request_of("weather"), after_tool=word)


def test_after_tool_takes_the_name_from_the_result_where_the_format_has_it_there(request_of):
    request = request_of("weather", tool("c9", "72", name="get_weather"))
    assert holds(request, after_tool="get_weather")


def test_all_of_several_tools_must_have_answered(request_of):
    both = Message(role="user", parts=(ToolResult(call_id="a", text="1"), ToolResult(call_id="b", text="2")))
    request = request_of("go", assistant("", call("one", id="a"), call("two", id="b")), both)
    assert holds(request, after_tool={"all": ["one", "two"]})
    assert not holds(request, after_tool={"all": ["one", "three"]})


def test_tool_result_is_about_the_text_or_about_there_being_any(request_of):
    after, before = request_of("weather", *WEATHER), request_of("weather")
    assert holds(after, tool_result="72")
    assert holds(after, tool_result=True)
    assert not holds(after, tool_result=False)
    assert holds(before, tool_result=False)
    assert not holds(before, tool_result=True)
    assert holds(after, tool_result={"not": "error"})
    assert holds(before, tool_result={"not": "error"})
    assert not holds(after, tool_result={"not": "72"})


def test_a_matcher_on_a_list_means_the_same_as_the_words(request_of):
    after = request_of("weather", *WEATHER)
    assert holds(after, tool_result=~matcher("error"))
    assert holds(after, tool_result=matcher("72") & matcher("degrees"))
    assert not holds(after, tool_result=matcher("72") & matcher("rain"))


def test_a_function_is_a_condition_too(request_of):
    assert holds(request_of("hello"), user=lambda text: text.startswith("he"))
    with pytest.raises(MatchError, match="raised AttributeError"):
        holds(request_of(None), user=lambda text: text.startswith("he"))


def test_each_answer_is_worked_out_once_and_only_when_asked(request_of, monkeypatch):
    asked = []
    question = CONDITION_SOURCES["user"]
    monkeypatch.setitem(
        CONDITION_SOURCES, "user", question._replace(value=lambda *_: asked.append(1) or "hello")
    )
    facts = RequestFacts(request_of(), RequestContext())
    assert asked == []
    assert facts.get("user") == facts.get("user") == "hello"
    assert asked == [1]


def test_every_condition_of_a_rule_has_a_question():
    assert set(CONDITION_SOURCES) == set(When.__struct_fields__)


def test_a_failing_list_says_what_there_was(request_of):
    ((name, condition),) = compile_conditions(When(tool="read"))
    assert condition.explain(["write", "ring"]) == "'read' is not one of 'write', 'ring'"
    ((name, condition),) = compile_conditions(When(tool_result=False))
    assert name == "tool_result"
    assert condition.explain(["72"]) == "expected none, got ['72']"
    assert condition.describe() == "none"


def test_several_system_messages_are_one_prompt(request_of):
    request = request_of("x", system("first"), Message(role="system", parts=(Text(text="second"),)))
    assert holds(request, system="first\nsecond")
