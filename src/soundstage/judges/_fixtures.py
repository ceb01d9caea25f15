"""The fixture `judge`. This file imports pytest alone, because it is loaded in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.judges._of_test import JudgeOfTest


@pytest.fixture
def judge(stage: Setup) -> JudgeOfTest:
    """Judges the run of the test so far, by the test's model: `judgment = await judge(load_rubric("repair.yaml"))`."""
    from soundstage.judges._of_test import JudgeOfTest

    return JudgeOfTest(stage)
