"""Who plays a tape, by the tests that pytest collects: `soundstage tape check` on folders of tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from soundstage.messages import ModelRequest, user
from soundstage.tapes import RecordedExchange, Tape

TESTS = """
import pytest

class Base:
    @pytest.mark.tape
    def test_inherited(self): assert False

class TestJokes(Base):
    def test_without_a_mark(self): assert False

@pytest.mark.tape
@pytest.mark.parametrize("city", ["oslo", "rome"])
def test_weather(city): assert False

@pytest.mark.tape(name="shared")
def test_named(): assert False

@pytest.mark.tape(path="cassettes/far.tape")
def test_far(): assert False

@pytest.mark.slow
@pytest.mark.tape
def test_left_out_by_options(): assert False

def test_unmarked(): assert False
"""
NAMES = (
    "TestJokes.test_inherited",
    "TestJokes.test_without_a_mark",
    "test_weather(oslo)",
    "test_weather(paris)",
    "shared",
    "test_named",
    "test_far",
    "test_left_out_by_options",
    "test_unmarked",
    "test_gone",
)


@pytest.fixture
def project(pytester):
    """A folder with tests and their tapes."""
    pytester.makeini("[pytest]\nmarkers = slow\naddopts = -m 'not slow' -p xdist -n 2\n")
    pytester.makepyfile(test_it=TESTS)
    for name in NAMES:
        taped(pytester.path / "__tapes__" / "test_it" / f"{name}.tape", name)
    for name in ("far", "nobody"):
        taped(pytester.path / "cassettes" / f"{name}.tape", name)
    return pytester.path


def taped(path, asked):
    path.parent.mkdir(parents=True, exist_ok=True)
    request = ModelRequest(model="m", messages=(user(asked),))
    Tape([RecordedExchange(number=1, request=request)]).save(path)


def check(*arguments):
    command = [sys.executable, "-m", "soundstage.cli", "tape", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def told(ended):
    """Name and kind of each finding."""
    rows = [line.split(": ")[:2] for line in ended.stdout.splitlines()[:-1]]
    return [(name.rpartition("/")[2].removesuffix(".tape"), kind) for name, kind in rows]


def test_the_tests_say_who_plays_which_tape_and_none_is_run(project):
    ended = check(".", "--tests", ".")
    assert ended.returncode == 1, ended.stderr
    assert sorted(told(ended)) == [
        ("TestJokes.test_without_a_mark", "unused"),
        ("nobody", "unused"),
        ("test_far", "unused"),
        ("test_gone", "orphaned"),
        ("test_named", "unused"),
        ("test_unmarked", "unused"),
        ("test_weather(paris)", "orphaned"),
    ]


def test_a_file_that_is_skipped_is_told_and_one_that_cannot_be_imported_ends_with_2(project):
    (project / "test_it.py").write_text("import pytest\npytest.importorskip('nobody_has_it')\n")
    ended = check("__tapes__")
    assert (ended.returncode, ended.stdout) == (0, f"{len(NAMES)} tape(s): good\n")
    assert "nothing is said of who plays the tapes of test_it.py: it is skipped" in ended.stderr
    (project / "test_it.py").write_text("import nobody_has_it\n")
    ended = check("__tapes__")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "No module named 'nobody_has_it'" in ended.stderr
    assert "--no-tests" in ended.stderr
