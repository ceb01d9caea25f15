"""The recordings of two applications, and what replays one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from soundstage.scenarios import ScenarioReplay, load_recording

DATA = Path(__file__).parent / "data"


@pytest.fixture
def replay(tmp_path):
    """`replay("shop")`: a replay of one of the applications in a folder of this test."""

    def made(name, root=DATA, **options):
        return ScenarioReplay(load_recording(root, name), tmp_path / "work", **options)

    return made


@pytest.fixture
def own_data(tmp_path):
    """A folder of scenarios that a test may break."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))
