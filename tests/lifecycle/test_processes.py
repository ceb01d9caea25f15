"""A process is found by its variables, also while it turns into another program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from soundstage.journal import Journal
from soundstage.lifecycle import Process
from soundstage.lifecycle._processes import started_at, variables_of

PATH = os.environ["PATH"]


@pytest.fixture
def start(tmp_path):
    """Starts a program with variables of its own, which ends with the test."""
    started = []

    def run(*argv, **variables):
        program = subprocess.Popen(argv, cwd=tmp_path, env={"PATH": PATH, **variables})
        started.append(program)
        return program

    yield run
    for program in started:
        program.kill()
        program.wait()


def test_the_variables_of_a_process_are_what_it_was_started_with(start):
    program = start("sleep", "600", MARK="one two=3", EMPTY="")
    assert set(variables_of(program.pid)) >= {b"MARK=one two=3", b"EMPTY=", f"PATH={PATH}".encode()}


def test_the_variables_of_a_process_that_is_between_two_programs_are_waited_for(start, tmp_path):
    (tmp_path / "again").write_text("#!/bin/sh\nexec ./again\n")  # turns into another program all the time
    (tmp_path / "again").chmod(0o755)
    program = start("./again", MARK="1")
    for _ in range(2000):
        assert b"MARK=1" in variables_of(program.pid)


CONFINED = """
import time
from soundstage.lifecycle._processes import variables_of
def waited(seconds):
    raise AssertionError("it waits for what it is never told")
time.sleep = waited
try:
    print(b"MARK=1" in variables_of({pid}))
except OSError as error:
    print("not for us")
"""


def test_a_program_that_is_confined_does_not_wait_for_what_the_system_keeps_back(start):
    """Each process of the machine would cost a new start two seconds."""
    program = start("sleep", "600", MARK="1")
    lines = []

    async def run():
        argv = [sys.executable, "-c", CONFINED.format(pid=program.pid)]
        heard = Process(
            argv,
            Journal(),
            source="p",
            cwd=Path.cwd(),
            environment=os.environ,
            on_line=lambda *line: lines.append(line),
        )
        await heard.start()
        return await heard.wait()

    assert asyncio.run(run()) == 0, lines
    assert lines[0][1] in ("True", "not for us")


def test_a_process_that_is_gone_has_no_variables_and_no_start():
    with subprocess.Popen(["true"]) as program:
        program.wait()
    with pytest.raises(OSError, match="No such"):
        variables_of(program.pid)
    assert started_at(program.pid) == 0


def test_a_process_that_has_ended_and_that_nobody_has_asked_for_has_no_variables(start):
    program = start("true", MARK="1")
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(OSError, match="No such"):
        variables_of(program.pid)


def test_the_start_of_a_process_tells_it_from_one_that_had_its_number_before(start):
    program = start("sleep", "600")
    assert started_at(program.pid) >= started_at(os.getpid()) > 0
