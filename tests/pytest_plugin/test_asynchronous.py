"""Asynchronous tests and fixtures run without another plugin, and beside another one."""

from __future__ import annotations

import pytest

INI = "[pytest]\naddopts = -p no:randomly -p no:cacheprovider -p no:xdist\n"

CONFTEST = """
import pytest
from soundstage import HostBuilder

async def echo(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(f"you said {line}")

@pytest.fixture
async def echo_host():
    async with HostBuilder().with_console().with_app(echo).build() as host:
        yield host
"""

SERVED = """
import asyncio

import pytest
from soundstage import HostBuilder
from soundstage.clock import running_clock

ENDED = []

async def app(world):
    while (line := await world.console.read_line()) is not None:
        world.console.write_line(line.upper())

async def test_a_host_and_no_fixture():
    async with HostBuilder().with_app(app).build() as host:
        await host.console.send("hello")
        await host.console.expect("HELLO")
        await asyncio.sleep(86_400)
        assert host.clock.now() == 86_400

class TestOfAClass:
    @pytest.fixture
    async def number(self):
        await asyncio.sleep(1)
        return 7

    async def test_method(self, number):
        assert (number, running_clock().now()) == (7, 1)

@pytest.fixture
async def first():
    async with asyncio.timeout(3600), asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(5))
        yield "first"
    ENDED.append("first")

@pytest.fixture(params=["a", "b"])
async def second(first, request):
    yield f"{first} {request.param}"
    ENDED.append("second")

@pytest.fixture
async def always():
    ENDED.clear()
    yield
    ENDED.append("always")

@pytest.mark.usefixtures("always")
async def test_order(second):
    assert second in ("first a", "first b")
    assert ENDED == []

def test_a_synchronous_test_after_it():
    assert ENDED == ["second", "first", "always"]

@pytest.mark.soundstage(clock="system")
async def test_the_clock_of_the_machine():
    async with HostBuilder().with_server().build() as host:
        assert host.server.openai_url.startswith("http://127.0.0.1:")
        host.llm.on().reply("hi")
        import httpx
        async with httpx.AsyncClient() as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
            url = host.server.openai_url + "/chat/completions"
            assert (await client.post(url, json=body)).status_code == 200

async def test_with_a_stage_too(run_app, console, first):
    await run_app(app)
    await console.send(first)
    await console.expect("FIRST")

@pytest.mark.anyio
async def test_of_anyio():
    assert type(asyncio.get_running_loop()).__name__ != "VirtualLoop"

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""

ELSEWHERE = """
async def test_a_fixture_of_conftest(echo_host):
    await echo_host.console.send("hello")
    await echo_host.console.expect("you said hello")
"""

REFUSED = """
import pytest
from soundstage import HostBuilder

@pytest.fixture
async def value():
    yield 1

@pytest.fixture
def plain(value):
    return value

@pytest.fixture(scope="module")
async def wide():
    yield 1

@pytest.fixture
async def twice():
    yield 1
    yield 2

@pytest.fixture
async def breaks():
    yield 1
    raise RuntimeError("the fixture is broken")

def test_synchronous(value): pass
async def test_plain(plain): pass
async def test_wide(wide): pass
async def test_twice(twice): pass
async def test_late(request): request.getfixturevalue("value")
async def test_breaks(breaks): pass
async def test_both_break(breaks): assert 1 + 1 == 3, "on purpose"
async def test_virtual():
    async with HostBuilder().with_server().build() as host: pass

@pytest.mark.soundstage(strict=False)
async def test_mark(): pass

async def app(world):
    await world.console.read_line()
    raise KeyError("no such city")

@pytest.fixture
async def host():
    async with HostBuilder().with_app(app).build() as host:
        yield host

async def test_crash_in_a_fixture(host):
    await host.console.send("Oslo?")
    await host.console.expect("Cold.")
"""

WORDS = {
    "test_synchronous": [
        "the fixture 'value' is asynchronous and the test is not",
        "async def test_synchronous",
    ],
    "test_plain": ["the fixture 'plain' needs the asynchronous fixture 'value'", "async def plain"],
    "test_wide": ["the asynchronous fixture 'wide' has the scope 'module'"],
    "test_twice": ["the fixture 'twice' yields more than once"],
    "test_late": ["cannot be made while the test runs", "async def test_late(value)"],
    "test_breaks": ["RuntimeError: the fixture is broken"],
    "test_both_break": ["AssertionError: on purpose", "RuntimeError: the fixture is broken"],
    "test_virtual": ["@pytest.mark.soundstage(clock='system')"],
    "test_mark": ["the option 'strict' of the mark `soundstage`"],
    "test_crash_in_a_fixture": [
        "KeyError: 'no such city'",
        "and so the test ended with ExpectationError: console did not show",
        "soundstage trace",
    ],
}


@pytest.fixture
def inner(pytester):
    """Runs a file of tests in a pytest of its own."""
    pytester.makeini(INI)

    def go(text, **files):
        pytester.makeconftest(CONFTEST)
        pytester.makepyfile(test_it=text, **files)
        return pytester.runpytest_subprocess("-p", "anyio", "-W", "error::RuntimeWarning")

    return go


def test_asynchronous_tests_and_fixtures_run_without_another_plugin(inner):
    result = inner(SERVED, test_other=ELSEWHERE)
    result.assert_outcomes(passed=9)


def test_what_cannot_be_served_says_so(inner):
    result = inner(REFUSED)
    said = result.stdout.str()
    assert result.parseoutcomes()["failed"] + result.parseoutcomes()["errors"] == len(WORDS), said
    for name, words in WORDS.items():
        text = said.split(f" {name} _")[1].split("\n___")[0]
        assert [word for word in words if word not in text] == [], text
        assert "soundstage/pytest_plugin" not in text, text


def test_an_asynchronous_test_without_anything_of_ours_is_left_alone(pytester):
    pytester.makeini(INI)
    pytester.makepyfile("async def test_it(): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not natively supported*"])
