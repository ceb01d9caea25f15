"""The events that a wait looks for."""

from __future__ import annotations

import pytest

from soundstage.clock import run
from soundstage.errors import MatchError
from soundstage.journal import (
    Journal,
    MessageReceived,
    MessageSent,
    ModelRequested,
    ModelResponded,
    Noted,
    ToolCalled,
    event,
    event_matcher,
)
from soundstage.match import AllOf, AnyOf, Contains, Equals, Not, Same
from soundstage.messages import ModelRequest, ModelResponse, Text, assistant, user

HELLO = MessageSent(text="hello", sender="bot")
ASKED = ModelRequested(request=ModelRequest(model="m", messages=(user("why"), assistant("because"))))
ANSWERED = ModelResponded(response=ModelResponse(parts=(Text(text="so " + "long " * 100),)))


@pytest.mark.parametrize(
    ("wanted", "fact"),
    [
        (MessageSent, HELLO),
        ("hell", HELLO),
        ("/^HELLO$/i", HELLO),
        ({"text": "hello"}, HELLO),
        ({"equals": "hello"}, HELLO),
        (["adieu", "hello"], HELLO),
        ([Noted, "hello"], HELLO),
        ({"any": [Noted, MessageSent]}, HELLO),
        ({"all": [MessageSent, "hello", lambda one: one.sender == "bot"]}, HELLO),
        ({"not": "bye"}, HELLO),
        ({"not": MessageReceived}, HELLO),
        (Contains("hell"), HELLO),
        (Same("HELLO"), HELLO),
        (AnyOf(Contains("adieu"), event(MessageSent)), HELLO),
        (AllOf(Contains("hello"), event("MessageSent", sender="bot")), HELLO),
        (Not(Contains("bye")), HELLO),
        (Equals(HELLO), HELLO),
        ("why", ASKED),
        ("/(long ){100}/", ANSWERED),
        ('read(path="a")', ToolCalled(call_id="1", name="read", arguments={"path": "a"})),
        ("Hello World", Noted(text="Hello World")),
        ("JavaScript", Noted(text="JavaScript")),
        ({"text": "MessageSent"}, Noted(text="MessageSent")),
    ],
)
def test_what_a_person_writes_finds_the_event_and_not_another_one(wanted, fact):
    found = event_matcher(wanted)
    assert found.matches(fact)
    assert found.explain(fact) is None
    other = MessageReceived(text="bye")
    assert not found.matches(other)
    assert found.explain(other)
    assert found.describe()


@pytest.mark.parametrize("wanted", ["MessageSent", "ChatReply", "MesageSent", "ChatRepley"])
def test_the_name_of_an_event_class_is_no_text(wanted):
    with pytest.raises(MatchError, match="cannot be waited for") as caught:
        event_matcher(wanted)
    assert "write the class" in caught.value.hint
    assert f"{{'text': '{wanted}'}}" in caught.value.hint


@pytest.mark.parametrize(
    "wanted", [[], {"any": []}, {"all": []}, {}, "", {"none": ["a"]}, b"hello", {"a"}, 5]
)
def test_what_cannot_match_is_refused(wanted):
    with pytest.raises(MatchError):
        event_matcher(wanted)


def test_a_class_can_be_given_by_name_even_if_it_is_not_imported():
    reply = event("ChatReply", text="hi")
    from soundstage.agents import ChatReply

    assert reply.matches(ChatReply(text="hi there"))


def test_an_unknown_class_is_an_error_with_the_nearest_name():
    with pytest.raises(MatchError, match="no event class is called 'MesageSent'") as caught:
        event("MesageSent")
    assert caught.value.hint.startswith("did you mean 'MessageSent'")
    assert caught.value.expected.startswith("one of ")
    with pytest.raises(MatchError, match="import the module"):
        event("Xyzzy")


@pytest.mark.parametrize(
    "wanted",
    [
        MessageSent,
        event(MessageSent),
        {"not": MessageSent},
        [Noted, MessageSent],
        AllOf(event(Noted), event(MessageSent)),
    ],
)
def test_what_a_typed_journal_never_holds_is_refused(wanted):
    with pytest.raises(MatchError, match="the journal of Noted never holds MessageSent"):
        event_matcher(wanted, among=Noted)


def test_the_journal_waits_for_words():
    async def main():
        journal = Journal()
        journal.append(ASKED)
        journal.append(HELLO)
        assert journal.matcher("hello").matches(HELLO)
        return (await journal.wait_for("hello", within=1)).position

    assert run(main()) == 2
