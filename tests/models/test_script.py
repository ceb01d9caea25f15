"""Scripts in Python: what can be written, and what is refused."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import MatchError, ProviderError, ScriptError, ScriptLoadError, UnknownNameError
from soundstage.messages import Usage, call
from soundstage.models import (
    AgentSpec,
    BlockSpec,
    ErrorSpec,
    Reply,
    ReplyFault,
    Script,
    ScriptedModel,
    When,
    load_rules,
)


def test_text_fields_a_reply_and_a_tool_call_are_all_replies(ask):
    script = Script()
    script.on(user="a").reply("plain")
    script.on(user="b").reply(text="field", usage={"input_tokens": 7})
    script.on(user="c").reply(Reply(text="record"))
    script.on(user="d").reply(call("lookup", {"word": "x"}))
    script.on(user="e").reply([call("lookup"), call("ring")])
    script.on(user="f").reply(ErrorSpec(status=429))
    model = ScriptedModel(script)
    assert ask(model, "a").text == "plain"
    assert ask(model, "b").usage == Usage(input_tokens=7)
    assert ask(model, "c").text == "record"
    assert [(it.name, it.arguments) for it in ask(model, "d", tools=("lookup",)).tool_calls] == [
        ("lookup", {"word": "x"})
    ]
    assert [it.name for it in ask(model, "e", tools=("lookup", "ring")).tool_calls] == ["lookup", "ring"]
    with pytest.raises(ProviderError):
        ask(model, "f")


def test_fields_are_added_to_text_and_to_a_reply():
    script = Script()
    script.on(user="a").reply("text", tool_calls=[call("lookup")], delay=2)
    script.on(user="b").reply(Reply(text="text", model="gpt"), finish="length")
    first, second = (rule.reply for rule in script.rules)
    assert (first.text, first.tool_calls[0].name, first.delay) == ("text", "lookup", 2)
    assert (second.text, second.model, second.finish) == ("text", "gpt", "length")


def test_the_queue_takes_whatever_is_a_reply_and_serves_it_once_in_order(ask):
    script = Script()
    script.queue("one", call("ring"), {"text": "three"}, Reply(text="four"))
    model = ScriptedModel(script)
    replies = [ask(model, tools=("ring", "lookup")) for _ in range(5)]
    assert [reply.text for reply in replies] == ["one", "", "three", "four", "nothing scripted for that"]
    assert replies[1].finish == "tool_calls"


def test_a_queue_with_a_mistake_adds_nothing():
    script = Script()
    with pytest.raises(ScriptError, match="a reply has no field 'txt'"):
        script.queue("one", {"txt": "two"})
    assert script.rules == []


def test_an_error_and_a_fault_can_be_written_in_words():
    script = Script()
    script.on(user="a").error(529, "busy", type="overloaded_error", retry_after=1)
    script.on(user="b").fault("cut", "some text", after=2)
    script.on(user="c").fault("empty")
    first, second, third = (rule.reply for rule in script.rules)
    assert first.error == ErrorSpec(status=529, message="busy", type="overloaded_error", retry_after=1)
    assert (second.text, second.fault) == ("some text", ReplyFault(type="cut", after=2))
    assert third.fault == ReplyFault(type="empty")


def test_blocks_take_tool_calls_of_the_message_types():
    script = Script()
    script.on(user="a").reply(blocks=[{"text": "x"}, call("ring", id="c1"), {"tool_call": call("look")}])
    assert [block.tool_call.name for block in script.rules[0].reply.blocks[1:]] == ["ring", "look"]
    assert script.rules[0].reply.blocks[0] == BlockSpec(text="x")


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"usr": "x"}, "unknown condition 'usr'"),
        ({"user": "/(/"}, "is not a regular expression"),
        ({"user": None}, "None is no condition"),
        ({"user": ""}, "an empty text"),
        ({"iteration": 0}, "count from 1"),
        ({"iteration": "2"}, "a number is expected"),
        ({"turn": [1, 0]}, "count from 1"),
        ({"step": {"not": "x"}}, "a number is expected"),
        ({"user": 5}, "a text is expected"),
        ({"user": ["a", 5]}, "a text is expected"),
        ({"agent": {"not": True}}, "a text is expected"),
        ({"agent": ""}, "an empty name"),
        ({"tool": ["read", 1]}, "a text is expected"),
        ({"header": {"x": 1}}, "a text is expected"),
        ({"contains": []}, "at least one condition"),
        ({"header": "x"}, "headers are given by name"),
        ({"header": {}}, "headers are given by name"),
        ({"tools": "lookup"}, "`tools` is true or false"),
    ],
)
def test_a_condition_that_means_nothing_is_refused_where_it_is_written(conditions, message):
    with pytest.raises(ScriptError, match=message):
        Script().on(**conditions)


def test_a_misspelt_condition_gets_the_nearest_name():
    with pytest.raises(ScriptError, match="did you mean 'previous_agent'"):
        Script().on(previos_agent="x")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda on: on.reply(), "a reply needs one of"),
        (lambda on: on.reply(txt="x"), "a reply has no field 'txt'.*did you mean 'text'"),
        (lambda on: on.reply("x", error={"status": 500}), "either text or error"),
        (
            lambda on: on.reply(text="x", chunks=["x"]),
            "one of text, chunks and blocks, not text and chunks",
        ),
        (lambda on: on.reply(blocks=[], tool_calls=[call("x")]), "tool calls as blocks"),
        (lambda on: on.reply(blocks=[{"text": "x", "thinking": "y"}]), "exactly one of"),
        (lambda on: on.reply(3), "this is not a reply"),
        (lambda on: on.reply([]), "this is not a reply"),
        (lambda on: on.reply("x", delay=float("inf")), r"`\$.delay`"),
        (lambda on: on.reply("x", delay=float("nan")), r"`\$.delay`"),
        (lambda on: on.reply(fault={"type": "stall", "seconds": float("inf")}), r"`\$.fault.seconds`"),
        (lambda on: on.reply(lambda _: "x", delay=1), "a function makes the whole reply"),
        (lambda on: on.error(200), "this is not a reply"),
        (lambda on: on.fault("explode"), "this is not a reply"),
    ],
)
def test_a_reply_that_is_none_is_refused(write, message):
    script = Script()
    with pytest.raises(ScriptError, match=f"(?s){message}"):
        write(script.on(user="a"))
    assert script.rules == []


@pytest.mark.parametrize("options", [{"times": 0}, {"times": True}, {"times": "2"}, {"priority": "high"}])
def test_times_and_priority_are_whole_numbers(options):
    with pytest.raises(ScriptError):
        Script().on(user="a", **options).reply("x")


def test_the_default_is_fixed_and_a_function_is_told_where_to_go(ask):
    script = Script()
    script.otherwise(text="sorry", finish="length")
    assert ask(ScriptedModel(script)).finish == "length"
    with pytest.raises(ScriptError, match="the default is a fixed reply"):
        script.otherwise(lambda _: "x")


def test_an_agent_is_checked_when_it_is_named():
    script = Script()
    script.agent("executor", system="/you are the executor/i", phase=r"/Phase: (\w+)/")
    assert script.agents == [
        AgentSpec(name="executor", when=When(system="/you are the executor/i"), phase=r"/Phase: (\w+)/")
    ]
    with pytest.raises(ScriptError, match="unknown condition"):
        script.agent("x", sytem="x")
    with pytest.raises(MatchError, match="expression with a group"):
        script.agent("x", system="x", phase="/Phase/")
    with pytest.raises(MatchError, match="expression with a group"):
        script.agent("x", system="x", phase=r"/Phase \(/")
    assert len(script.agents) == 1


def test_a_rule_without_conditions_serves_once_unless_it_says_how_often():
    script = Script()
    script.on().reply("once")
    script.on(times=3).reply("thrice")
    assert [rule.times for rule in script.rules] == [1, 3]
    assert [rule.describe() for rule in script.rules] == ["queued reply", "always"]


def test_from_data_has_the_form_of_a_file_and_names_every_problem():
    script = Script.from_data(
        {"rules": [{"when": {"user": "a"}, "reply": "b", "name": "greeting", "times": 2}], "strict": True}
    )
    assert (script.rules[0].label, script.rules[0].times, script.strict) == ("rule 1 'greeting'", 2, True)
    with pytest.raises(ScriptLoadError) as caught:
        Script.from_data({"rules": [{"when": {"usr": "a"}, "reply": "b"}, {"reply": {}}]}, source="mine")
    assert [str(problem) for problem in caught.value.problems] == [
        "mine: rules[0].when.usr: unknown key; did you mean 'user'?",
        "mine: rules[1].reply: a reply needs one of text, chunks, blocks, tool_calls, error, fault",
    ]


def test_check_refuses_what_problems_only_names():
    script = Script()
    script.on(user="a").reply("1")
    script.on(user="ab").reply("2")
    assert [problem.message for problem in script.problems()] == [
        "rule 2 can never fire: rule 1 [user 'a'] comes first"
    ]
    assert [(it.rule.number, it.by.number) for it in script.shadowed()] == [(2, 1)]
    with pytest.raises(ScriptLoadError, match="rule 2 can never fire"):
        script.validate()


@pytest.mark.parametrize(
    "add",
    [
        lambda script: script.add({"user": "a"}, Reply(text="x")),
        lambda script: script.add(When(user="a"), "x"),
        lambda script: script.add(When(user="a"), None),
        lambda script: script.add(When(user="a"), Reply(text="x"), name=3),
        lambda script: script.on(user="a").reply(3),
        lambda script: script.queue(3),
    ],
)
def test_what_is_of_another_type_is_a_type_error_too(add):
    script = Script()
    with pytest.raises(TypeError) as failed:
        add(script)
    assert isinstance(failed.value, ScriptError)
    assert script.rules == []


def test_a_bound_script_that_loads_an_unknown_name_keeps_what_it_had():
    script = Script()
    script.bind("the team", agents=["planner"])
    script.validate_names()
    rules = {
        "rules": [{"when": {"agent": "planner"}, "reply": "a"}, {"when": {"agent": "plan"}, "reply": "b"}]
    }
    with pytest.raises(UnknownNameError, match="did you mean 'planner'"):
        load_rules(script, json.dumps(rules))
    assert (script.rules, script.agents) == ([], [])


def test_an_exception_is_answered_as_a_provider_would_say_it(ask):
    script = Script()
    busy = ProviderError("busy", status=529, kind="overloaded_error", code="c7", headers={"retry-after": "2"})
    script.on(user="busy").reply(busy)
    script.on(user="wrong").reply(ValueError("no tea"))
    script.on(user="empty").reply(error=KeyError())
    model, found = ScriptedModel(script), []
    for text in ("busy", "wrong", "empty"):
        with pytest.raises(ProviderError) as caught:
            ask(model, text)
        error = caught.value
        found.append((error.status, error.kind, error.message, error.code, error.headers))
    assert found == [
        (529, "overloaded_error", "busy", "c7", {"retry-after": "2"}),
        (500, "ValueError", "no tea", "", {}),
        (500, "KeyError", "KeyError", "", {}),
    ]


@pytest.mark.parametrize(
    "written",
    [
        {"name": "read", "arguments": {"path": "a"}},
        {"name": "read", "params": {"path": "a"}},
        {"function": "read", "args": '{"path": "a"}'},
        {"function": "read", "params": {"path": "a"}},
    ],
)
@pytest.mark.parametrize("where", ["python", "file", "block"])
def test_a_tool_call_is_read_in_each_of_its_forms(written, where, ask):
    script = Script()
    if where == "file":
        script = Script.from_data({"rules": [{"reply": {"tool_calls": [written], "check_calls": False}}]})
    elif where == "block":
        script.queue({"blocks": [{"tool_call": written}], "check_calls": False})
    else:
        script.on(user="hello").reply(tool_calls=[written], check_calls=False)
    (called,) = ask(ScriptedModel(script)).tool_calls
    assert (called.name, called.arguments, called.raw) == ("read", {"path": "a"}, "")


@pytest.mark.parametrize("text", ["{broken", "[1]", "7"])
def test_arguments_that_are_no_json_object_are_empty_and_stay_readable(text, ask):
    script = Script()
    script.on(user="hello").reply(tool_calls=[{"function": "read", "args": text}], check_calls=False)
    (called,) = ask(ScriptedModel(script)).tool_calls
    assert (called.arguments, called.raw) == ({}, text)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"params": {}}, "a tool call needs a name"),
        ({"name": ""}, "this is not a reply"),
        ({"name": "a", "function": "b"}, "a name, once"),
        ({"name": "a", "params": {"x": 1}, "arguments": {"x": 2}}, "once, not as arguments and params"),
        ({"name": "a", "params": [1]}, "this is not a reply"),
        ({"name": "a", "parms": {}}, "parms"),
    ],
)
def test_a_tool_call_without_a_name_or_with_two_arguments_is_a_value_error(written, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        Script().on(user="a").reply(tool_calls=[written])
    with pytest.raises(ScriptLoadError):
        Script.from_data({"rules": [{"reply": {"tool_calls": [written]}}]})


def test_what_is_refused_names_the_way_out():
    script = Script()
    with pytest.raises(MatchError, match="leave the condition out"):
        script.on(user=None)
    with pytest.raises(ScriptError, match=r"priority=-1"):
        script.otherwise(lambda request: "x")


def test_a_condition_without_a_name_says_what_to_write():
    with pytest.raises(ScriptError) as caught:
        Script().on("Oslo")
    message = str(caught.value)
    assert message.startswith("a condition has no name")
    assert "seen: on('Oslo')" in message
    assert "write on(user='Oslo')" in message
