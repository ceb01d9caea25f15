"""The conversations that a scripted model remembers: a server's are bounded, and who asks for what is gone is told."""

from __future__ import annotations

import pytest

from soundstage.errors import NoMatchError
from soundstage.messages import assistant, call, user
from soundstage.models import Script, ScriptedModel, _conversations

GONE = "its conversation may have been let go: Soundstage keeps the newest 2 conversations; 1 older ones"
LATER = (assistant("call 1"), user("again"))  # what a request has that goes on with its conversation


@pytest.fixture
def counting() -> Script:
    script = Script()
    for iteration in (1, 2, 3):
        script.on(user={"any": ["hello", "again"]}, iteration=iteration).reply(f"call {iteration}")
    script.on(user="plain").reply("whatever was before")
    return script


def test_of_many_conversations_those_used_last_are_remembered(counting, ask):
    model = ScriptedModel(counting, conversations=2)
    assert [ask(model, conversation=name).text for name in "abac"] == ["call 1", "call 1", "call 2", "call 1"]
    assert ask(model, "hello", *LATER, conversation="a").text == "call 3"
    assert ask(model, "hello", *LATER, conversation="c").text == "call 2"
    assert ask(model, "hello", *LATER, conversation="b").text == "call 1"  # it begins anew


def test_a_reply_that_a_forgotten_conversation_has_decided_says_so_for_as_long_as_that_lasts(counting, ask):
    model = ScriptedModel(counting, conversations=2)
    for name in "abc":
        assert "let go" not in ask(model, conversation=name).served_by
    first, second = (ask(model, "hello", *LATER, conversation="a") for _ in range(2))
    assert first.served_by.startswith("rule 1 [")
    assert f"; {GONE}" in first.served_by
    assert (second.text, GONE in second.served_by) == ("call 2", True)


def test_nothing_is_said_where_nobody_asks_for_what_is_gone(counting, ask):
    model = ScriptedModel(counting, conversations=2)
    for name in "abc":
        ask(model, conversation=name)
    new = ask(model, conversation="new")
    kept = ask(model, "hello", *LATER, conversation="c")
    unasked = ask(model, "hello", assistant("call 1"), user("plain"), conversation="a")
    assert unasked.text == "whatever was before"
    assert [each.served_by for each in (new, kept) if "let go" in each.served_by] == []


def test_only_the_conditions_that_need_the_conversation_say_so(ask):
    script = Script()
    script.on(turn=2, step=2, times=1).reply("told by the request itself")
    model = ScriptedModel(script, conversations=1)
    for name in "ab":
        ask(model, conversation=name)
    answer = ask(model, "hello", *LATER, conversation="a")
    assert (answer.text, "let go" in answer.served_by) == ("told by the request itself", False)


def test_a_strict_script_that_has_no_rule_for_a_forgotten_conversation_says_so(ask):
    script = Script(strict=True)
    script.on(iteration=1, step=1).reply("begun")
    script.on(iteration=2).reply("gone on")
    model = ScriptedModel(script, conversations=2)
    for name in "abc":
        ask(model, conversation=name)
    with pytest.raises(NoMatchError) as caught:
        ask(model, "hello", *LATER, conversation="a")
    assert GONE in str(caught.value)


def test_of_the_calls_of_one_conversation_the_newest_are_remembered_and_who_asks_for_others_is_told(
    monkeypatch, ask
):
    monkeypatch.setattr(_conversations, "CALLS", 2)
    script = Script()
    script.on(user="then", previous_tool_calls="read").reply("read")
    for name in ("read", "write", "look"):
        script.on(user=name).reply(tool_calls=[call(name)], check_calls=False)
    script.on(user="then").reply("not read")
    words = "of its conversation the newest 2 calls are kept; 1 older ones have been let go"
    for model, expected in (
        (ScriptedModel(script, conversations=1), "not read"),
        (ScriptedModel(script), "read"),
    ):
        for name in ("read", "write", "look"):
            assert "let go" not in ask(model, name).served_by
        answer = ask(model, "then")
        assert (answer.text, words in answer.served_by) == (expected, expected == "not read")


def test_a_test_s_conversations_are_all_remembered(counting, ask):
    model = ScriptedModel(counting)
    names = [str(number) for number in range(50)]
    assert {ask(model, conversation=name).text for name in names} == {"call 1"}
    assert {ask(model, "hello", *LATER, conversation=name).text for name in names} == {"call 2"}


def test_a_reset_begins_to_count_anew_what_has_been_let_go(counting, ask):
    model = ScriptedModel(counting, conversations=1)
    for name in "ab":
        ask(model, conversation=name)
    model.reset()
    assert "let go" not in ask(model, "hello", *LATER, conversation="a").served_by


def test_at_least_one_conversation_is_remembered():
    with pytest.raises(ValueError, match="at least one conversation has to be kept; got 0"):
        ScriptedModel(Script(), conversations=0)
