"""The text of a failed test: the cause first, then expected and seen, one next step, and none of our frames.

Each run of pytest looks at many failures, since a start of pytest costs seconds.
"""

from __future__ import annotations

import re

import pytest

INI = "[pytest]\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"

APPS = """
import asyncio

import openai
import pytest
from soundstage import HostBuilder
from soundstage.errors import ScriptError
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, complete
from soundstage.trace import assert_tool_calls


def agent(question, **options):
    messages = [{"role": "user", "content": question}]
    return openai.OpenAI(max_retries=0, **options).chat.completions.create(model="m", messages=messages)


async def chat(world):
    while (line := await world.console.read_line()) is not None:
        reply = await complete(world.model, ModelRequest(model="m", messages=(user(line),)))
        world.console.write_line(reply.text)


async def crashes(world):
    while (line := await world.console.read_line()) is not None:
        raise KeyError(line)


async def loses(world):
    asyncio.create_task(deep(0), name="poll")
    await world.console.read_line()
"""

CAUSES = (
    APPS
    + """

def test_unscripted(script, model_server):
    script.on(user="Bergen").reply("Rain.")
    agent("Oslo?")


async def test_unscripted_behind_a_console(script, console, run_app):
    script.on(user="Bergen").reply("Rain.")
    await run_app(chat)
    await console.send("Oslo?")
    await console.expect("Cold.")


def test_unscripted_and_swallowed(script, model_server):
    with pytest.raises(openai.BadRequestError):
        agent("Oslo?")
    assert "Cold" in "nothing"


async def test_crash(console, run_app):
    await run_app(crashes)
    await console.send("Oslo?")
    await console.expect("Cold.")


async def test_crash_of_a_builder():
    async with HostBuilder().with_console().with_app(crashes).build() as host:
        await host.console.send("Oslo?")
        await host.console.expect("Cold.", within=5)


async def test_lost_task(run_app):
    await run_app(loses)


@pytest.mark.xfail(raises=KeyError, strict=True)
async def test_crash_that_is_expected(console, run_app):
    await run_app(crashes)
    await console.send("Oslo?")
    await console.expect("Cold.")


async def test_crash_of_a_run_that_is_expected(start_host):
    with pytest.raises(KeyError):
        async with HostBuilder().with_console().with_app(crashes).build() as host:
            await host.console.send("Oslo?")
            await host.console.expect("Cold.", within=5)


def test_time_out_of_the_sdk(script, model_server):
    script.on(user="Oslo").reply("Cold.", delay=60)
    agent("Oslo?", timeout=3)


async def test_time_out_of_a_wait(script, console, run_app):
    script.on(user="Oslo").reply("Cold.", delay=60)
    await run_app(chat)
    await console.send("Oslo?")
    await console.expect("Cold.", within=5)


async def test_wrong_order(script, console, run_app):
    script.on().reply("a reply")
    await run_app(chat)
    await console.send("first")
    await console.expect("a reply")
    await console.expect_nothing(within=5)
    await console.expect("a reply", within=5)


def test_way_out(script, model_server):
    import socket
    script.on(user="Oslo").reply("Cold.")
    agent("Oslo?")
    socket.create_connection(("192.0.2.1", 80), timeout=2)


def test_unused(script, model_server):
    script.on(user="Oslo").reply("Cold.")
    script.on(user="never").reply("Rain.")
    agent("Oslo?")


def test_shadowed(script, model_server):
    script.on(user="Oslo").reply("Cold.")
    script.on(user="Oslo in May").reply("Rain.")
    assert agent("Oslo in May?").choices[0].message.content == "Rain."


def test_missing_call(script, model_server, trace):
    script.on(user="Oslo").reply("Cold.")
    agent("Oslo?")
    assert_tool_calls(trace(), "get_weather")


def test_of_a_builder():
    async def body(host):
        await host.console.send("Oslo?")
        await host.console.expect("Cold.", within=5)
    script = Script()
    script.on(user="Bergen").reply("Rain.")
    HostBuilder().with_console().with_script(script).with_app(chat).run(body)


def test_got_over_a_run():
    async def body(host):
        await host.console.send("Oslo?")
        await host.console.expect("Cold.", within=5)
    with pytest.raises(ScriptError):
        HostBuilder().with_console().with_app(chat).run(body)
    assert 1 + 1 == 3, "on purpose"


async def deep(depth):
    await asyncio.sleep(0)
    if depth:
        await deep(depth - 1)
    else:
        raise ValueError("at the bottom")


async def test_recursion(journal):
    await deep(150)


async def test_group(journal):
    async with asyncio.TaskGroup() as group:
        group.create_task(deep(0))
        group.create_task(deep(1))


@pytest.mark.xfail(raises=openai.BadRequestError, strict=True)
def test_expected_to_fail(script, model_server):
    agent("Oslo?")
"""
)

# By test: the first line that pytest marks with E, words that must be there, words that must not.
SHOWN = {
    "test_unscripted": (
        "no rule answers this request: iteration 1, user 'Oslo?'",
        ["test_causes.py", "> ", "'Bergen' is not in 'Oslo?'", "next step: add a rule"],
        ["BadRequestError: Error code", "_base_client"],
    ),
    "test_unscripted_behind_a_console": (
        "no rule answers this request: iteration 1, user 'Oslo?'",
        ['>       await console.expect("Cold.")', "and so the test ended with ExpectationError", "'Cold.'"],
        ["Traceback (most recent call last)", "While", "direct cause"],
    ),
    "test_unscripted_and_swallowed": (
        "no rule answers this request: iteration 1, user 'Oslo?'",
        ["and so the test ended with AssertionError: assert 'Cold' in 'nothing'"],
        [],
    ),
    "test_crash": (
        "KeyError: 'Oslo?'",
        [
            '>       await console.expect("Cold.")',
            ">           raise KeyError(line)",
            "and so the test ended with ExpectationError: console did not show the expected line, expected 'Cold.'",
        ],
        [],
    ),
    "test_crash_of_a_builder": (
        "KeyError: 'Oslo?'",
        [
            'in test_crash_of_a_builder\n    await host.console.expect("Cold.", within=5)',
            ">           raise KeyError(line)",
            "and so the test ended with ExpectationError: console did not show the expected line, expected 'Cold.'",
        ],
        ["UNCLEAN", "direct cause"],
    ),
    "test_lost_task": (
        "ValueError: at the bottom",
        ["in the task 'poll', which nobody awaited", ">           raise ValueError"],
        [],
    ),
    "test_time_out_of_the_sdk": (
        "the app's client gave up on the model: rule 1 [user 'Oslo'] answers after 60 s",
        ["seen: APITimeoutError", "next step:"],
        ["httpx", "httpcore"],
    ),
    "test_time_out_of_a_wait": (
        "console did not show the expected line within 5 s",
        ["a reply was still under way: rule 1 [user 'Oslo'] answers after 60 s"],
        [],
    ),
    "test_wrong_order": (
        "console did not show the expected line within 5 s",
        ["'a reply' came before"],
        [],
    ),
    "test_way_out": ("the app tried to leave the closed set", ["seen: 192.0.2.1:80", "EgressRefused"], []),
    "test_unused": (
        "1 rule(s) of a strict script were never used",
        [">   def test_unused(script, model_server):", "rule 2 [user 'never']"],
        ["???", "require_clean_end"],
    ),
    "test_shadowed": (
        "AssertionError: assert 'Cold.' == 'Rain.'",
        ["rule 2 [user 'Oslo in May']: rule 1 [user 'Oslo'] took the request @4, which it fits as well"],
        [],
    ),
    "test_missing_call": ("tool call 1 is missing", ["get_weather"], ["in the trace:"]),
    "test_of_a_builder": (
        "no rule answers this request",
        [
            "await host.console.expect(",
            ">           reply = await complete(",
            "and so the test ended with ExpectationError",
        ],
        [],
    ),
    "test_got_over_a_run": ("AssertionError: on purpose", [], ["and so the test ended"]),
    "test_recursion": (
        "ValueError: at the bottom",
        ["the recursion in deep is shown once; it came 150 times"],
        [],
    ),
    "test_group": ("", ["ValueError: at the bottom", "in deep"], []),
}


@pytest.fixture
def said(pytester):
    """Runs a file of tests in a pytest of its own; what it says, by test."""
    pytester.makeini(INI)

    def go(text, *options):
        pytester.makepyfile(test_causes=text)
        result = pytester.runpytest_subprocess(*options)
        whole = result.stdout.str()
        parts = re.split(r"^_{3,} (\w+) _{3,}$", whole.partition("short test summary")[0], flags=re.MULTILINE)
        return result, whole, dict(zip(parts[1::2], parts[2::2], strict=True))

    return go


def test_the_cause_comes_first_and_no_frame_of_ours_before_it(said):
    result, whole, failures = said(CAUSES)
    result.assert_outcomes(failed=len(SHOWN), xfailed=2, passed=1)
    assert set(failures) == set(SHOWN)
    for name, (first, there, absent) in SHOWN.items():
        text = failures[name]
        error, _, sections = text.partition("soundstage trace")
        lines = re.findall(r"^E +(.*)$", text, flags=re.MULTILINE)
        assert first in (lines[0] if lines else text), (name, lines[:3])
        assert [words for words in there if words not in text] == [], text
        assert [words for words in absent if words in error] == [], text
        for path in ("/soundstage/", "asyncio/", "site-packages", "contextlib.py"):
            assert path not in error, (name, error)
        assert sections.count("\n-- ") <= 1, text  # the trace ends with its sums: it is there once
        assert error.count("1. main") == 0, text
    summary = whole.partition("short test summary")[2]
    assert "test_unscripted - no rule answers" in summary


def test_every_frame_is_there_on_demand(said):
    _, whole, _ = said(CAUSES, "--full-trace", "-k", "test_unscripted_behind_a_console or test_recursion")
    assert "/soundstage/pytest_plugin/_stage.py" in whole
    assert "runners.py" in whole
