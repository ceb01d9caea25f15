"""The fifth principle, isolation: a run reaches nothing outside, and leaves nothing behind.

Both are tested on real runs of every kind, and each test is shown to be able to fail.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import urllib.request

import httpx
import pytest

from soundstage.errors import NetworkForbiddenError
from soundstage.host import HostBuilder
from soundstage.live import LiveModel
from soundstage.messages import ModelRequest, user
from soundstage.models import complete
from support.kinds import KINDS
from support.leaving import left_by_a_failure, left_by_an_untidy_app, left_by_two_runs, measured

# nothing outside is reached


@pytest.fixture
def listener():
    """A real server, so that only a refusal can keep an app from reaching it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


async def opens(address):
    await asyncio.open_connection(*address)


async def blocks(address):
    socket.create_connection(address, timeout=5)


async def blocks_in_a_thread(address):
    await asyncio.to_thread(socket.create_connection, address, 5)


async def fetches(address):
    urllib.request.urlopen("http://{}:{}/".format(*address), timeout=5)


async def fetches_without_blocking(address):
    async with httpx.AsyncClient() as client:
        await client.get("http://{}:{}/".format(*address))


async def asks_a_provider(address):
    model = LiveModel("openai", base_url="http://{}:{}".format(*address), api_key="k", allow=True)
    await complete(model, ModelRequest(model="m", messages=(user("hello"),)))


async def starts_a_program(_):
    await asyncio.create_subprocess_exec(sys.executable, "-V")


TRIES = [
    opens,
    blocks,
    blocks_in_a_thread,
    fetches,
    fetches_without_blocking,
    asks_a_provider,
    starts_a_program,
]


@pytest.mark.parametrize("attempt", TRIES, ids=lambda attempt: attempt.__name__)
def test_an_app_on_virtual_time_reaches_nothing_outside(attempt, listener):
    async def app(_):
        await attempt(listener)

    async def body(host):
        await host.clock.sleep(1)

    with pytest.raises((NetworkForbiddenError, ExceptionGroup)) as caught:
        HostBuilder().with_console().with_app(app).run(body)
    assert "virtual time" in told(caught.value)


def told(error: BaseException) -> str:
    inner = getattr(error, "exceptions", ())
    causes = [error.__cause__] if error.__cause__ is not None else []
    return "\n".join([str(error), *map(told, [*inner, *causes])])


# nothing is left behind


@pytest.mark.parametrize("name", KINDS)
def test_a_run_leaves_nothing_behind(name, tmp_path):
    """Libraries make some things once in a process: those are there after the first run, and no more after another."""
    first, second, tasks = measured(left_by_two_runs, name, tmp_path)
    assert first.keys() <= {"threads", "open files", "warning filters"}, first
    assert second == {}
    assert tasks == []


@pytest.mark.parametrize("name", ["console", "program"])
def test_a_run_that_fails_leaves_nothing_behind(name, tmp_path):
    assert measured(left_by_a_failure, name, tmp_path) == {}


LEFT = {
    "a thread": "threads",
    "a process": "processes",
    "a folder": "files",
    "a file": "files",
    "a variable": "environment",
    "a handler": "signal handlers",
    "an open file": "open files",
    "a log handler": "log handlers",
    "another folder": "current folder",
}


@pytest.mark.parametrize("name", LEFT)
def test_an_app_that_leaves_something_is_noticed(name, tmp_path):
    found, tidied = measured(left_by_an_untidy_app, name, tmp_path)
    assert found.keys() == {LEFT[name]}, found
    assert tidied == {}
