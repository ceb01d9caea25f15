"""Shared by the tests of drivers."""

from __future__ import annotations

import pytest

from soundstage.drivers import isolation_problem


@pytest.fixture(scope="session")
def netns() -> str:
    """The isolation level, on a machine that has it."""
    problem = isolation_problem("netns")
    if problem is not None:
        pytest.skip(str(problem))
    return "netns"


@pytest.fixture(scope="session")
def sandbox() -> str:
    """The isolation level, on a machine that has it."""
    problem = isolation_problem("sandbox")
    if problem is not None:
        pytest.skip(str(problem))
    return "sandbox"
