"""A map of a project: which classes and functions are where. Pure, but for the text it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

_LONGEST: Final = 160
_NAMED: Final = (
    r"^\s{{0,2}}(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:async\s+)?(?:{words})\s+[\w(*].*$"
)
_OUTLINES: Final = {
    suffix: re.compile(_NAMED.format(words=words), re.MULTILINE)
    for suffixes, words in (
        ((".js", ".jsx", ".ts", ".tsx", ".mjs"), "function\\*?|class|interface|enum|type"),
        ((".go",), "func|type"),
        ((".rs",), "fn|struct|enum|trait|impl|mod"),
        ((".java", ".cs", ".kt"), "public|class|interface|fun|enum|record"),
        ((".rb",), "def|class|module"),
    )
    for suffix in suffixes
}


def outline(name: str, text: str) -> list[str]:
    """The definitions in a file, each in a line; none if it is no program that we know.

    >>> outline("a.py", "class A:\\n    def f(self, x: int) -> str: ...")
    ['class A', '  def f(self, x: int) -> str']
    """
    suffix = PurePosixPath(name).suffix
    if suffix in (".py", ".pyi"):
        return _python(text)
    known = _OUTLINES.get(suffix)
    return [found.group().rstrip(" {")[:_LONGEST] for found in known.finditer(text)] if known else []


def _python(text: str) -> list[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ["(cannot be parsed)"]
    return list(_definitions(tree, depth=0))


def _definitions(node: ast.AST, *, depth: int) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in child.bases)
            yield f"{'  ' * depth}class {child.name}{f'({bases})' if bases else ''}"[:_LONGEST]
            yield from _definitions(child, depth=depth + 1)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            word = "async def" if isinstance(child, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(child.returns)}" if child.returns else ""
            yield f"{'  ' * depth}{word} {child.name}({ast.unparse(child.args)}){returns}"[:_LONGEST]
