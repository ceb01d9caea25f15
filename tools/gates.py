"""Gates of recorded runs: how much of each module its tests cover, and how many tests there are at least.

The modules, their floors and the counts are those of the document that asked for them; beside each stands where the
same work is done here. `make test-all` calls this behind its covered run, whose data it reads: nothing runs twice.
"""

from __future__ import annotations

import ast
import io
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, TESTS = ROOT / "src" / "soundstage", ROOT / "tests"


class Gate(NamedTuple):
    """A module as the document names it: the least part of its lines and branches that tests reach, and its files."""

    least: int
    files: tuple[str, ...]


GATES = {
    "agent runner": Gate(90, ("runs/runner/*.py",)),
    "context manager": Gate(90, ("runs/result/*.py", "workflows/_context.py")),
    "storage": Gate(90, ("runs/_*.py",)),
    "workflow": Gate(90, ("workflows/*.py",)),
    # the root of the tree, errors.py, is loaded by the plugin before anything measures; the spine has it
    "errors": Gate(90, ("runs/_errors.py", "runs/runner/_errors.py", "workflows/_errors.py")),
    "cost": Gate(85, ("trace/_cost.py", "trace/_money.py", "runs/runner/_budget.py")),
    "configuration": Gate(80, ("config.py", "runs/runner/_config.py")),
    "judge": Gate(90, ("judges/*.py",)),
    "reporters": Gate(80, ("workflows/_reporters.py",)),
}
LATER = ("matrix",)  # a floor of 85; it comes with evaluations
COVERED = (
    "tests/runs",
    "tests/workflows",
    "tests/trace",
    "tests/judges",
)  # beside the spine; a variable of the Makefile, too

WITH_REAL_PARTS = (
    "runs/test_command.py",
    "runs/test_contents.py",
    "runs/test_keeping.py",
    "runs/test_kills.py",
    "runs/test_postgresql.py",
    "runs/test_seeded_kills.py",
    "runs/runner/test_interrupts.py",
    "runs/runner/test_storing.py",
    "runs/runner/test_targets.py",
    "workflows/test_fixture.py",
    "workflows/test_reporters.py",
    "workflows/test_runs.py",
    "claude_code/test_commits.py",
    "claude_code/test_work.py",
)
DECLARED = {
    "unit": (
        147,
        (
            "runs/**/test_*.py",
            "workflows/test_*.py",
            "trace/test_[mt]o*.py",
            "trace/test_cost.py",
            "test_config.py",
        ),
    ),
    "integration": (47, WITH_REAL_PARTS),
    "e2e": (1, ("e2e/test_*.py",)),
}


def files_of(folder: Path, patterns: tuple[str, ...]) -> set[Path]:
    """The files that fit.

    Raises:
        LookupError: for a pattern that fits none: what it meant was moved.
    """
    found = set()
    for pattern in patterns:
        fitting = set(folder.glob(pattern))
        if not fitting:
            raise LookupError(f"no file of {folder} fits {pattern!r}: correct tools/gates.py")
        found |= fitting
    return found


def count_of(kind: str) -> int:
    """How many test functions there are of a kind; one with parameters counts once."""
    files = files_of(TESTS, DECLARED[kind][1])
    if kind == "unit":
        files -= files_of(TESTS, WITH_REAL_PARTS)
    return sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for file in files
        for node in ast.parse(file.read_text()).body
    )


def part_covered(gate: Gate) -> float:
    """Percent of the lines and branches of a module that the covered run has reached."""
    import coverage

    data = coverage.Coverage(data_file=str(ROOT / ".coverage"), config_file=str(ROOT / "pyproject.toml"))
    data.load()
    files = [str(path) for path in files_of(PACKAGE, gate.files)]
    return data.report(include=files, file=io.StringIO())


def main() -> int:
    """Print a line for each module; 1 if one is below its floor."""
    below = 0
    for name, gate in GATES.items():
        part = part_covered(gate)
        below += part < gate.least
        sys.stdout.write(
            f"{name:16} {part:5.1f} % of {gate.least} %{'' if part >= gate.least else '  BELOW'}\n"
        )
    return min(below, 1)


if __name__ == "__main__":
    sys.exit(main())
