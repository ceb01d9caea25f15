"""The wing as users see it: its examples run, and importing it stays light."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import soundstage.live

MODULES = [info.name for info in pkgutil.iter_modules(soundstage.live.__path__, "soundstage.live.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_are_true(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_a_live_model_loads_no_library_before_it_asks():
    code = (
        "import sys; from soundstage.live import LiveModel\n"
        "LiveModel('openai', api_key='k', allow=True)\n"
        "print([name for name in ('httpx', 'yaml', 'uvicorn', 'openai', 'anthropic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
