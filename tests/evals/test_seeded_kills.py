"""Fifty kills at seeded moments of `soundstage eval run`: in its start, its runs, their saving, and its report."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.full


@pytest.mark.timeout(600)
def test_after_a_kill_at_any_moment_each_case_has_its_runs_and_the_report_is_that_of_an_undisturbed_eval(
    tmp_path, pytestconfig
):
    program = pytestconfig.rootpath / "tests/support/killed_evals.py"
    done = subprocess.run(
        [sys.executable, program, tmp_path, "15"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kills, amid = map(int, re.findall(r"(\d+) kills, (\d+) with some", done.stdout)[0])
    assert kills == 50
    assert amid > 10, "hardly a kill came while there was something to lose"
