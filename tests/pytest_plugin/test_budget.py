"""Limits of processor time: what is over fails, with the figure; what waits does not count."""

from __future__ import annotations

import pytest

TESTS = """
import subprocess, sys

BURN = "import time\\nend = time.process_time() + 0.6\\nwhile time.process_time() < end: pass"

def test_burns():
    exec(BURN)

def test_starts_a_program_that_burns():
    subprocess.run([sys.executable, "-S", "-c", BURN], check=True)

def test_is_quick():
    pass
"""


def run(pytester, *args):
    pytester.makepyfile(TESTS)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


def test_a_test_over_its_limit_fails_and_says_how_much_it_used_programs_included(pytester):
    result = run(pytester, "--soundstage-test-cpu", "0.5")
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(
        ["This test used 0.[6-9]* s of processor time; --soundstage-test-cpu allows 0.5 s.*"]
    )


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "two workers"])
def test_a_run_over_its_limit_fails_and_names_its_slowest_tests(pytester, workers):
    result = run(pytester, "--soundstage-run-cpu", "1", *workers)
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["The tests used 1.* s; --soundstage-run-cpu allows 1 s.", "*test_*burns"])


def test_a_run_within_its_limits_passes_and_says_nothing_of_them(pytester):
    result = run(pytester, "--soundstage-run-cpu", "60", "--soundstage-test-cpu", "30")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*processor time*")


@pytest.mark.parametrize("limit", ["0", "-1", "much", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(pytester, limit):
    result = pytester.runpytest_inprocess("--soundstage-test-cpu", limit)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*a number of seconds above 0, not '{limit}'*"])
