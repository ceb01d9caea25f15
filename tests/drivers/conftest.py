"""What tests of drivers share."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from soundstage.drivers import isolation_problem


def process_exists(pid: int) -> bool:
    """Whether a process is there; one that has ended and waits to be collected counts too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def exists() -> Callable[[int], bool]:
    return process_exists


@pytest.fixture(scope="session")
def netns() -> str:
    """The isolation level, on a machine that has it."""
    problem = isolation_problem("netns")
    if problem is not None:
        pytest.skip(str(problem))
    return "netns"
