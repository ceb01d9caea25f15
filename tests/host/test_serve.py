"""`serve` in this process: what it says, what it serves, what its journal holds."""

from __future__ import annotations

import os
import signal
import socket
import threading

import httpx
import pytest

from soundstage.errors import EnvironmentProblem, ScriptLoadError
from soundstage.host import ServeOptions, serve
from soundstage.journal import ModelRequested, RunFinished, RunStarted, read_journal

SCRIPT = """\
version: 1
rules:
  - {when: {user: tea}, reply: {text: green}}
  - {name: forgotten, when: {user: coffee}, reply: {text: black}}
  - {name: hidden, when: {user: tea}, reply: {text: never}}
default: {text: whatever you say}
"""


def asked(http, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return http.post("/v1/chat/completions", json=body)


def served(tmp_path, visit, *, script=SCRIPT, number=signal.SIGTERM, **options):
    """The words and warnings while `visit` asked the server from a thread, and then ended it."""
    path, said, warned, failures = tmp_path / "script.yaml", [], [], []
    path.write_text(script)

    def visiting():
        try:
            with httpx.Client(base_url=said[0].split()[1], trust_env=False, timeout=60) as http:
                visit(http)
        except BaseException as error:  # an assertion in a thread is the test's
            failures.append(error)
        finally:
            os.kill(os.getpid(), number)

    def say(line):
        said.append(line)
        if len(said) == 2:
            threading.Thread(target=visiting).start()

    serve(ServeOptions(script=path, **options), say=say, warn=warned.append)
    for failure in failures:
        raise failure
    return said, warned


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_are_handled_afterwards_as_they_were_before(tmp_path, number):
    """A closed uvloop kept the handler of Ctrl-C, so whoever had served could not be interrupted any more."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [signal.getsignal(each) for each in numbers]
    served(tmp_path, lambda http: asked(http, "tea"), number=number)
    assert [signal.getsignal(each) for each in numbers] == before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_the_script_until_a_signal_and_says_what_was_never_used(tmp_path, number):
    answers = []

    def visit(http):
        answers.extend(
            asked(http, text).json()["choices"][0]["message"]["content"] for text in ("tea", "milk")
        )

    said, warned = served(tmp_path, visit, number=number)
    assert answers == ["green", "whatever you say"]
    assert said[0].startswith("serving http://127.0.0.1:")
    assert "script.yaml:5" in warned[0]
    assert [line for line in warned if line.startswith("never used: ")] == warned[-2:]
    assert "forgotten" in warned[-2]
    assert "hidden" in warned[-1]


def test_its_journal_begins_with_what_is_served_and_ends_with_the_run(tmp_path):
    journal = tmp_path / "journal.jsonl"
    served(tmp_path, lambda http: asked(http, "tea"), journal=journal, seed=5)
    records = read_journal(journal)
    first, last = records[0], records[-1]
    assert (first.event.name, first.event.seed, first.source, first.run) == (
        "script.yaml",
        5,
        "serve",
        "serve-5",
    )
    assert first.event.wall.endswith("+00:00")
    assert isinstance(first.event, RunStarted)
    assert isinstance(last.event, RunFinished)
    assert (last.event.outcome, last.source) == ("passed", "serve")
    assert sum(isinstance(record.event, ModelRequested) for record in records) == 1


@pytest.mark.parametrize(("said", "asked_for"), [(None, False), (False, False), (None, True), (True, False)])
def test_strict_is_what_the_script_or_the_caller_asks_for(tmp_path, said, asked_for):
    head = "" if said is None else f"strict: {str(said).lower()}\n"
    statuses = []
    served(
        tmp_path,
        lambda http: statuses.append(asked(http, "milk").status_code),
        script=head + "version: 1\nrules:\n  - {when: {user: tea}, reply: {text: green}}\n",
        strict=asked_for,
    )
    assert (statuses[0] == 200) is not bool(said or asked_for)


def test_what_is_said_opens_the_journal_and_the_programs_token_does_not(tmp_path):
    statuses, control = [], {}

    def visit(http):
        statuses.append(asked(http, "tea").status_code)
        http.headers["authorization"] = "Bearer of-the-program"
        statuses.append(asked(http, "tea").status_code)
        statuses.append(http.get("/_soundstage/journal").status_code)
        statuses.append(http.get("/_soundstage/journal", headers=control).status_code)

    control["x-soundstage-control"] = "of-the-test"
    said, _ = served(tmp_path, visit, token="of-the-program", control_token="of-the-test")
    assert statuses == [401, 200, 401, 200]
    assert said[1].endswith("/_soundstage/journal with `x-soundstage-control: of-the-test`")
    assert "of-the-program" not in "".join(said)


def test_a_seed_decides_the_ids(tmp_path):
    ids = []
    for seed in (1, 1, 2):
        served(tmp_path, lambda http: ids.append(asked(http, "tea").json()["id"]), seed=seed)
    assert ids[0] == ids[1] != ids[2]


def test_what_cannot_be_served_is_told_before_anything_is_said(tmp_path):
    said = []
    (tmp_path / "script.yaml").write_text("version: 1\nruels: []\n")
    with pytest.raises(ScriptLoadError, match="ruels"):
        serve(ServeOptions(script=tmp_path / "script.yaml"), say=said.append, warn=said.append)
    (tmp_path / "script.yaml").write_text("version: 1\nrules:\n  - {when: {user: tea}, reply: green}\n")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        options = ServeOptions(script=tmp_path / "script.yaml", port=port)
        with pytest.raises(EnvironmentProblem, match=str(port)):
            serve(options, say=said.append, warn=said.append)
    assert said == []
