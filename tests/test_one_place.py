"""What is done in one place is done nowhere else: names that are like a misspelt one, JSON cut out of text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import soundstage

SOURCE = Path(soundstage.__file__).parent
ONE_PLACE = {
    "get_close_matches": "errors.py",
    "raw_decode": "match/_json.py",
}


def names_of(tree: ast.AST) -> Iterator[str]:
    """Every name that a module reads, imports, or takes from something with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


USED = {
    path.relative_to(SOURCE).as_posix(): set(names_of(ast.parse(path.read_text())))
    for path in SOURCE.rglob("*.py")
}


@pytest.mark.parametrize("name", ONE_PLACE)
def test_one_module_alone_uses(name):
    assert [path for path, names in USED.items() if name in names] == [ONE_PLACE[name]]
