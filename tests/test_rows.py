"""The table of rows in docs/rows-runs.md: none is missing, and each test that it names exists."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "rows-runs.md").read_text().splitlines()
    if line.startswith("| R")
]
LATER = {108, 109, 110, 111}  # of evaluations; whoever adds a row takes it away here
NAMED = [(line[0], name) for line in LINES for name in re.findall(r"`([^`]+)`", line[2])]


@functools.cache
def named_in(path):
    tree = ast.parse((ROOT / "tests" / path).read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


def test_each_row_is_there_once_and_in_order():
    found = [int(line[0].removeprefix("R3.")) for line in LINES]
    assert found == sorted(set(found))
    assert set(range(1, 122)) - set(found) <= LATER


def test_each_row_says_what_it_asks_and_names_its_tests_or_says_that_there_is_none():
    for row, asked, shown, decided in LINES:
        assert asked, row
        assert re.fullmatch(r"open|no test|`\S+`(<br>`\S+`)*", shown), f"{row}: {shown}"
        assert decided or shown != "no test", f"{row} has no test, and does not say why"


@pytest.mark.parametrize(
    ("row", "name"), NAMED, ids=[f"{row} {number}" for number, (row, _) in enumerate(NAMED)]
)
def test_each_test_that_a_row_names_exists(row, name):
    path, _, test = name.partition("::")
    assert (ROOT / "tests" / path).is_file(), f"{row}: there is no tests/{path}"
    assert test in named_in(path) if test else named_in(path), f"{row}: tests/{path} has no {test or 'test'}"


def test_most_rows_are_shown_by_a_test():
    assert sum(shown == "open" for _, _, shown, _ in LINES) <= 35
