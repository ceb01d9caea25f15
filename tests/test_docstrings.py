"""Docstrings tell the truth: the examples in them run."""

from __future__ import annotations

import doctest
import importlib
from collections import defaultdict
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src"


def modules_with_examples():
    """The modules that have examples, by the folder that they are in."""
    found = defaultdict(list)
    for path in sorted((SOURCES / "soundstage").rglob("*.py")):
        if ">>> " in path.read_text():
            parts = path.relative_to(SOURCES).with_suffix("").parts
            found[".".join(parts[1:-1]) or parts[1]].append(".".join(parts).removesuffix(".__init__"))
    return found


MODULES = modules_with_examples()


@pytest.mark.parametrize("part", MODULES)
def test_the_examples_in_docstrings_are_true(part):
    results = {name: doctest.testmod(importlib.import_module(name)) for name in MODULES[part]}
    assert {name: result for name, result in results.items() if result.failed or not result.attempted} == {}


def test_the_examples_of_all_parts_are_found():
    assert {"differences", "models", "snapshots", "terminal", "wire"} <= set(MODULES)
