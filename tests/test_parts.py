"""The table of the suite's two parts is true: each of its patterns fits a file, and the documents show it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parts import FULL, KEPT, in_full_part, table

TESTS = Path(__file__).resolve().parent
PATTERNS = [pattern for patterns in (*FULL.values(), *KEPT.values()) for pattern in patterns]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_names_tests_that_exist(pattern):
    files, _, names = pattern.partition("::")
    for path in TESTS.rglob("test_*.py"):
        place = path.relative_to(TESTS).as_posix()
        functions = "\n".join(
            f"{place}::{name}[any: program sdk in process, virtual time README epti]"
            for name in re.findall(r"def (test_\w+)", path.read_text())
        )
        if re.match(files, place) and (not names or re.search(pattern.split("\\[")[0], functions)):
            return
    pytest.fail(f"no test fits {pattern!r}; correct tests/parts.py")


def test_the_table_in_the_documents_is_the_one_that_decides():
    assert table() in (TESTS.parent / "CONTRIBUTING.md").read_text(), (
        f"put this into CONTRIBUTING.md:\n{table()}"
    )


def test_a_kept_test_is_in_the_fast_part_and_its_neighbours_are_not():
    assert in_full_part("e2e/test_cli.py::test_a_journal_is_continued")
    assert not in_full_part("e2e/test_cli.py::test_show_prints_the_trace")
    assert not in_full_part("trace/test_runs.py::test_anything")
