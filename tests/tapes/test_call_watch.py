"""Calls by which a program gets what differs from run to run: each is seen with its line, however it was imported."""

from __future__ import annotations

import os
import random
import secrets
import tempfile
import threading
import time
import uuid
from datetime import date, datetime
from time import time as now_in_seconds
from uuid import uuid4

import pytest

from soundstage.tapes._call_watch import CallWatch


def of_this_file(watch):
    return [call for call in watch.calls if "test_call_watch.py:" in call.line]


CALLS = {
    "time": (time.time, "clock", "time"),
    "time by another name": (now_in_seconds, "clock", "time"),
    "strftime": (lambda: time.strftime("%H"), "clock", "strftime"),
    "datetime": (datetime.now, "clock", "now"),
    "date": (date.today, "clock", "today"),
    "random": (random.random, "random", "random"),
    "randint": (lambda: random.randint(1, 9), "random", "randint"),
    "a generator of its own": (lambda: random.Random().choice("ab"), "random", "choice"),
    "uuid": (uuid.uuid4, "random", "uuid4"),
    "uuid by another name": (uuid4, "random", "uuid4"),
    "token": (secrets.token_hex, "random", "token_hex"),
    "urandom": (lambda: os.urandom(4), "random", "urandom"),
    "pid": (os.getpid, "process", "getpid"),
    "folder": (tempfile.mkdtemp, "temporary path", "mkdtemp"),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_call_is_seen_with_its_kind_and_its_line(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    function, kind, what = CALLS[name]
    with CallWatch() as watch:
        value = function()
    found = [call for call in of_this_file(watch) if call.what == what]
    assert found
    assert found[-1].kind == kind
    assert found[-1].value in ("", str(value))
    assert not found[-1].library
    assert found[-1].line.rpartition(" in ")[2] in (
        "<lambda>",
        test_each_call_is_seen_with_its_kind_and_its_line.__name__,
    )


@pytest.mark.parametrize(
    "function", [uuid.uuid4, secrets.token_hex, os.getpid, lambda: random.choice(["owl", "bat"])]
)
def test_what_was_returned_is_known_where_the_interpreter_tells(function):
    with CallWatch() as watch:
        value = function()
    assert str(value) in [call.value for call in of_this_file(watch)]


def test_threads_that_begin_meanwhile_are_seen_and_nothing_before_or_after():
    uuid.uuid4()
    with CallWatch() as watch:
        thread = threading.Thread(target=lambda: made.append(uuid.uuid4()))
        made: list[uuid.UUID] = []
        thread.start()
        thread.join()
    uuid.uuid4()
    assert [call.value for call in watch.calls if call.what == "uuid4"] == [str(made[0])]


def test_other_calls_are_not_kept():
    with CallWatch() as watch:
        sorted({"a": 1}, key=str)
        datetime(2026, 1, 31).isoformat()  # noqa: DTZ001
        random.Random(7).shuffle([1, 2])
    assert [call for call in of_this_file(watch) if call.what not in ("random", "getrandbits")] == []
