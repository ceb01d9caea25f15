"""The level of isolation that is chosen for a whole run of pytest."""

from __future__ import annotations

import pytest

from soundstage.drivers import isolation_problem

pytest_plugins = ["pytester"]

TESTS = """
import sys
from soundstage.drivers import ProcessLevel
from soundstage.isolation import InSandbox

PROGRAM = "import os; print(os.statvfs('/').f_flag & os.ST_RDONLY, os.listdir('/run'))"

async def test_a_program(command, workspace):
    workspace.git()
    program = await command([sys.executable, "-c", PROGRAM], cwd=workspace.root)
    assert await program.wait(within=60) == 0
    assert program.lines() == ["1 []"]
    assert program.isolation == InSandbox()

async def test_that_says_it_itself(command):
    program = await command([sys.executable, "-c", ""], isolation="process")
    assert await program.wait(within=60) == 0
    assert program.isolation == ProcessLevel()
"""


def test_the_option_holds_for_programs_that_do_not_say_it_themselves(pytester: pytest.Pytester) -> None:
    problem = isolation_problem("sandbox")
    if problem is not None:
        pytest.skip(str(problem))
    pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess("-q", "--soundstage-isolation", "sandbox").assert_outcomes(passed=2)
