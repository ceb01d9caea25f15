"""Tapes as scripts: a script answers what its tape was asked as the tape does, by rules that people can read."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.messages import (
    Caller,
    Message,
    ModelRequest,
    ModelResponse,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    assistant,
    system,
    user,
)
from soundstage.scripts import SourceReport, read_source
from soundstage.tapes import RecordedExchange, RecordedFailure, script_of_tape
from soundstage.tapes._to_script import answers_of, same_answer


def exchange(number, request, *parts, failure=None, finish="", **fields):
    calls = any(isinstance(part, ToolCall) for part in parts)
    finish = "error" if failure else finish or ("tool_calls" if calls else "stop")
    response = ModelResponse(
        parts=parts, finish=finish, model="" if failure else fields.pop("model", request.model), **fields
    )
    return RecordedExchange(number=number, request=request, response=response, failure=failure)


def asked(*messages, **fields):
    return ModelRequest(model=fields.pop("model", "m"), messages=messages, **fields)


def result(text, call_id="c1"):
    return Message(role="tool", parts=(ToolResult(call_id=call_id, text=text),))


words = st.sampled_from(
    [
        "go",
        "good bye",
        "weather in Paris",
        "/usr/bin/env",
        "line one\nline two\nline three",
        "yes",
        "12:30",
        "\u00dcn\u00efcode {x}",
        "a" * 200,
        "Paris: 4 C",
    ]
)
values = st.one_of(
    st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2)
)
arguments = st.dictionaries(st.text(max_size=5), values, max_size=3)
calls = st.builds(
    ToolCall,
    id=st.sampled_from(["call_1", "toolu_2"]),
    name=st.sampled_from(["look", "write"]),
    arguments=arguments,
)
raw_calls = st.builds(ToolCall, id=st.just("call_3"), name=st.just("look"), raw=st.just('{"city": "Par'))
texts = st.builds(Text, text=words)
thinking = st.builds(Thinking, text=words, signature=st.sampled_from(["", "sealed"]))
opaque = st.sampled_from(
    [
        Opaque(type="refusal", data={"refusal": "no"}),
        Opaque(type="server_tool_use", data={"type": "server_tool_use", "id": "s1"}),
    ]
)
replies = st.lists(st.one_of(texts, calls, raw_calls, thinking, opaque), max_size=3).map(tuple)
usages = st.builds(Usage, input_tokens=st.integers(0, 99), output_tokens=st.integers(0, 9))
failures = st.one_of(
    st.none(),
    st.none(),
    st.builds(
        RecordedFailure,
        type=st.just("error"),
        status=st.sampled_from([400, 429, 529]),
        kind=st.sampled_from(["", "overloaded_error"]),
        message=words,
        headers=st.sampled_from(
            [{}, {"retry-after": "1"}, {"retry-after": "soon", "x-should-retry": "true"}]
        ),
    ),
    st.just(RecordedFailure(type="cut", message="cut")),
)
histories = st.lists(
    st.one_of(
        st.builds(user, words),
        st.builds(assistant, words),
        st.builds(result, words),
        st.builds(system, words),
    ),
    min_size=1,
    max_size=4,
).map(tuple)
requests = st.builds(
    lambda messages, agent, purpose, stream, model, limit: ModelRequest(
        model=model,
        messages=messages,
        stream=stream,
        purpose=purpose,
        settings={"max_tokens": limit} if limit else {},
        caller=Caller(agent=agent, conversation=agent),
        tools=(ToolDefinition(name="look"),),
    ),
    histories,
    st.sampled_from(["", "planner", "writer"]),
    st.sampled_from(["main", "main", "main", "title"]),
    st.booleans(),
    st.sampled_from(["m", "n"]),
    st.sampled_from([0, 1000]),
)


@st.composite
def tapes(draw):
    found = []
    for number, request in enumerate(draw(st.lists(requests, min_size=1, max_size=4)), start=1):
        failure = draw(failures)
        parts = () if failure is not None and failure.type == "error" else draw(replies)
        fields = {"usage": draw(usages)} if failure is None else {}
        found.append(exchange(number, request, *parts, failure=failure, **fields))
    again = draw(st.lists(st.sampled_from(found), max_size=3))
    return [*found, *(msgspec.structs.replace(one, number=len(found) + n) for n, one in enumerate(again, 1))]


@given(recorded=tapes())
def test_a_script_made_of_a_tape_answers_each_recorded_request_with_an_equal_response(recorded):
    draft = script_of_tape(recorded)
    assert draft.problems == ()
    answers = answers_of(draft.script(), [one.request for one in recorded])
    for one, answer in zip(recorded, answers, strict=True):
        assert same_answer(one, answer), (one.response, one.failure, answer)


@given(recorded=tapes())
def test_the_yaml_of_a_script_is_read_as_the_same_script(recorded):
    draft = script_of_tape(recorded)
    report = SourceReport("script.yaml")
    read = read_source(draft.as_yaml(), report, form="")
    assert report.problems == []
    assert read.value == msgspec.json.decode(msgspec.json.encode(draft.as_data()))


def test_calls_are_told_apart_by_the_user_and_by_the_tool_result():
    first = asked(system("You are brief."), user("weather in Paris"), tools=(ToolDefinition(name="look"),))
    call = ToolCall(id="c1", name="look", arguments={"city": "Paris"})
    second = msgspec.structs.replace(
        first, messages=(*first.messages, Message(role="assistant", parts=(call,)), result("4 C"))
    )
    draft = script_of_tape([exchange(1, first, call), exchange(2, second, Text(text="Cold."))])
    assert [rule.when for rule in draft.rules] == [
        {"user": "weather in Paris", "tool_result": False},
        {"tool_result": "4 C"},
    ]
    assert [len(rule.numbers) for rule in draft.rules] == [1, 1]


def test_agents_with_the_same_words_are_told_apart_by_name():
    recorded = [
        exchange(number, asked(user("go"), caller=Caller(agent=agent)), Text(text=agent))
        for number, agent in enumerate(["planner", "writer"], start=1)
    ]
    assert [rule.when for rule in script_of_tape(recorded).rules] == [
        {"agent": "planner", "user": "go"},
        {"agent": "writer", "user": "go"},
    ]


def test_a_call_that_was_made_three_times_is_one_rule():
    recorded = [exchange(number, asked(user("ping")), Text(text="pong")) for number in (1, 2, 3)]
    (rule,) = script_of_tape(recorded).as_data()["rules"]
    assert (rule["when"], rule["times"]) == ({"user": "ping"}, 3)


def test_a_retry_is_two_rules_in_their_order():
    busy = RecordedFailure(type="error", status=429, message="slow down", headers={"retry-after": "1"})
    recorded = [
        exchange(1, asked(user("hi")), failure=busy),
        exchange(2, asked(user("hi")), Text(text="hello")),
    ]
    first, second = script_of_tape(recorded).as_data()["rules"]
    assert first["reply"] == {"error": {"status": 429, "message": "slow down", "retry_after": 1.0}}
    assert (second["when"], second["reply"]["text"]) == ({"user": "hi"}, "hello")


def test_a_long_prompt_is_a_short_condition_without_what_changes_from_run_to_run():
    prompt = (
        "Session 48151623 in /tmp/x\nSummarise the report below in two sentences, for people who are in a hurry.\n"
        + "x" * 9_000
    )
    (rule,) = script_of_tape([exchange(1, asked(user(prompt)), Text(text="Short."))]).rules
    assert rule.when == {"user": "Summarise the report below in two sentences, for people who"}


def test_what_a_script_cannot_say_is_listed():
    bare = RecordedExchange(number=1)
    stopped = exchange(2, asked(user("count")), Text(text="one"), stopped_by="two")
    assert script_of_tape([bare, stopped]).problems == (
        "exchange 1 asks no model (no request): a script does not answer it",
        "exchange 2: the stop sequence 'two' that ended it is left out",
    )


@pytest.mark.parametrize("text", ["/usr/bin/env", "/x/i"])
def test_a_text_that_looks_like_an_expression_means_itself(text):
    (rule,) = script_of_tape([exchange(1, asked(user(text)), Text(text="ok"))]).rules
    assert rule.when == {"user": {"text": text}}
