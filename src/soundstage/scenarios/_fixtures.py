"""The fixture `recorded`. This file imports pytest alone, because it is loaded in every run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from soundstage.host import Setup
    from soundstage.scenarios import ScenarioReplay


@pytest.fixture
def recorded(
    stage: Setup, request: pytest.FixtureRequest, tmp_path: Path
) -> Generator[Callable[..., ScenarioReplay], None, None]:
    """Replays a recorded scenario for programs on the Claude Agent SDK: `replay = recorded("simple-file-edit")`."""
    from soundstage.scenarios._fixture import replay_for_test

    with contextlib.ExitStack() as last:

        def replay(name: str, **options: object) -> ScenarioReplay:
            return last.enter_context(replay_for_test(request.config, stage, tmp_path, name, options))

        yield replay
