"""The trace as text."""

from __future__ import annotations

import re
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ModelError, ScriptError
from soundstage.journal import (
    AgentFinished,
    Committed,
    DaemonChanged,
    EgressTried,
    Event,
    FactMissed,
    FileChanged,
    FlowEnded,
    HookFired,
    MessageSent,
    ModelChunked,
    ModelRequested,
    Noted,
    Notified,
    ProcessExited,
    ProcessStarted,
    RequestRefused,
    Routed,
    RunAborted,
    RunFinished,
    RunStarted,
    ScreenChanged,
    Todo,
    TodosChanged,
    ToolCalled,
    UnknownEvent,
    UsageReported,
)
from soundstage.messages import ModelRequest, TextChunk, user
from soundstage.trace import build_trace
from soundstage.trace import format as format_trace
from soundstage.trace._format import excerpt


class SoupServed(Event, frozen=True, kw_only=True):
    """An event of an app."""

    text: str
    sender: str = ""


class SoupStirred(Event, frozen=True, kw_only=True):
    """An event that comes by the dozen."""

    routine: ClassVar[bool] = True

    text: str = ""


ROUTED = """\
>> console alice: 'add a login'
1. orchestrator [chat] in c
   @2 claude-opus-5-5 <- user 'go on'
      'the executor shall do it'
      10 tokens in, 5 out, 0 s, by rule 1 [agent 'orchestrator', iteration 1]
=> executor, tester [execute]: work to do
phase chat -> execute
2. executor [execute] in c
   @7 claude-opus-5-5 <- user 'add a login'
      'I read first'
      -> Read(path="src/auth.py") = 'def login()'
      -> Bash(command="ls -l", limits={"seconds": 5}) = 'ok'
      10 tokens in, 5 out, 0 s, by rule 2 [agent 'executor', iteration 1]
   @12 claude-opus-5-5 <- result 'def login()', result 'ok'
      'done, passwords are stored as plaintext'
      10 tokens in, 5 out, 0 s, by rule 3 [agent 'executor', iteration 2]
phase execute -> verification
3. tester [verification] in c
   @16 claude-opus-5-5 <- user 'go on'
      'Plaintext is not acceptable'
      10 tokens in, 5 out, 0 s, by rule 4 [agent 'tester', iteration 1]
4. orchestrator [verification] in c
   @19 claude-opus-5-5 <- user 'go on'
      'that is all'
      10 tokens in, 5 out, 0 s, by rule 5 [agent 'orchestrator', iteration 2]
<< console: 'Your login is ready'
-- 5 steps, 2 tool calls, 50 tokens in, 25 out, $0.0007, 0 s"""


def test_runs_steps_tools_messages_and_routes_are_shown_in_their_order(routed):
    assert format_trace(routed) == routed.format() == ROUTED


def test_the_same_records_give_the_same_text(routed):
    assert build_trace(routed.records).format(width=60) == routed.format(width=60)


def test_failures_side_requests_and_open_ends_are_shown(traced):
    async def body(scene):
        scene.script.on(agent="clerk").error(529, "busy", type="overloaded_error")
        with pytest.raises(ModelError):
            await scene.ask("clerk", parent="chief")
        scene.script.on(purpose="title").reply("Busy", usage={"output_tokens": 1})
        await scene.ask("", purpose="title", model="house")
        scene.add(ModelRequested(request=ModelRequest(model="m", messages=())))

    assert traced(body).format(width=120).splitlines() == [
        "1. clerk from chief in c (failure)",
        "   @1 claude-opus-5-5 <- user 'go on'",
        "      failed: error 529: the model answered with status 529: busy",
        "      by rule 1 [agent 'clerk']",
        "   @3 house (title by main) <- user 'go on'",
        "      'Busy'",
        "      0 tokens in, 1 out, 0 s, by rule 2 [purpose 'title']",
        "2. main (unfinished)",
        "   @6 m",
        "      no answer by the end",
        (
            "-- 3 steps (1 side), 0 tool calls, 0 tokens in, 1 out, "
            "cost unknown: no price for 'house', 0 s, 1 failure"
        ),
    ]


def test_every_answer_names_its_rule_and_condition_beside_what_was_asked(traced):
    async def body(scene):
        scene.script.on(user="go", name="start").reply("going")
        scene.script.on(user="stop").fault("cut", "stopping", after=1)
        scene.script.on(user="late").reply(lambda request: {}["no"])
        await scene.ask("", user("good bye"))
        with pytest.raises(ModelError):
            await scene.ask("", user("non-stop"))
        with pytest.raises(KeyError):
            await scene.ask("", user("chocolate"))
        await scene.ask("", user("hello"))

    lines = traced(body).format(width=120).splitlines()
    asked = [line for line in lines if "<- user" in line or " by " in line]
    assert [line.rpartition("<- ")[2].rpartition(" by ")[2].strip() for line in asked] == [
        "user 'good bye'",
        "rule 1 'start' [user 'go']",
        "user 'non-stop'",
        "rule 2 [user 'stop']",
        "user 'chocolate'",
        "rule 3 [user 'late']",
        "user 'hello'",
        "the default reply",
    ]


def test_arguments_that_are_no_json_object_are_a_warning(traced):
    async def body(scene):
        scene.script.queue({"tool_calls": [{"function": "read", "args": "{broken"}]})
        scene.script.queue({"tool_calls": [{"function": "read", "args": "{}"}]})
        await scene.ask("")
        await scene.ask("")

    warnings = [line for line in traced(body).format().splitlines() if "warning" in line]
    assert warnings == ["      warning: the arguments of read are no JSON object; read as {}"]


EVENTS = [
    (Routed(agents=("", "b")), "=> main, b"),
    (FileChanged(path="a.py", change="modified"), "file modified: a.py"),
    (
        FileChanged(path="a.py", change="added", patch="--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n"),
        "file added: a.py +1 -0",
    ),
    (Committed(hash="abcdef0123456", subject="fix"), "commit abcdef012 · fix"),
    (Notified(text="may I?"), "notification may I?"),
    (TodosChanged(todos=(Todo(text="look"),)), "to-do list: 0 of 1 done"),
    (UsageReported(cost=0.5), "reported: 0 tokens · $0.5000"),
    (FactMissed(what="commits", reason="git is away"), "not recorded: commits: git is away"),
    (RunAborted(reason="budget", detail="$2 of $1"), "run aborted: budget · $2 of $1"),
    (
        HookFired(hook="lint", event="PreToolUse", outcome="success", call_id="c1"),
        "hook lint: PreToolUse, success, c1",
    ),
    (EgressTried(host="example.org", port=443), "network: example.org:443 was tried"),
    (Noted(text="remember  this"), "note 'remember this'"),
    (HookFired(hook="lint", event="PreToolUse", outcome="success"), "hook lint: PreToolUse, success"),
    (DaemonChanged(daemon="app", status="running", error="late"), "daemon app failed: late"),
    (AgentFinished(agent="a", outcome="aborted"), "agent a: aborted"),
    (RequestRefused(format="x", path="/v1", status=400, message="no"), "refused /v1 with 400: no"),
    (ProcessStarted(command=("ls", "-l")), "program ls -l"),
    (ProcessExited(code=2), "program ended with 2"),
    (RunFinished(outcome="failed"), "run failed"),
    (FlowEnded(reason="max_iterations"), "flow ended: max_iterations"),
    (FlowEnded(reason="error", detail="no agent"), "flow ended: error: no agent"),
    (SoupServed(text="to\nmato", sender="ann"), "SoupServed ann: to mato"),
    (
        UnknownEvent(event_type="TeaPoured", line=b"{}"),
        "TeaPoured: an event of a newer version, or of an app that is not loaded",
    ),
    (MessageSent(text="a\nb"), "<< 'a b'"),
    (ToolCalled(call_id="1", name="t", arguments={"n": "ä"}, agent="a"), 'a -> t(n="ä") = no result'),
]


@pytest.mark.parametrize(("event", "line"), EVENTS)
def test_what_happens_between_the_steps_is_one_line(tape, event, line):
    tape.add(event)
    assert build_trace(tape.records).format().splitlines()[:-1] == [line]


@pytest.mark.parametrize(
    "event",
    [
        DaemonChanged(daemon="app", status="running"),
        AgentFinished(agent="a"),
        RunStarted(name="r"),
        RunFinished(),
        ScreenChanged(text="$"),
        ModelChunked(chunk=TextChunk(index=0, text="a")),
        SoupStirred(text="slowly"),
    ],
)
def test_what_goes_well_and_what_is_routine_is_no_line(tape, event):
    tape.add(event)
    assert len(build_trace(tape.records).format().splitlines()) == 1


def test_a_run_that_is_interrupted_by_another_conversation_goes_on(traced):
    async def body(scene):
        for name in ("alice", "bob", "alice"):
            await scene.ask("clerk", conversation=name)

    heads = [line for line in traced(body).format().splitlines() if re.match(r"\d", line)]
    assert heads == ["1. clerk in alice", "2. clerk in bob", "1. clerk in alice (goes on)"]


@given(st.text(), st.text(max_size=400), st.integers(40, 120))
def test_no_line_is_wider_than_asked_or_has_control_characters(new_tape, name, text, width):
    tape = new_tape()
    tape.add(ToolCalled(call_id="1", name=name, arguments={name: text}, agent=text))
    tape.add(MessageSent(text=text, channel=name))
    tape.add(EgressTried(host=text, port=1))
    for line in build_trace(tape.records).format(width=width).split("\n"):
        assert len(line) <= width
        assert line.isprintable()


def test_a_width_that_shows_nothing_is_an_error(routed):
    with pytest.raises(ScriptError, match="at least 40"):
        routed.format(width=39)


def test_colour_changes_nothing_but_colour(routed):
    coloured = routed.format(colour=True)
    assert coloured != ROUTED
    assert re.sub(r"\x1b\[\d*m", "", coloured) == ROUTED


def test_an_excerpt_marks_the_event_and_shows_little_around_it(routed):
    lines = excerpt(routed, 16).splitlines()
    assert [line for line in lines if line.startswith(">")] == [
        "> 3. tester [verification] in c",
        ">    @16 claude-opus-5-5 <- user 'go on'",
        ">       'Plaintext is not acceptable'",
        ">       10 tokens in, 5 out, 0 s, by rule 4 [agent 'tester', iteration 1]",
    ]
    assert lines[0] == "  2. executor [execute] in c (goes on)"
    assert lines[-1] == "  << console: 'Your login is ready'"


def test_an_excerpt_of_no_event_is_the_end_and_of_no_trace_says_so(routed):
    assert excerpt(routed, None).splitlines()[-1] == "  << console: 'Your login is ready'"
    assert ">" not in {line[0] for line in excerpt(routed, None).splitlines()}
    assert excerpt(build_trace([]), 3) == "(nothing happened)"


def test_rounds_of_a_loop_that_look_alike_are_shown_once_with_their_number(traced):
    async def body(scene):
        for _ in range(90):
            scene.script.on(times=1).reply(tool_calls=[{"name": "poll", "arguments": {}}])
        scene.script.on().reply("stopped")
        await scene.work("looper", "wait for it", {"poll": "not yet"})

    trace = traced(body)
    text, whole = format_trace(trace), format_trace(trace, fold=False)
    assert text.count("-> poll()") == 2
    assert "... the same 88 times more, until @" in text
    assert "'stopped'" in text
    assert whole.count("-> poll()") == 90


def test_a_marked_event_has_a_sign_before_its_line(routed):
    position = routed.steps[1].position
    marked = [line for line in format_trace(routed, mark=position).splitlines() if line.startswith("> ")]
    assert f"@{position} " in "".join(marked)
    assert not [line for line in format_trace(routed).splitlines() if line.startswith("> ")]
