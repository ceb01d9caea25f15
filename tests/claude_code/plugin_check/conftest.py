"""A folder for the plugin of a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.plugins import Make, write


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(files: Mapping[str, Any], name: str = "mine") -> Path:
        return write(tmp_path / name, files)

    return make
