"""A copy of the process: its tries are on record in the run, although `fork` gives it a journal that nobody reads."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from soundstage.clock import VirtualClock
from soundstage.journal import EgressTried, HostReached, Journal
from soundstage.net import ClosedSet

OUT = ("192.0.2.1", 443)
FORK = multiprocessing.get_context("fork")

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def leave(address=OUT):
    """An app that tries to get out, and swallows the refusal."""
    with contextlib.suppress(OSError), socket.socket() as made:
        made.settimeout(1)
        made.connect(address)


def by_multiprocessing():
    made = FORK.Process(target=leave)
    made.start()
    made.join()


def by_a_pool():
    with ProcessPoolExecutor(1, mp_context=FORK) as pool:
        pool.submit(leave).result()


def by_os_fork():
    made = os.fork()
    if not made:
        try:
            leave()
        finally:
            os._exit(0)
    os.waitpid(made, 0)


def by_a_copy_of_a_copy():
    made = FORK.Process(target=by_os_fork)
    made.start()
    made.join()


@pytest.fixture
def journal():
    return Journal(clock=VirtualClock())


@pytest.fixture
def closed(journal):
    made = ClosedSet(journal)
    made.begin()
    yield made
    made.end()


@pytest.mark.parametrize("way", [by_multiprocessing, by_a_pool, by_os_fork, by_a_copy_of_a_copy])
def test_what_a_copy_of_the_process_tries_is_on_record_when_the_run_is_looked_at(closed, journal, way):
    way()
    assert journal.events(EgressTried) == []
    closed.look()
    assert journal.events(EgressTried) == [EgressTried(host=OUT[0], port=OUT[1], method="tcp")]
    closed.look()
    assert len(journal.events(EgressTried)) == 1


def test_what_a_copy_reaches_on_this_machine_is_on_record_too(closed, journal):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        made = FORK.Process(target=leave, args=(address,))
        made.start()
        made.join()
    closed.look()
    assert [(found.host, found.port) for found in journal.events(HostReached)] == [address]


def test_the_end_of_a_run_looks_once_more_and_leaves_no_descriptor(journal):
    before = set(Path("/proc/self/fd").iterdir())
    closed = ClosedSet(journal)
    closed.begin()
    by_os_fork()
    closed.end()
    assert len(journal.events(EgressTried)) == 1
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_program_inherits_nothing_of_the_way_back(closed):
    by_os_fork()
    code = "import os; print(len(os.listdir('/proc/self/fd')))"
    shown = subprocess.run([sys.executable, "-c", code], close_fds=False, capture_output=True, check=True)
    closed.end()
    closed.begin()
    again = subprocess.run([sys.executable, "-c", code], close_fds=False, capture_output=True, check=True)
    assert shown.stdout == again.stdout


def test_a_copy_that_tries_without_end_is_not_held_up_and_no_line_is_torn(closed, journal, monkeypatch):
    monkeypatch.setattr("soundstage.net._forked._PIECE", 100)  # bytes that are read at once

    def try_often():
        for _ in range(3000):
            leave()

    made = FORK.Process(target=try_often)
    made.start()
    made.join()
    closed.look()
    found = journal.events(EgressTried)
    assert 500 < len(found) <= 3000
    assert {(tried.host, tried.port) for tried in found} == {OUT}
