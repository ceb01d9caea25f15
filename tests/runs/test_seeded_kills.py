"""Two hundred kills at seeded moments, while runs are saved and while a store is cleaned."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.full


def test_what_was_acknowledged_before_a_kill_is_there_and_the_index_agrees_with_the_folders(
    root, pytestconfig
):
    program = pytestconfig.rootpath / "tests/support/killed_stores.py"
    done = subprocess.run([sys.executable, program, root, "200"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kills, behind, cleaned = map(int, re.findall(r"\d+", done.stdout))
    assert kills == 200
    assert behind > 40, "hardly a kill came while there was something to lose"
    assert cleaned > 10, "hardly a run was old enough to be cleaned away"
