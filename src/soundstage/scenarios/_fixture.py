"""The replay behind the fixture `recorded`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from soundstage.config import load_settings
from soundstage.host import Setup
from soundstage.scenarios._definitions import require_version
from soundstage.scenarios._folder import load_recording
from soundstage.scenarios._replay import ScenarioReplay


def replay_for_test(
    config: pytest.Config, stage: Setup, folder: Path, name: str, options: dict[str, Any]
) -> ScenarioReplay:
    """The replay of a recording, with the journal of the test; its files are in a folder of the test.

    Args:
        config: of pytest.
        stage: of the test.
        folder: of the test.
        name: of the scenario.
        options: of `ScenarioReplay`.
    """
    root = Path(load_settings(config.rootpath, os.environ).scenarios)
    recording = load_recording(root, name)
    if not options.get("relaxed"):
        require_version(root, recording)
    workspace = Path(options.pop("workspace", folder / "workspace"))
    return ScenarioReplay(recording, workspace, journal=stage.journal, **options)
