"""Mistakes that newcomers make: each fails, and the failure says what to write instead. One run of pytest for all."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.full
INI = "[pytest]\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist --tb=short\n"

TESTS = """
import openai

from soundstage.host import HostBuilder
from soundstage.trace import assert_tool_calls

ASKED = [{"role": "user", "content": "hello"}]
made_on_import = openai.OpenAI(api_key="a-key")


def ask(client=None):
    made = client or openai.OpenAI()
    return made.chat.completions.create(model="gpt-5", messages=ASKED).choices[0].message.content


async def echo(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(line)


def test_no_server(script):
    script.on(user="hello").reply("hi")
    ask()


def test_no_server_and_an_app_that_swallows_the_error(script):
    script.on(user="hello").reply("hi")


def test_client_made_on_import(script, model_server):
    script.on(user="hello").reply("hi")
    ask(made_on_import)


def test_trace_without_brackets(script, model_server, trace):
    script.on(user="hello").reply("hi")
    ask()
    assert_tool_calls(trace, "search")


def test_arguments_as_text(script):
    script.on(user="hello").reply(tool_calls=[{"name": "search", "arguments": "{}"}])


async def test_send_without_await(console):
    console.send("hello")


async def test_expect_without_await(console, run_app):
    await run_app(echo)
    await console.send("hello")
    found = console.expect("never said")
    assert found


async def test_send_without_await_and_a_wait_that_fails(console, run_app):
    await run_app(echo)
    console.send("hello")
    await console.expect("hello")


def test_expect_without_await_on_a_builder():
    async def body(host):
        await host.console.send("hello")
        host.console.expect("never said")

    HostBuilder().with_app(echo).with_console().run(body)


async def test_pass_a_coroutine_of_the_test_is_no_call_of_ours(console):
    async def mine():
        pass

    mine()


async def test_pass_all_is_awaited(console, run_app):
    await run_app(echo)
    await console.send("hello")
    assert await console.expect("hello") == "hello"
"""

SAID = {
    "no_server": "use the fixture `model_server`",
    "no_server_and_an_app_that_swallows_the_error": "use the fixture `model_server`",
    "client_made_on_import": r"make the client while the test runs",
    "trace_without_brackets": r"`trace` is a function, not a trace: write trace\(\)",
    "arguments_as_text": r"write tool_calls=\[\{'name': 'search', 'arguments'",
    "send_without_await": r"Console\.send was called and not awaited[\s\S]*test_it\.py:\d+[\s\S]*write `await`",
    "expect_without_await": r"Console\.expect was called and not awaited",
    "send_without_await_and_a_wait_that_fails": r"WaitTimeout[\s\S]*Console\.send was called and not awaited",
    "expect_without_await_on_a_builder": r"Console\.expect was called and not awaited",
}


def test_a_mistake_fails_and_says_what_to_write_instead(pytester, monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)  # as on a newcomer's machine
    pytester.makeini(INI)
    pytester.makepyfile(test_it=TESTS)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=len(SAID), warnings=1)
    out = result.stdout.str()
    parts = re.split(r"^_+ test_(\w+) _+$", out, flags=re.MULTILINE)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name, said in SAID.items():
        assert re.search(said, shown[name]), f"{name}:\n{shown[name]}"
    assert "coroutine 'test_pass_a_coroutine_of_the_test_is_no_call_of_ours.<locals>.mine'" in out
