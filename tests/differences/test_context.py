"""The context of a step: what was put in, dropped, changed or cut since the same caller's last request."""

from __future__ import annotations

import pytest

from soundstage.differences import ContextMessage, Difference, StepContext, context_of, render_context
from soundstage.errors import ScriptError
from soundstage.messages import assistant, call, system, tool, user

LONG = "line of a long result\n" * 40
FIRST = (system("You are brief."), user("Read the file, please."))
READ = assistant("", call("read", {"path": "a"}, id="call-1"))


@pytest.fixture
def second(traced):
    """The context of a caller's second request, whose first one had `FIRST` and the call of a tool as its answer."""

    def context(*messages, tools=("read",), **fields):
        async def body(scene):
            scene.script.on(iteration=1).reply(
                tool_calls=[{"name": "read", "arguments": {"path": "a"}, "id": "call-1"}]
            )
            scene.script.on(iteration=2).reply("done")
            scene.script.on(agent="other").reply("well")
            await scene.ask("main", *FIRST, tools=("read",))
            await scene.ask("other", user("something else"))
            await scene.ask("main", *messages, tools=tools, **fields)

        trace = traced(body)
        return context_of(trace, trace.steps[-1].position)

    return context


def told(context):
    return [f"{one.change} {one.place}" for one in context.messages]


def test_a_first_request_is_new_as_a_whole(traced):
    async def body(scene):
        scene.script.on(user="/./").reply("well")
        await scene.ask("main", *FIRST)

    trace = traced(body)
    context = context_of(trace, trace.steps[0].position)
    assert told(context) == ["NEW 0", "NEW 1"]
    assert (context.previous, context.size) == (0, len("You are brief.") + len("Read the file, please."))


def test_what_came_since_the_last_request_is_new_and_the_rest_is_kept(second):
    context = second(*FIRST, READ, tool("call-1", "text"), user("and now?"))
    assert told(context) == ["KEPT 0", "KEPT 1", "NEW 2", "NEW 3", "NEW 4"]
    assert (context.lane, context.number, context.previous > 0, context.around) == ("main", 2, True, ())
    assert context.size - context.before == sum(one.size for one in context.messages[2:])


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            (FIRST[0], user("remember this"), FIRST[1], READ, tool("call-1", "text")),
            ["KEPT 0", "INJECTED 1", "KEPT 2", "NEW 3", "NEW 4"],
        ),
        (
            (*FIRST, READ, tool("call-1", "text"), system("hurry")),
            ["KEPT 0", "KEPT 1", "NEW 2", "NEW 3", "INJECTED 4"],
        ),
        ((FIRST[1], READ, tool("call-1", "text")), ["DROPPED 0", "KEPT 0", "NEW 1", "NEW 2"]),
        ((*FIRST, user("never mind")), ["KEPT 0", "KEPT 1", "DROPPED 2", "NEW 2"]),
        (
            (system("You are rude."), FIRST[1], READ, tool("call-1", "text")),
            ["CHANGED 0", "KEPT 1", "NEW 2", "NEW 3"],
        ),
        (
            (FIRST[0], user("Read the..."), READ, tool("call-1", "text")),
            ["KEPT 0", "TRUNCATED 1", "NEW 2", "NEW 3"],
        ),
    ],
)
def test_each_message_says_what_became_of_it(second, messages, expected):
    assert told(second(*messages)) == expected


def test_a_changed_message_says_what_differs_and_both_sizes(second):
    changed = second(system("You are very brief."), FIRST[1], READ, tool("call-1", "text")).messages[0]
    assert (changed.before, changed.size) == (len("You are brief."), len("You are very brief."))
    assert str(changed.found[0]) == (
        "system prompt edited: messages[0] system, part 1: recorded 'You are brief.', seen 'You are very brief.'"
    )


def test_other_tools_are_told_beside_the_messages(second):
    context = second(*FIRST, READ, tool("call-1", "text"), tools=("read", "write"))
    assert [one.where for one in context.around] == ["tools.write"]


@pytest.mark.parametrize(
    ("left", "change"),
    [
        (LONG[:60], "TRUNCATED"),
        (f"{LONG[:60]}...", "TRUNCATED"),
        (f"{LONG[:60]}\n[700 characters omitted]\n{LONG[-30:]}", "TRUNCATED"),
        ("[Old tool result content cleared]", "TRUNCATED"),
        (LONG[-50:], "TRUNCATED"),
        ("The file has forty lines, all alike; they say that they are long.", "CHANGED"),
        (f"{LONG}and more", "CHANGED"),
    ],
)
def test_a_result_that_was_cut_is_told_from_one_that_was_changed(traced, left, change):
    async def body(scene):
        scene.script.on(user="/./").reply("well")
        talk = [*FIRST, READ, tool("call-1", LONG)]
        answer = await scene.ask("main", *talk)
        await scene.ask("main", *talk[:3], tool("call-1", left), answer.message(), user("and now?"))

    trace = traced(body)
    context = context_of(trace, trace.steps[-1].position)
    assert told(context) == ["KEPT 0", "KEPT 1", "KEPT 2", f"{change} 3", "NEW 4", "NEW 5"]
    assert (context.messages[3].before, context.messages[3].size) == (len(LONG), len(left))


def test_the_position_of_the_reply_is_the_step_too_and_another_is_an_error(traced):
    async def body(scene):
        scene.script.on(user="/./").reply("well")
        await scene.ask("main", *FIRST)

    trace = traced(body)
    (step,) = trace.steps
    assert context_of(trace, step.answered_at) == context_of(trace, step.position)
    with pytest.raises(ScriptError, match=f"no request of the trace is at @999(?s:.*)@{step.position}"):
        context_of(trace, 999)


def test_the_context_shows_the_lines_that_changed_and_other_tools():
    found = Difference(cause="prompt edited", where="messages[1] user", recorded="'a'", seen="'b'")
    messages = (
        ContextMessage(change="DROPPED", place=0, role="system", size=1200, text="You are\nbrief."),
        ContextMessage(change="CHANGED", place=1, role="user", size=5, before=7, text="b", found=(found,)),
        ContextMessage(change="TRUNCATED", place=2, role="tool", size=5, before=70, text="c", found=(found,)),
    )
    around = Difference(cause="other model or settings", where="model", recorded="'m'", seen="'n'")
    context = StepContext(
        position=9,
        lane="main",
        number=2,
        previous=3,
        messages=messages,
        around=(around,),
        size=10,
        before=1277,
    )
    assert render_context(context).splitlines() == [
        "@9 main, step 2: 2 messages, 10 characters; at @3 it was 1,277",
        "  DROPPED     0 system              1,200  'You are brief.'",
        "  CHANGED     1 user               7 -> 5  'b'",
        "      prompt edited: messages[1] user",
        "        - 'a'",
        "        + 'b'",
        "  TRUNCATED   2 tool              70 -> 5  'c'",
        "tools, model and settings:",
        "  other model or settings: model",
        "    - 'm'",
        "    + 'n'",
    ]
    assert "\x1b[31mDROPPED" in render_context(context, colour=True)
