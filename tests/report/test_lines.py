"""One line for every event."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage import journal
from soundstage.journal import (
    Event,
    MessageReceived,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import (
    Caller,
    ModelRequest,
    ModelResponse,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    tool,
    user,
)
from soundstage.report._lines import LENGTH, LINES, concerns, line, one_line


class TeaServed(Event, frozen=True, kw_only=True):
    """An event of an app."""

    kind: str
    cups: int = 0
    notes: tuple[str, ...] = ()


REPLY = (
    Thinking(text="hm"),
    Text(text="I read."),
    ToolCall(id="1", name="read", arguments={"path": "a", "n": 2}),
    ToolCall(id="2", name="odd", raw="{not json"),
    Opaque(type="image"),
)
ASKED = ModelRequest(model="m", messages=(user("hello\n  you"),), caller=Caller(agent="ada"))
PROBE = ModelRequest(model="m", messages=(tool("c1", "42"),), purpose="probe")
BUSY = ModelFailed(reason="error", message="busy", status=529, kind="overloaded_error")


def test_every_event_class_of_the_journal_has_its_words():
    classes = {value for value in vars(journal).values() if isinstance(value, type)}
    assert {cls for cls in classes if issubclass(cls, Event)} - {Event} == set(LINES)


def test_an_event_of_an_app_shows_its_fields():
    assert line(TeaServed(kind="green", cups=2)) == "kind=green, cups=2"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (ModelRequested(request=ASKED), "ada → m · user: hello you"),
        (ModelRequested(request=PROBE), "m (probe) · tool: result: 42"),
        (ModelRequested(request=ModelRequest(model="m", messages=())), "m · no messages"),
        (
            ModelResponded(response=ModelResponse(parts=REPLY, finish="tool_calls")),
            '(thinking) hm · I read. → read(path="a", n=2) → odd({not json) · [image]',
        ),
        (ModelResponded(response=ModelResponse(finish="length")), "[length] (empty reply)"),
        (ModelFailed(reason="no_match", message="nothing fits"), "no match: nothing fits"),
        (MessageReceived(text="hi", channel="console", sender="ana"), "ana: hi"),
        (MessageReceived(text="hi", channel="console"), "console: hi"),
        (BUSY, "error 529 overloaded_error: busy"),
        (ToolCalled(call_id="1", name="read", arguments={}), "read()"),
        (ToolReturned(call_id="1", text="no such file", is_error=True), "error: no such file"),
    ],
)
def test_a_line_says_what_happened(event, expected):
    assert line(event) == expected


@given(st.text(max_size=2000))
def test_a_line_is_one_line_and_not_too_long(text):
    for shown in (one_line(text), line(Noted(text=text))):
        assert len(shown) <= LENGTH
        assert len(shown.splitlines()) <= 1


def test_a_hook_that_fails_and_a_tool_that_fails_are_worth_a_look():
    assert concerns(ToolReturned(call_id="1", is_error=True))
    assert concerns(journal.HookFired(hook="h", exit_code=2))
    assert not concerns(journal.HookFired(hook="h", exit_code=0))
    assert not concerns(Noted(text="fine"))
