"""Names and first words: one class name means one thing in the package, and a docstring says what the thing is.

And a name with an underscore stays at home: packages use of each other what is public.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "soundstage"
WORDS = (  # places whose docstrings are in shape
    "src/soundstage",
    "bench",
    "examples",
    "tools",
    "tests",
)
PRIVATE = re.compile(r"\._|import\s+(?:\(\s*)?_|,\s*_")  # what an import of a private name has in it
RESERVED = {  # concepts of their own, which no other class may be called, and the one place of each, if there is one
    "Run": "",
    "Stage": "workflows/_stage.py",
    "Workflow": "workflows/_workflow.py",
    "Scenario": "scenarios/_scenario.py",
}


@cache
def classes():
    """Every class of the package: its name -> the places that define it."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def test_run_stage_workflow_and_scenario_are_classes_in_one_place_at_most():
    found = {name: [place.partition(":")[0] for place in classes().get(name, ())] for name in RESERVED}
    assert found == {name: [place] if place else [] for name, place in RESERVED.items()}


def vague_docstrings(path):
    """The docstrings of a file that begin with "What", with their lines."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "What" in text else ():  # to parse all takes long
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


def imports_of(path, root):
    """The dotted names that a file under `root` imports if one of them may be private, as (line, name).

    Imports within functions count too.
    """
    package = path.relative_to(root).parent.parts
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if PRIVATE.search(text) else ():  # to parse all takes long
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*start, *filter(None, [node.module])))
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def is_private(name):
    return name.startswith("_") and not name.endswith("__")  # `__version__` is public


def foreign_private_imports(path, package=PACKAGE):
    """The private names of other packages that a file imports. A wing with its folders is one package."""
    own = path.relative_to(package).parts[0]
    for line, name in imports_of(path, package.parent):
        top, *rest = name.split(".")
        if top == package.name and rest[:1] != [own] and any(is_private(part) for part in rest):
            yield f"{path.relative_to(package)}:{line}: {name}"


def test_no_package_imports_a_private_name_of_another():
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 400
    assert [found for path in files for found in foreign_private_imports(path)] == []


@pytest.mark.parametrize(
    "code",
    [
        "from soundstage.journal._words import call_text",
        "from soundstage.journal import _words",
        "import soundstage.journal._words",
        "from ..journal._words import call_text",
        "def late():\n    from soundstage.journal._words import call_text",
    ],
)
def test_each_way_to_import_a_private_name_is_seen(code, tmp_path):
    package = tmp_path / "soundstage"
    (package / "mcp").mkdir(parents=True)
    (package / "mcp" / "_events.py").write_text(code)
    assert list(foreign_private_imports(package / "mcp" / "_events.py", package))
