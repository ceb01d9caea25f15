"""Configurations of promptfoo in a folder of their own."""

from __future__ import annotations

import pytest
import yaml


@pytest.fixture
def configured(tmp_path):
    """Writes a configuration, as text or as data, over one with a prompt and the provider echo."""

    def write(config, **files):
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        if isinstance(config, dict):
            usual = {"prompts": ["{{o}}"], "providers": ["echo"]}
            config = yaml.safe_dump({**usual, **config}, sort_keys=False)
        (tmp_path / "promptfooconfig.yaml").write_text(config)
        return tmp_path / "promptfooconfig.yaml"

    return write
