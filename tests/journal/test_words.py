"""Events in words."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage import journal, messages
from soundstage.journal import (
    Event,
    MessageReceived,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ToolCalled,
    ToolReturned,
    one_line,
)
from soundstage.journal._words import LINE
from soundstage.messages import (
    Caller,
    ModelRequest,
    ModelResponse,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    Usage,
    tool,
    user,
)


class TeaOrdered(Event, frozen=True, kw_only=True):
    """An event of an app, whose fields are called like methods that others might have."""

    summary: str
    line: int = 0
    notes: tuple[str, ...] = ()


class TeaAnnounced(Event, frozen=True, kw_only=True):
    """An event with somebody who says something somewhere."""

    text: str = ""
    channel: str = ""
    sender: str = ""
    kind: str = "green"
    detail: dict[str, int] = msgspec.field(default_factory=dict)


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
    own = {cls for cls in classes if issubclass(cls, Event)} - {Event}
    assert len(own) > 20
    assert [cls.__name__ for cls in own if cls.__str__ is Event.__str__] == []


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
def test_an_event_says_what_happened(event, expected):
    assert str(event) == expected


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        (messages.TextChunk(index=0, text="hel"), "'hel'"),
        (messages.ThinkingChunk(index=0, signature="seal"), "'seal'"),
        (messages.ToolCallChunk(index=0, id="1", name="read", arguments='{"a"'), "'{\"a\"'"),
        (messages.ToolCallChunk(index=0, id="1", name="read"), "read"),
        (messages.GarbledChunk(data=b"\xff"), r"b'\xff'"),
        (messages.FinishChunk(), "FinishChunk"),
    ],
)
def test_a_piece_of_a_reply_is_quoted_and_one_without_content_is_named(chunk, words):
    assert str(journal.ModelChunked(chunk=chunk)) == words


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        (journal.RunStarted(name="night", wall="2026-01-01", seed=7), ("night", "2026-01-01", "7")),
        (journal.RunFinished(outcome="failed", reason="no tea"), ("failed", "no tea")),
        (
            journal.DaemonChanged(daemon="kettle", status="RUNNING", error="leak"),
            ("kettle", "running", "leak"),
        ),
        (
            journal.RequestRefused(format="openai", path="/v1/x", status=422, message="no such field"),
            ("422", "/v1/x", "no such field"),
        ),
        (
            journal.RequestServed(format="openai", path="/v1/models", what="models", status=203),
            ("203", "models", "/v1/models"),
        ),
        (journal.AgentStarted(agent="ada", parent="boss", task="brew"), ("ada", "started by boss", "brew")),
        (journal.AgentFinished(agent="ada", outcome="failure", text="spilt"), ("ada", "failure", "spilt")),
        (
            journal.Routed(agents=("ada", "bob"), phase="brewing", reason="thirst"),
            ("→ ada, bob", "brewing", "thirst"),
        ),
        (journal.PhaseChanged(left="brewing", entered="pouring"), ("brewing → pouring",)),
        (journal.PhaseChanged(entered="pouring"), ("→ pouring",)),
        (
            journal.FlowEnded(reason="max_iterations", iterations=4, detail="still cold"),
            ("max iterations", "after 4 turns", "still cold"),
        ),
        (journal.FlowEnded(reason="end"), ("end",)),
        (journal.MessageSent(text="hi", channel="#tea", sender="bot"), ("bot: hi",)),
        (
            journal.ScreenChanged(channel="terminal", label="menu", text="> tea"),
            ("terminal", "menu", "> tea"),
        ),
        (
            journal.HookFired(hook="guard", event="PreToolUse", outcome="blocked", output="no rm"),
            ("guard", "PreToolUse", "blocked", "no rm"),
        ),
        (journal.FileChanged(path="a/b.txt", change="deleted"), ("deleted a/b.txt",)),
        (
            journal.FileChanged(path="a", change="modified", patch="--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"),
            ("modified a", "+1 -1"),
        ),
        (
            journal.HookFired(
                hook="lint", event="PreToolUse", call_id="c1", outcome="success", output="fine"
            ),
            ("lint", "PreToolUse", "c1", "success", "fine"),
        ),
        (journal.FactMissed(what="commits", reason="git is away"), ("commits: git is away",)),
        (journal.Committed(hash="abcdef0123456", subject="fix"), ("abcdef012", "fix")),
        (
            journal.Notified(text="may I?", title="Bash", kind="permission_prompt"),
            ("permission_prompt", "Bash: may I?"),
        ),
        (
            journal.TodosChanged(
                todos=(
                    journal.Todo(text="look", status="completed"),
                    journal.Todo(text="leap", status="in_progress"),
                )
            ),
            ("1 of 2 done", "leap"),
        ),
        (
            journal.UsageReported(usage=Usage(input_tokens=3, output_tokens=2), cost=0.5, model="m"),
            ("m", "5 tokens", "$0.5000"),
        ),
        (journal.RunAborted(reason="timeout", detail="60 s"), ("timeout", "60 s")),
        (
            journal.EgressTried(host="example.org", port=443, method="CONNECT"),
            ("example.org:443", "CONNECT", "refused"),
        ),
        (journal.HostReached(host="127.0.0.1", port=5432, method="connect"), ("127.0.0.1:5432", "connect")),
        (journal.ProcessStarted(command=("tea", "--hot")), ("tea --hot",)),
        (journal.ProcessExited(code=-9, stderr="too hot"), ("exit -9", "too hot")),
        (journal.Noted(text="mind the cup", data={"a": 1}), ("mind the cup",)),
        (ToolReturned(call_id="1", text="fine"), ("fine",)),
    ],
)
def test_an_event_says_each_of_its_facts_once_and_in_order(event, facts):
    rest = str(event)
    for fact in facts:
        before, found, rest = rest.partition(fact)
        assert found, f"{fact!r} is missing in {str(event)!r}"
        assert before.strip(" ·:") in {"", "seed"}
    assert rest == ""


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (TeaOrdered(summary="green", line=2), "summary=green, line=2"),
        (TeaOrdered(summary=""), ""),
        (TeaAnnounced(text="tea is ready", sender="ann"), "ann: tea is ready"),
        (TeaAnnounced(text="tea", sender="ann", channel="#tea"), "ann in #tea: tea"),
        (TeaAnnounced(text="tea", kind="black", detail={"cups": 2}), "tea · kind=black, detail={'cups': 2}"),
        (TeaAnnounced(sender="ann", kind="black"), "ann · kind=black"),
        (TeaAnnounced(), ""),
    ],
)
def test_an_event_of_an_app_shows_who_where_the_text_and_what_is_not_as_usual(event, expected):
    assert str(event) == expected


@given(st.text(max_size=2000), st.integers(1, 300))
def test_one_line_is_one_line_and_not_too_long(text, length):
    assert len(one_line(text, length)) <= length
    assert len(one_line(text).splitlines()) <= 1
    assert len(one_line(text)) <= LINE
