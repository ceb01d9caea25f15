"""A process is found by its variables, also while it turns into another program."""

from __future__ import annotations

import os
import subprocess

import pytest

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
