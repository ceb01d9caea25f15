"""Names and first words: one class name means one thing in the package, and a docstring says what the thing is."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "soundstage"
WORDS = (  # places whose docstrings are in shape; the other tests follow
    "src/soundstage",
    "bench",
    "examples",
    "tools",
    "tests/trace",
    "tests/wire",
    "tests/support",
    "tests/lifecycle",
    "tests/models",
)
RESERVED = (
    "Run",
    "Stage",
    "Workflow",
    "Scenario",
)  # concepts of their own, which no other class may be called


def classes():
    """Every class of the package: its name -> the places that define it."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def test_run_stage_workflow_and_scenario_are_free():
    places = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name in RESERVED
    ]
    assert places == []


def vague_docstrings(path):
    """The docstrings of a file that begin with "What", with their lines."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, kinds) and (ast.get_docstring(node) or "").startswith("What"):
            yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def test_no_public_class_name_is_defined_twice():
    found = classes()
    assert len(found) > 100
    twice = {name: places for name, places in found.items() if len(places) > 1 and not name.startswith("_")}
    assert twice == {}


@pytest.mark.parametrize("part", WORDS)
def test_no_docstring_begins_with_what(part):
    place = ROOT / part
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    assert files
    assert [found for path in files for found in vague_docstrings(path)] == []
