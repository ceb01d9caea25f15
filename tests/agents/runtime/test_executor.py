"""A result that the model can read, whatever it asks of a tool and whatever the tool does."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading

import pytest

from soundstage.agents.runtime import (
    AgentDefinition,
    AgentTask,
    PermissionMode,
    ToolContext,
    ToolError,
    ToolExecutor,
    ToolRegistry,
    tool,
)
from soundstage.clock import SystemClock, run
from soundstage.errors import ToolDefinitionError
from soundstage.journal import FileChanged, Journal
from soundstage.messages import call


@tool(permissions="read")
def look(path: str, lines: int = 3) -> str:
    """Look at a file."""
    return f"{path}:{lines}"


@tool(permissions="write")
def put(path: str) -> str:
    """Write a file."""
    return f"put {path}"


def _call(name):
    return call(name, {"path": "a"}, id=name)


def _task():
    return AgentTask(id="t", agent="w")


def test_a_tool_runs_and_its_call_and_return_are_journaled(use):
    used = use(look, {"path": "a.py"})
    assert used.text == "a.py:3"
    assert not used.result.is_error
    (called,), (returned,) = used.called, used.returned
    assert (called.call_id, called.name, called.arguments) == ("c1", "look", {"path": "a.py"})
    assert (called.agent, called.conversation) == ("worker", "talk")
    assert (returned.call_id, returned.text, returned.is_error) == ("c1", "a.py:3", False)
    assert [record.cause for record in used.journal.read()] == [None, 1]


def test_an_async_tool_runs_and_may_take_its_time(use):
    @tool
    async def slow(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    assert use(slow, {"seconds": 59}).text == "done"


def test_a_plain_function_may_return_something_to_await(use):
    @tool
    def later() -> object:
        async def answer():
            return "later"

        return answer()

    assert use(later).text == "later"


def test_1_an_unknown_tool_is_an_error_that_names_the_tools(use):
    assert use(look, name="lok").text == "ERROR: Unknown tool: lok. The tools are: look; did you mean 'look'?"


def test_2_a_missing_permission_is_denied_before_anything_else_is_looked_at(use):
    reader = AgentDefinition(slug="worker", tools=("look",), permissions=frozenset({"read"}))
    used = use(put, {"wrong": 1}, agent=reader)
    assert used.text == "ERROR: Permission denied: put requires 'write'"
    assert used.returned[0].is_error


def test_2_a_tool_that_the_agent_was_not_given_is_denied_though_it_has_the_permission(use):
    writer = AgentDefinition(slug="worker", tools=(), permissions=frozenset({"write"}))
    assert use(put, {"path": "a"}, agent=writer).text == (
        "ERROR: Permission denied: put is not among the tools of worker"
    )


def test_3_the_mode_asks_before_the_arguments_are_looked_at(use):
    async def no(agent, asked_for):
        return False

    used = use(put, {"wrong": 1}, mode=PermissionMode("ask", no))
    assert used.text == "ERROR: Permission denied: put was not allowed when asked"


def test_4_arguments_that_do_not_fit_are_an_error_that_says_which_what_and_seen(use):
    assert use(look, {"path": "a", "lines": "three"}).text == (
        "ERROR: look cannot be called like this: "
        "argument 'lines': expected a whole number, seen the text 'three'"
    )


def test_4_what_only_the_conversion_finds_is_an_error_too(use):
    @tool
    def on(day: dt.date) -> str:
        return str(day)

    assert use(on, {"day": "2026-01-02"}).text == "2026-01-02"
    assert (
        use(on, {"day": "soon"}).text
        == "ERROR: on cannot be called like this: Invalid RFC3339 encoded date - at `$.day`"
    )


def test_arguments_that_are_not_json_are_an_error_and_no_event(use):
    used = use(look, raw='{"path": "a')
    assert used.text == 'ERROR: the arguments are not a JSON object: \'{"path": "a\''
    assert used.journal.read() == []


def test_auto_and_suggest_grant_and_ask_remembers_yes():
    asked = []

    async def ask(agent, asked_for):
        asked.append((agent.slug, asked_for.name))
        return asked_for.name == "put"

    async def main(mode, *calls):
        executor = ToolExecutor(ToolRegistry([put, look]), Journal(), mode=mode)
        agent = AgentDefinition(slug="w", tools=("put", "look"), permissions=frozenset({"read", "write"}))
        return [(await executor.execute(one, agent, _task(), within=9)).result.is_error for one in calls]

    for mode in ("auto", "suggest"):
        assert run(main(PermissionMode(mode), _call("put"), _call("look"))) == [False, False]
    assert run(main(PermissionMode("ask", ask), _call("put"), _call("put"), _call("look"))) == [False] * 3
    assert asked == [("w", "put")]


def test_only_true_is_a_yes_and_a_no_is_not_remembered():
    answers = ["yes", True]

    async def ask(agent, asked_for):
        return answers.pop(0)

    async def main():
        executor = ToolExecutor(ToolRegistry([put]), Journal(), mode=PermissionMode("ask", ask))
        agent = AgentDefinition(slug="w", tools=("put",), permissions=frozenset({"write"}))
        return [
            (await executor.execute(_call("put"), agent, _task(), within=9)).result.is_error for _ in range(2)
        ]

    assert run(main()) == [True, False]


def test_two_agents_that_want_the_same_thing_at_once_ask_once():
    asked = []

    async def ask(agent, asked_for):
        asked.append(asked_for.id)
        await asyncio.sleep(5)
        return True

    async def main():
        executor = ToolExecutor(ToolRegistry([put]), Journal(), mode=PermissionMode("ask", ask))
        agent = AgentDefinition(slug="w", tools=("put",), permissions=frozenset({"write"}))
        await asyncio.gather(*(executor.execute(_call("put"), agent, _task(), within=9) for _ in range(3)))

    run(main())
    assert len(asked) == 1


def test_a_question_that_raises_is_a_no(use):
    async def ask(agent, asked_for):
        raise RuntimeError("nobody there")

    assert (
        use(put, {"path": "a"}, mode=PermissionMode("ask", ask)).text == "ERROR: RuntimeError: nobody there"
    )


def test_a_mode_that_cannot_work_is_refused():
    with pytest.raises(ToolDefinitionError, match="needs somebody to ask"):
        PermissionMode("ask")
    with pytest.raises(ToolDefinitionError, match="there is no such mode"):
        PermissionMode("yolo")
    with pytest.raises(ToolDefinitionError, match="time limit"):
        ToolExecutor(ToolRegistry(), Journal(), timeout=0)


class WordlessError(Exception):
    def __str__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("no such file"), "ERROR: no such file"),
        (ValueError("bad"), "ERROR: ValueError: bad"),
        (KeyError(), "ERROR: KeyError"),
        (TimeoutError("mine"), "ERROR: TimeoutError: mine"),
        (WordlessError(), "ERROR: WordlessError"),
        (SystemExit(3), "ERROR: the tool tried to end the program (SystemExit 3)"),
        (asyncio.CancelledError(), "ERROR: the tool was cancelled from within"),
        (RuntimeError("x" * 5000), "ERROR: RuntimeError: " + "x" * 1979),
        (ValueError("half \ud800"), "ERROR: ValueError: half \\ud800"),
    ],
)
@pytest.mark.parametrize("kind", ["async", "sync"])
def test_a_tool_that_raises_is_an_error_result(use, error, text, kind):
    @tool
    async def wait() -> str:
        raise error

    @tool
    def work() -> str:
        raise error

    used = use(wait if kind == "async" else work)
    assert used.text == text
    assert used.returned[0].is_error


def test_a_huge_result_is_cut_in_the_middle_in_the_journal_too(use):
    @tool
    def flood() -> str:
        return "line of text\n" * 800_000  # 10 MB

    used = use(flood)
    assert 5000 < len(used.text) < 5200
    assert "the whole result has 800001 lines" in used.text
    assert used.returned[0].text == used.text


def test_a_result_that_is_neither_text_nor_json_is_an_error(use):
    @tool
    def strange() -> object:
        return object()

    assert use(strange).text.startswith(
        "ERROR: the tool returned a value of the type object, which is neither"
    )


def test_an_async_tool_that_hangs_is_cancelled_at_its_own_limit(use):
    ended = []

    @tool(timeout=5)
    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    used = use(hang)
    assert used.text == "ERROR: hang did not return within 5 s"
    assert used.journal.read()[-1].time == 5.0
    assert ended == [True]


def test_a_tool_has_no_more_time_than_its_task(use):
    @tool(timeout=500)
    async def hang() -> str:
        await asyncio.Event().wait()

    assert use(hang, within=7).journal.read()[-1].time == 7.0


def test_a_tool_that_ignores_its_cancellation_is_given_up(use):
    @tool(timeout=5)
    async def stubborn() -> str:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(100)
        return "late"

    used = use(stubborn)
    assert used.text == "ERROR: stubborn did not return within 5 s"
    assert used.journal.read()[-1].time == 6.0


@pytest.mark.parametrize("real", [False, True])
def test_a_function_that_blocks_is_given_up_on_either_clock(use, real):
    release = threading.Event()

    @tool(timeout=0.05)
    def block() -> str:
        release.wait(30)
        return "late"

    try:
        assert use(block, real=real).text == "ERROR: block did not return within 0.05 s"
    finally:
        release.set()


def test_a_function_that_blocks_can_be_told_to_stop(use):
    release = threading.Event()
    ended = threading.Event()

    @tool(timeout=0.05)
    def block(*, context: ToolContext) -> str:
        context.on_stop(release.set)
        release.wait(30)
        ended.set()
        return "stopped"

    used = use(block, real=True)
    assert "did not return" in used.text
    assert ended.is_set()  # it was waited for


def test_a_tool_learns_who_calls_and_tells_what_it_changed(use):
    seen = []

    @tool(permissions="write")
    def change(path: str, *, context: ToolContext) -> str:
        seen.append((context.agent.slug, context.task.id, context.call.id, context.within))
        context.changed(path, None, "a1")
        context.changed(path, "a1", "a1")
        context.changed(path, "a1", None)
        return "ok"

    used = use(change, {"path": "a.txt"})
    assert seen == [("worker", "t1", "c1", 60.0)]
    assert [(e.path, e.change) for e in used.journal.events(FileChanged)] == [
        ("a.txt", "added"),
        ("a.txt", "deleted"),
    ]
    assert {record.cause for record in used.journal.read(type=FileChanged)} == {1}


def test_a_call_that_is_aborted_has_a_return_in_the_journal():
    @tool
    async def hang() -> str:
        await asyncio.Event().wait()

    async def main():
        journal = Journal()
        executor = ToolExecutor(ToolRegistry([hang]), journal)
        agent = AgentDefinition(slug="w", tools=("hang",))
        running = asyncio.create_task(executor.execute(call("hang", id="c"), agent, _task(), within=90))
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return journal.read()[-1].event

    last = run(main())
    assert (last.text, last.is_error) == ("ERROR: the call was aborted", True)


def test_recursion_without_end_is_an_error_result(use):
    @tool
    def deep() -> str:
        return deep.call()

    assert use(deep).text.startswith("ERROR: RecursionError")


def test_a_function_that_takes_its_time_does_not_hold_the_loop_on_the_machines_clock():
    both = threading.Barrier(2, timeout=20)

    @tool
    def meet() -> str:
        both.wait()  # two of them at once, or never
        return "met"

    async def main():
        executor = ToolExecutor(ToolRegistry([meet]), Journal(clock=SystemClock()))
        agent = AgentDefinition(slug="w", tools=("meet",))
        calls = (executor.execute(call("meet", id=str(n)), agent, _task(), within=30) for n in range(2))
        return [done.result.text for done in await asyncio.gather(*calls)]

    assert run(main(), clock=SystemClock()) == ["met", "met"]
