"""Normalised traces: equal from run to run."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import MatchError, ModelError, ScriptError
from soundstage.journal import (
    DaemonChanged,
    MessageSent,
    ModelRequested,
    ModelResponded,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import Caller, ModelRequest, ModelResponse, Text, assistant, call, tool, user
from soundstage.trace import build_trace, diff, normalise

IDS = st.text(alphabet="abcdefXYZ0123456789_-", min_size=8, max_size=20)


def played(tape, ids, conversation="c", wire="", first=1):
    """The same three rounds of a conversation, with these ids; each result quotes the id of its call."""
    history = [user("go")]
    for number in range(first - 1):
        tape.add(MessageSent(text=f"{number}"))
    for number, identity in enumerate(ids):
        caller = Caller(agent="clerk", conversation=conversation)
        request = ModelRequest(model=f"m-{wire}", messages=tuple(history), format=wire, caller=caller)
        asked = tape.add(ModelRequested(request=request))
        made = call("look", {"n": number}, id=identity)
        reply = ModelResponse(parts=(Text(text=f"round {number}"), made), model=f"m-{wire}")
        tape.add(ModelResponded(response=reply), cause=asked)
        history += [reply.message(), tool(identity, f"wrote log-of {identity}.txt")]
    tape.add(ModelRequested(request=ModelRequest(model="m", messages=tuple(history), caller=caller)))
    return build_trace(tape.records)


def test_agents_texts_tools_failures_and_messages_are_kept_and_nothing_else(traced):
    async def body(scene):
        scene.script.on(agent="clerk", iteration=1).reply(
            text="I look", tool_calls=[{"name": "look", "arguments": {"at": ["a", 1]}}], delay=1
        )
        scene.script.on(agent="clerk", iteration=2).error(500, "broken")
        scene.add(MessageSent(text="hi", channel="console", sender="bot"))
        with pytest.raises(ModelError):
            await scene.work("clerk", "go")
        scene.add(DaemonChanged(daemon="app", status="running", error="late"))

    found = normalise(traced(body))
    assert json.loads(json.dumps(found)) == found
    use = {"call": 1, "name": "look", "arguments": {"at": ["a", 1]}, "result": "ok", "is_error": False}
    failure = {"reason": "error", "status": 500, "message": "the model answered with status 500: broken"}
    assert found == {
        "conversations": [
            {
                "steps": [
                    {"agent": "clerk", "purpose": "main", "text": "I look", "tools": [use]},
                    {"agent": "clerk", "purpose": "main", "text": "", "failure": failure, "tools": []},
                ]
            }
        ],
        "messages": [{"direction": "out", "channel": "console", "sender": "bot", "text": "hi"}],
        "failures": [{"what": "daemon", "message": "app: late"}],
    }


@given(
    st.lists(IDS, min_size=3, max_size=3, unique=True),
    st.lists(IDS, min_size=3, max_size=3, unique=True),
    st.tuples(st.uuids().map(str), st.uuids().map(str)),
)
def test_ids_conversations_positions_and_formats_make_no_difference(new_tape, ids, others, conversations):
    one = played(new_tape(), ids, conversations[0], wire="openai-chat")
    other = played(new_tape(), others, conversations[1], wire="anthropic")
    assert normalise(one) == normalise(other)
    assert normalise(one)["conversations"][0]["steps"][1]["tools"][0]["result"] == "wrote log-of <call 2>.txt"
    assert normalise(one, models=True) != normalise(other, models=True)


def test_an_id_that_is_used_again_makes_no_difference_to_the_calls(new_tape):
    same = normalise(played(new_tape(), ["a", "a", "a"]), mask={"log-of a": "x"})
    assert same == normalise(played(new_tape(), ["b", "c", "d"]), mask={"/log-of ./": "x"})


def test_short_ids_in_texts_are_words(new_tape):
    found = normalise(played(new_tape(), ["go", "log", "txt"]))
    assert found["conversations"][0]["steps"][1]["tools"][0]["result"] == "wrote log-of log.txt"


def test_a_longer_word_is_not_taken_for_an_id(tape):
    tape.add(MessageSent(text="toolu_1234 toolu_12345 (toolu_1234)"))
    tape.add(ToolCalled(call_id="toolu_1234", name="t"))
    assert normalise(build_trace(tape.records))["messages"][0]["text"] == "<call 1> toolu_12345 (<call 1>)"


@pytest.mark.parametrize("identity", ["call_1|fc_2", "a.b.c.d.e", "id with spaces"])
def test_ids_of_any_shape_are_replaced(tape, identity):
    tape.add(MessageSent(text=f"see {identity}!"))
    tape.add(ToolCalled(call_id=identity, name="t"))
    assert normalise(build_trace(tape.records))["messages"][0]["text"] == "see <call 1>!"


def test_a_conversation_that_a_text_quotes_is_numbered(traced):
    async def body(scene):
        for name in ("session-one", "session-two"):
            await scene.ask("clerk", user(f"hello {name}"), conversation=name)
        scene.add(MessageSent(text="see session-two and /tmp/session-one-log"))

    found = normalise(traced(body))
    assert found["messages"][0]["text"] == "see <conversation 2> and /tmp/session-one-log"


def test_it_does_not_matter_how_conversations_interleave(traced):
    def play(order):
        async def body(scene):
            scene.script.on(user="alice").reply("hello alice")
            for name in order:
                await scene.ask("clerk", user(name), conversation=name)

        return normalise(traced(body))

    assert play(["alice", "bob", "alice", "bob"]) == play(["alice", "alice", "bob", "bob"])
    assert play(["alice", "bob"]) != play(["bob", "alice"])


def test_calls_that_no_reply_asked_for_are_kept(tape):
    called = tape.add(ToolCalled(call_id="1", name="t", arguments={"n": 1}))
    tape.add(ToolReturned(call_id="1", text="one"), cause=called)
    assert normalise(build_trace(tape.records))["tools"] == [
        {"call": 1, "name": "t", "arguments": {"n": 1}, "result": "one", "is_error": False}
    ]


def test_an_open_step_is_told_from_an_answered_one(tape):
    request = ModelRequested(request=ModelRequest(model="m", messages=(user("x"), assistant("y"))))
    tape.add(request)
    (step,) = normalise(build_trace(tape.records))["conversations"][0]["steps"]
    assert step["failure"] == {"reason": "unfinished"}


@pytest.mark.parametrize(
    ("mask", "masked"),
    [
        ({"/tmp/run-7": "<workspace>"}, "in <workspace>/a at 10:42, pid 77"),
        ({"/\\d+:\\d+/": "<time>"}, "in /tmp/run-7/a at <time>, pid 77"),
        ({"/PID \\d+/i": "<pid>"}, "in /tmp/run-7/a at 10:42, <pid>"),
        ({re.compile("[0-9]{2}$"): "\\1"}, "in /tmp/run-7/a at 10:42, pid \\1"),
        ({"7": "8", "88": "9"}, "in /tmp/run-8/a at 10:42, pid 9"),
        ({"/tmp/run-7": "/TMP", "/TMP/a": "A"}, "in A at 10:42, pid 77"),
    ],
)
def test_masks_replace_what_is_volatile_in_every_text(tape, mask, masked):
    text = "in /tmp/run-7/a at 10:42, pid 77"
    tape.add(MessageSent(text=text))
    tape.add(ToolCalled(call_id="1", name="t", arguments={text: [text]}))
    found = normalise(build_trace(tape.records), mask=mask)
    assert found["messages"][0]["text"] == masked
    assert found["tools"][0]["arguments"] == {masked: [masked]}


def test_a_mask_that_means_nothing_is_an_error(routed):
    with pytest.raises(ScriptError, match="replaces nothing"):
        routed.normalised(mask={"": "x"})
    with pytest.raises(MatchError, match="not a regular expression"):
        routed.normalised(mask={"/(/": "x"})


def test_the_method_gives_the_same_as_the_function(routed):
    assert routed.normalised(mask={"login": "x"}, models=True) == normalise(
        routed, mask={"login": "x"}, models=True
    )
    assert diff(routed.normalised(), normalise(routed)) == ""
