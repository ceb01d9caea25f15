"""The tables of rows in docs/rows-*.md: none is missing, and each test that they name exists."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TABLES = {"runs": ("R3", set(range(1, 122)), set()), "evals": ("R4", set(range(60, 81)), set())}


def rows_of(table):
    lines = (ROOT / "docs" / f"rows-{table}.md").read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| R")]


LINES = [line for table in TABLES for line in rows_of(table)]
NAMED = [(line[0], name) for line in LINES for name in re.findall(r"`([^`]+)`", line[2])]


@functools.cache
def named_in(path):
    tree = ast.parse((ROOT / "tests" / path).read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


@pytest.mark.parametrize("table", TABLES)
def test_each_row_is_there_once_and_in_order(table):
    group, wanted, later = TABLES[table]
    found = [line[0].split(".") for line in rows_of(table)]
    assert {name for name, _ in found} == {group}
    numbers = [int(number) for _, number in found]
    assert numbers == sorted(set(numbers))
    assert wanted - later <= set(numbers) <= wanted


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
