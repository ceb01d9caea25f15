"""The fifth principle, isolation: a run reaches nothing outside, and leaves nothing behind.

Both are tested on real runs of every kind, and each test is shown to be able to fail.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

import httpx
import pytest

from soundstage.errors import ExpectationError, NetworkForbiddenError
from soundstage.host import HostBuilder
from soundstage.messages import ModelRequest, user
from soundstage.models import LiveModel, complete
from support.footprint import Place, changed
from support.kinds import KINDS, Kind, perform


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A place of its own for what a run writes."""
    made = Place(tmp_path)
    made.enter(monkeypatch)
    return made


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
def test_a_run_leaves_nothing_behind(name, place):
    """Libraries make some things once in a process: those are there after the first run, and no more after another."""
    before = place.footprint()
    perform(KINDS[name])
    first = place.footprint()
    assert set(changed(before, first)) <= {"threads", "open files", "warning filters"}, changed(before, first)
    ended = perform(KINDS[name])
    assert changed(first, place.footprint()) == {}
    assert ended.tasks == []


@pytest.mark.parametrize("name", ["console", "program"])
def test_a_run_that_fails_leaves_nothing_behind(name, place):
    async def wrong(host):
        await host.console.send("hello")
        await host.console.expect("good", within=20)
        raise ExpectationError("the test is not content")

    kind = KINDS[name]._replace(body=wrong)
    with pytest.raises(ExpectationError):
        perform(kind)
    before = place.footprint()
    with pytest.raises(ExpectationError):
        perform(kind)
    assert changed(before, place.footprint()) == {}


def leave_a_thread(stack, _):
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    stack += [stop.set, thread.join]


def leave_a_process(stack, _):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stack += [process.communicate]


def leave_a_folder(stack, _):
    folder = tempfile.TemporaryDirectory(prefix="left-")
    stack += [folder.cleanup]


def leave_a_file(stack, place):
    path = place.folders["current"] / "left.txt"
    path.write_text("left")
    stack += [path.unlink]


def leave_a_variable(stack, _):
    os.environ["LEFT"] = "1"
    stack += [lambda: os.environ.pop("LEFT")]


def leave_a_handler(stack, _):
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    stack += [lambda: signal.signal(signal.SIGUSR1, before)]


def leave_an_open_file(stack, _):
    opened = socket.socket()
    stack += [opened.close]


def leave_a_log_handler(stack, _):
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    stack += [lambda: logging.getLogger().removeHandler(handler)]


def leave_another_folder(stack, place):
    os.chdir(place.folders["home"])
    stack += [lambda: os.chdir(place.folders["current"])]


LEFT = {
    leave_a_thread: "threads",
    leave_a_process: "processes",
    leave_a_folder: "files",
    leave_a_file: "files",
    leave_a_variable: "environment",
    leave_a_handler: "signal handlers",
    leave_an_open_file: "open files",
    leave_a_log_handler: "log handlers",
    leave_another_folder: "current folder",
}


@pytest.mark.parametrize("leave", LEFT, ids=lambda leave: leave.__name__)
def test_an_app_that_leaves_something_is_noticed(leave, place):
    after = []

    async def untidy(app):
        leave(after, place)
        app.console.write_line("done")

    kind = Kind(lambda b: b.with_console().with_app(untidy), lambda host: host.console.expect("done"))
    before = place.footprint()
    perform(kind)
    found = changed(before, place.footprint())
    for tidy in after:
        tidy()
    assert LEFT[leave] in found
    assert changed(before, place.footprint()) == {}
