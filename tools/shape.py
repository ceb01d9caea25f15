"""The house's sizes and the absence of import cycles, checked: file and function lengths, modules in cycles.

Limits: no file over 600 lines, median of the package at most 150; no function over 80 lines, 95 of 100 at
most 50. Imports inside functions and for type checking count.
"""

from __future__ import annotations

import ast
import statistics
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "soundstage"
FOLDERS = ("src", "tests", "bench", "tools", "examples")
MAX_FILE, MEDIAN_FILE, MAX_FUNCTION, P95_FUNCTION = 600, 150, 80, 50


def function_lengths(path: Path) -> list[tuple[int, str]]:
    """(lines, where) of every function in a file."""
    return [
        (
            (node.end_lineno or node.lineno) - node.lineno + 1,
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}",
        )
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def size_problems() -> list[str]:
    """Files and functions that are too long."""
    problems = []
    places = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    for path in places:
        lines = len(path.read_text().splitlines())
        if lines > MAX_FILE:
            problems.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {MAX_FILE}")
        problems += [
            f"{where}: {length} lines, at most {MAX_FUNCTION}"
            for length, where in function_lengths(path)
            if length > MAX_FUNCTION
        ]
    median = statistics.median(len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py"))
    if median > MEDIAN_FILE:
        problems.append(f"the median file of the package has {median} lines, at most {MEDIAN_FILE}")
    lengths = sorted(length for path in PACKAGE.rglob("*.py") for length, _ in function_lengths(path))
    p95 = lengths[int(len(lengths) * 0.95)]
    if p95 > P95_FUNCTION:
        problems.append(f"5 of 100 functions of the package have over {p95} lines, at most {P95_FUNCTION}")
    print(f"{len(places)} files, median {median:g} lines; 95 of 100 functions have at most {p95} lines")  # noqa: T201
    return problems


def cycles() -> list[str]:
    """Modules that import each other, directly or through others. `__init__` windows are no way round."""
    graph = grimp.build_graph("soundstage", cache_dir=None)
    problems = []
    for module in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported == "soundstage" or module == "soundstage":
                continue
            chain = graph.find_shortest_chain(imported, module)
            if chain:
                problems.append("cycle: " + " -> ".join((module, *chain)))
    return problems


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    problems = size_problems() + cycles()
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
