"""Two runs side by side: the first divergence and its cause, what followed from it, and what does not count."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.differences import compare_runs
from soundstage.errors import ScriptError
from soundstage.journal import MessageSent
from soundstage.messages import assistant, system, tool, user

CALLS = [{"name": "look", "arguments": {"city": city}} for city in ("Oslo", "Rome")]


def looked_up(*, prompt="You are brief.", question="Where is it cold?", rome="18 C", oslo="4 C", **options):
    """A scene: one agent looks two cities up, one after the other, and says where it is cold."""

    async def body(scene):
        scene.script.on(iteration=1).reply(tool_calls=CALLS[:1])
        scene.script.on(iteration=2).reply(tool_calls=CALLS[1:])
        scene.script.on(iteration=3).reply(options.pop("last", "In Oslo."))
        history = [system(prompt), user(question)]
        for result in (oslo, rome, None):
            answer = await scene.ask("main", *history, conversation="", **options)
            history.append(answer.message())
            if result is not None:
                history.append(tool(answer.tool_calls[0].id, result))

    return body


def found(diff):
    """Each step that differs, as lane, number, cause, and a `>` if it only follows."""
    return [f"{'> ' if one.follows else ''}{one.lane} {one.step} {one.cause}" for one in diff.found]


def test_equal_runs_have_no_divergence(traced):
    diff = compare_runs(traced(looked_up()), traced(looked_up()))
    assert (diff.same, diff.first, diff.steps, diff.alike) == (True, None, (3, 3), 3)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"prompt": "You are rude."},
            ["main 1 system prompt edited", "> main 2 system prompt edited", "> main 3 system prompt edited"],
        ),
        (
            {"question": "Where is it warm?"},
            ["main 1 prompt edited", "> main 2 prompt edited", "> main 3 prompt edited"],
        ),
        ({"oslo": "5 C"}, ["main 2 tool result differs", "> main 3 tool result differs"]),
        ({"rome": "19 C"}, ["main 3 tool result differs"]),
        ({"last": "Oslo it is."}, ["main 3 reply differs"]),
        (
            {"tools": ("look",)},
            ["main 1 tool list changed", "> main 2 tool list changed", "> main 3 tool list changed"],
        ),
        (
            {"model": "another"},
            [f"{sign}main {n} other model or settings" for n, sign in ((1, ""), (2, "> "), (3, "> "))],
        ),
    ],
)
def test_the_first_divergence_is_named_and_what_only_follows_is_told_from_it(traced, change, expected):
    diff = compare_runs(traced(looked_up()), traced(looked_up(**change)))
    assert found(diff) == expected
    assert diff.first is next(one for one in diff.found if not one.follows)
    assert diff.alike == 3 - len(expected)


def test_a_second_change_is_told_beside_the_first(traced):
    diff = compare_runs(traced(looked_up()), traced(looked_up(prompt="You are rude.", rome="19 C")))
    assert found(diff) == [
        "main 1 system prompt edited",
        "> main 2 system prompt edited",
        "main 3 tool result differs",
    ]
    assert [one.step for one in diff.others] == [3]


def test_a_step_knows_its_positions_and_its_place(traced):
    a, b = traced(looked_up()), traced(looked_up(oslo="5 C"))
    first = compare_runs(a, b).first
    assert (first.a, first.b) == (a.steps[1].position, b.steps[1].position)
    assert str(first.found[0]) == (
        "tool result differs: messages[3] tool, part 1: recorded '4 C', seen '5 C'"
    )


def team(order, *, note="", conversation="c"):
    """A scene: agents without names of conversations work at once; `order` says who asks first."""

    async def body(scene):
        for colour in ("red", "blue"):
            scene.script.on(user=f"think of {colour}").reply(f"a {colour} answer")
            scene.script.on(user=f"{colour}: go").reply(f"{colour} begins")
        scene.script.on(user="red: more").reply(f"red is done{note}")
        scene.script.on(user="blue: more").reply("blue is done")
        for colour in order:
            await scene.ask("main", user(f"think of {colour}"), conversation="")
        await asyncio.gather(
            *(scene.ask(agent, user(f"{agent}: go"), conversation=conversation) for agent in order)
        )
        for agent in reversed(order):
            await scene.ask(agent, user(f"{agent}: go"), user(f"{agent}: more"), conversation=conversation)

    return body


def test_agents_in_another_order_and_conversations_with_other_ids_are_no_divergence(traced):
    one = traced(team(("red", "blue")))
    other = traced(team(("blue", "red"), conversation="another-id"))
    assert found(compare_runs(one, other)) == []


def test_of_agents_at_work_at_once_only_the_one_that_differs_is_named(traced):
    one = traced(team(("red", "blue")))
    other = traced(team(("blue", "red"), note=", badly"))
    assert found(compare_runs(one, other)) == ["red 2 reply differs"]


def test_calls_that_only_one_run_has_are_extra_and_missing(traced):
    async def longer(scene):
        await looked_up()(scene)
        scene.script.on(agent="reviewer").reply("fine")
        await scene.ask("reviewer", user("is it true?"))

    one, other = traced(looked_up()), traced(longer)
    assert found(compare_runs(one, other)) == ["reviewer 1 extra call"]
    assert found(compare_runs(other, one)) == ["reviewer 1 missing call"]


def test_calls_after_a_reply_that_differs_follow_from_it(traced):
    async def shorter(scene):
        scene.script.on(iteration=1).reply(tool_calls=CALLS[1:])
        scene.script.on(iteration=2).reply("In Oslo.")
        history = [system("You are brief."), user("Where is it cold?")]
        answer = await scene.ask("main", *history, conversation="")
        history += [answer.message(), tool(answer.tool_calls[0].id, "18 C")]
        await scene.ask("main", *history, conversation="")

    diff = compare_runs(traced(looked_up()), traced(shorter))
    assert found(diff)[0] == "main 1 reply differs"
    assert all(one.follows for one in diff.found[1:])
    assert "missing call" in {one.cause for one in diff.found}


def test_what_an_agent_hands_on_to_another_follows_from_its_reply(traced):
    def plan(task, outcome):
        async def body(scene):
            scene.script.on(agent="lead", iteration=1).reply(
                tool_calls=[{"name": "delegate", "arguments": {"task": task}}]
            )
            scene.script.on(agent="worker").reply(outcome)
            scene.script.on(agent="lead", iteration=2).reply("done")
            answer = await scene.ask("lead", user("build it"), conversation="c")
            said = await scene.ask("worker", user(task), conversation="d", parent="lead")
            history = (user("build it"), answer.message(), tool(answer.tool_calls[0].id, said.text))
            await scene.ask("lead", *history, conversation="c")

        return body

    one = traced(plan("write the login form", "login form is written"))
    other = traced(plan("write the logout form", "logout form is written"))
    assert found(compare_runs(one, other)) == [
        "lead 1 reply differs",
        "> worker 1 prompt edited",
        "> lead 2 earlier reply differs",
    ]
    third = traced(plan("write the login form", "it was written before"))
    assert found(compare_runs(one, third)) == ["worker 1 reply differs", "> lead 2 tool result differs"]


def test_a_failure_is_a_reply_that_differs(traced):
    async def body(scene, reply="well"):
        scene.script.on(user="go").reply(reply)
        await asyncio.gather(scene.ask("main", user("go")), return_exceptions=True)

    async def failing(scene):
        await body(scene, reply={"error": {"status": 529, "type": "overloaded_error", "message": "busy"}})

    (one,) = compare_runs(traced(body), traced(failing)).found
    assert (one.cause, one.found[0].recorded, one.found[0].seen) == (
        "reply differs",
        "'well'",
        "failed: error 529 overloaded_error: the model answered with status 529: busy",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-11-23T07:00:49Z", "at 2026-11-24T08:10:00.123Z"),
        ("today is 2026-11-23", "today is 2026-11-24"),
        ("in /tmp/run-a1/x.py", "in /tmp/run-b2/x.py"),
        ("in /tmp/pytest-of-a/pytest-7/t0/x.py", "in /tmp/pytest-of-a/pytest-8/t0/x.py"),
        ("in /var/a/soundstage-k2j/home", "in /other/soundstage-zz9/home"),
        ("in .x/-tmp-soundstage-1-2-a8coz1nm-home", "in .x/-tmp-soundstage-1-3-b8coz1nm-home"),
        ("at http://127.0.0.1:4000/v1", "at http://127.0.0.1:4001/v1"),
        ("1 passed in 0.03s", "1 passed in 0.04s"),
        ("id 0b8c2a7e-3c1d-4b53-9a75-5d0f3c3f7a11", "id 1b8c2a7e-3c1d-4b53-9a75-5d0f3c3f7a12"),
    ],
)
def test_what_differs_by_nature_does_not_count(traced, one, other):
    a, b = traced(looked_up(oslo=one, question=one)), traced(looked_up(oslo=other, question=other))
    assert compare_runs(a, b).same


@pytest.mark.parametrize(
    ("one", "other"), [("wait 5 s", "wait 10 s"), ("/etc/a", "/etc/b"), ("10:30", "11:30")]
)
def test_what_only_looks_like_it_counts(traced, one, other):
    assert not compare_runs(traced(looked_up(question=one)), traced(looked_up(question=other))).same


def test_a_mask_takes_out_what_else_differs(traced):
    a, b = traced(looked_up(question="build 7")), traced(looked_up(question="build 8"))
    assert compare_runs(a, b, mask={r"/build \d+/": "<build>"}).same
    with pytest.raises(ScriptError):
        compare_runs(a, b, mask={"": "x"})


def test_messages_of_worlds_are_compared_channel_by_channel(traced):
    def body(*texts):
        async def play(scene):
            for channel, text in texts:
                scene.add(MessageSent(text=text, channel=channel), source="console")

        return play

    one = traced(body(("a", "hello"), ("b", "there")))
    assert compare_runs(one, traced(body(("b", "there"), ("a", "hello")))).same
    (diff,) = compare_runs(one, traced(body(("a", "hello"), ("b", "here")))).found
    assert (diff.cause, diff.lane, diff.found[0].recorded, diff.found[0].seen) == (
        "message differs",
        "messages from the app, console b",
        "': there'",
        "': here'",
    )


def test_an_app_that_drops_the_beginning_goes_on_in_its_lane(traced):
    def trimmed(kept):
        async def body(scene):
            scene.script.on(user="/./").reply("yes")
            await scene.ask("main", user("one"), conversation="c")
            history = [message(text) for message, text in zip((user, assistant), kept, strict=False)]
            await scene.ask("main", *history, assistant("go on?"), user("two"), conversation="c")

        return body

    diff = compare_runs(traced(trimmed(("one", "yes"))), traced(trimmed(("so far: one",))))
    assert [one.step for one in diff.found] == [2]


def test_an_earlier_reply_that_the_app_has_changed_is_named(traced):
    def told(words):
        async def body(scene):
            scene.script.on(user="/./").reply("I cannot")
            await scene.ask("main", user("one"))
            await scene.ask("main", user("one"), assistant(words), user("two"))

        return body

    assert found(compare_runs(traced(told("I cannot")), traced(told("I can")))) == [
        "main 2 earlier reply differs"
    ]
