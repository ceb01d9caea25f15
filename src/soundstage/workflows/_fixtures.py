"""Fixtures for tests in stages. This file imports pytest alone, because it is loaded in every run."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.workflows import Fixture, Reporter
    from soundstage.workflows._of_test import WorkflowOfTest


@pytest.fixture
def workflow_reporters() -> Sequence[Reporter]:
    """Reporters that `workflow` tells each result; none, unless a test or a conftest.py says others."""
    return ()


@pytest.fixture
def workflow_fields() -> Sequence[Fixture]:
    """Fields for the context of `workflow`: mappings, or functions of the context; later ones replace earlier ones."""
    return ()


@pytest.fixture
def workflow(
    stage: Setup,
    request: pytest.FixtureRequest,
    workflow_reporters: Sequence[Reporter],
    workflow_fields: Sequence[Fixture],
) -> Generator[WorkflowOfTest, None, None]:
    """Runs stages, in order: `await workflow(Stage("plan", prompt=".."), ..)`; `.context` has what came of it."""
    from soundstage.workflows._of_test import WorkflowOfTest

    made = WorkflowOfTest(request.node.nodeid, stage, workflow_fields, reporters=workflow_reporters)
    yield made
    made.context.dispose()
