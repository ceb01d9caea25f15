"""Feedback has propagated when the receiver was asked with it."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import MessageReceived, MessageSent
from soundstage.messages import assistant, tool, user
from soundstage.trace import assert_feedback_propagated, check_feedback_propagated
from soundstage.trace._feedback import _texts

TASK = user("Store the passwords, not in plaintext.")
COMPLAINT = "They are PLAINTEXT, hash them"


def review(*asked, told=(TASK,), complaint=COMPLAINT, place="c", receiver="coder", between=()):
    """A reviewer complains, others may speak, then the receiver is asked something; in a scene of its own."""

    async def body(scene):
        scene.script.on(agent="coder", iteration=1).reply("plaintext for now")
        scene.script.on(agent="reviewer").reply(complaint)
        await scene.ask("coder", TASK)
        await scene.ask("reviewer", *told, user("[coder] plaintext for now"))
        for name, message, reply in between:
            scene.script.on(agent=name).reply(reply)
            await scene.ask(name, message)
        await scene.ask(receiver, *asked, conversation=place)

    return body


OWN = assistant("plaintext for now")

GREEN = {
    "as a report": review(TASK, OWN, user(f"[reviewer] {COMPLAINT}")),
    "in one message with the task": review(user(f"{TASK.text}\n\n[reviewer] {COMPLAINT}")),
    "as a message of the model, in a transcript that all share": review(TASK, OWN, assistant(COMPLAINT)),
    "as the result of a tool": review(TASK, OWN, tool("1", COMPLAINT)),
    "in other words that have the keyword": review(TASK, user("reviewer says: no plaintext please")),
    "through another agent": review(
        TASK,
        user("[chief] away with the plaintext"),
        between=[("chief", user(f"[reviewer] {COMPLAINT}"), "away with the plaintext")],
    ),
}

RED = {
    "nothing of it arrived": review(TASK, OWN, user("go on")),
    "the user alone said it": review(TASK, user("go on")),
    "its own words alone": review(OWN, user("go on")),
    "in another conversation": review(user(f"[reviewer] {COMPLAINT}"), place="d"),
    "at another agent": review(user(f"[reviewer] {COMPLAINT}"), receiver="tester"),
    "from an agent that does not know of it": review(
        TASK,
        user("[chief] plaintext is cheap"),
        between=[("chief", user("what is cheap?"), "plaintext is cheap")],
    ),
    "never said": review(TASK, user(f"[reviewer] {COMPLAINT}"), complaint="fine"),
}


@pytest.mark.parametrize("how", GREEN)
def test_the_words_arrive(traced, how):
    trace = traced(GREEN[how])
    assert assert_feedback_propagated(trace, "Reviewer", "coder", "plaintext") is True
    [asked] = [step.position for step in trace.steps[-1:]]
    assert f"asked at @{asked}" in check_feedback_propagated(trace, "reviewer", "coder", "plaintext").seen


@pytest.mark.parametrize("how", RED)
def test_the_words_do_not_arrive(traced, how):
    finding = check_feedback_propagated(traced(RED[how]), "reviewer", "coder", "plaintext")
    assert not finding, finding.seen


def test_words_that_came_before_the_feedback_are_none(traced):
    async def body(scene):
        scene.script.on(agent="reviewer").reply(COMPLAINT)
        await scene.ask("coder", user(f"[reviewer] {COMPLAINT}"))
        await scene.ask("reviewer")

    with pytest.raises(ExpectationError, match="'coder' is never at work after 'reviewer' mentioned"):
        assert_feedback_propagated(traced(body), "reviewer", "coder", "plaintext")


def test_what_the_user_says_later_is_no_feedback(traced):
    async def body(scene):
        scene.script.on(agent="reviewer").reply(COMPLAINT)
        await scene.ask("reviewer")
        scene.add(MessageReceived(text="is it still plaintext?", channel="console"))
        await scene.ask("coder", user("is it still plaintext?"))

    assert not check_feedback_propagated(traced(body), "reviewer", "coder", "plaintext")


@pytest.mark.parametrize("written", ["mind the gap", 'mind\nthe "gap"'])
def test_arguments_of_tools_and_messages_to_worlds_are_words_too(traced, written):
    async def body(scene):
        scene.script.on(agent="a").reply(tool_calls=[{"name": "next", "arguments": {"notes": [written]}}])
        await scene.ask("a")
        await scene.ask("b", user(f"[a] {written}"))
        scene.add(MessageSent(text="and the step", sender="b", channel="console"))
        await scene.ask("c", user("b says: the step"))

    trace = traced(body)
    assert_feedback_propagated(trace, "a", "b", "gap")
    assert_feedback_propagated(trace, "b", "c", "the step")
    assert not check_feedback_propagated(trace, "a", "c", "gap")


def test_its_own_calls_are_no_words_of_another(traced):
    async def body(scene):
        call = {"name": "write", "arguments": {"text": 'a "gap"\nhere'}}
        scene.script.on(agent="coder", iteration=1).reply(tool_calls=[call])
        scene.script.on(agent="reviewer").reply("no gap")
        history = [user("go")]
        wish = await scene.ask("coder", *history)
        await scene.ask("reviewer")
        await scene.ask("coder", *history, wish.message(), tool(wish.tool_calls[0].id, "written"))

    assert not check_feedback_propagated(traced(body), "reviewer", "coder", "gap")


def test_the_half_of_the_feedback_that_is_missing_is_named(routed, traced):
    with pytest.raises(ExpectationError, match=r"^'tester' never mentions 'md5'"):
        assert_feedback_propagated(routed, "tester", "orchestrator", "md5")
    with pytest.raises(ExpectationError, match=r"^'executor' is never at work after 'tester' mentioned"):
        assert_feedback_propagated(routed, "tester", "executor", "plaintext")
    trace = traced(RED["nothing of it arrived"])
    with pytest.raises(ExpectationError) as caught:
        assert_feedback_propagated(trace, "reviewer", "coder", "plaintext")
    message = str(caught.value)
    assert message.startswith(
        "'coder' is asked after 'reviewer' mentioned 'plaintext', but not with these words\n"
    )
    assert "the last time: 'go on'" in message


@pytest.mark.parametrize(("sender", "receiver"), [("nobody", "tester"), ("tester", "nobody")])
def test_feedback_of_unknown_agents_or_without_a_word_is_an_error(routed, sender, receiver):
    with pytest.raises(ScriptError, match=r"no agent 'nobody'(.|\n)*'orchestrator', 'executor', 'tester'"):
        assert_feedback_propagated(routed, sender, receiver, "x")
    for empty in ("", " "):
        with pytest.raises(ScriptError, match="keyword is empty"):
            assert_feedback_propagated(routed, "executor", "tester", empty)


@pytest.mark.parametrize("words", ['it says "no"', "größer", "first\nsecond", 'größer "x"\n'])
def test_a_text_in_arguments_is_found_as_it_is_and_as_json_writes_it(words):
    forms = set(_texts({"a": [1, {"b": words}]}))
    assert forms == {words, json.dumps(words)[1:-1], json.dumps(words, ensure_ascii=False)[1:-1]}
