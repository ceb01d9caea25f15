"""Gates of recorded runs: floors of coverage by module, of counts of tests, and jobs of continuous integration."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_spec = importlib.util.spec_from_file_location("gates", ROOT / "tools" / "gates.py")
gates = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(gates)

ASKED = {
    "agent runner": 90,
    "context manager": 90,
    "storage": 90,
    "judge": 85,
    "reporters": 80,
    "configuration": 80,
    "matrix": 85,
    "workflow": 90,
    "errors": 90,
    "cost": 85,
}


def test_the_modules_of_the_table_are_ours_and_have_their_floors():
    assert {*gates.GATES, *gates.LATER} == set(ASKED)
    for name, gate in gates.GATES.items():
        assert gate.least >= ASKED[name], name
        assert gates.files_of(gates.PACKAGE, gate.files)


def test_a_module_that_was_moved_away_is_an_error_and_no_silence():
    with pytest.raises(LookupError, match=r"no/such.*gates.py"):
        gates.files_of(gates.PACKAGE, ("config.py", "no/such*.py"))


@pytest.mark.parametrize("part", [89.9, 90.0])
def test_a_module_below_its_floor_fails_the_gate_and_is_marked(monkeypatch, capsys, part):
    floors = dict.fromkeys(gates.GATES.values(), 100.0) | {gates.GATES["storage"]: part}
    monkeypatch.setattr(gates, "part_covered", lambda gate: floors[gate])
    assert gates.main() == (part < 90)
    marked = [line for line in capsys.readouterr().out.splitlines() if "BELOW" in line]
    assert [line.split()[0] for line in marked] == (["storage"] if part < 90 else [])


def test_coverage_is_that_of_the_lines_and_branches_of_the_module(tmp_path, monkeypatch):
    import coverage

    package = tmp_path / "src" / "soundstage"
    package.mkdir(parents=True)
    (package / "one.py").write_text("def f(a):\n    if a:\n        return 1\n    return 2\n")
    (package / "two.py").write_text("x = 1\n")
    (tmp_path / "pyproject.toml").write_text("[tool.coverage.run]\nbranch = true\n")
    data = coverage.CoverageData(str(tmp_path / ".coverage"))
    one = str(package / "one.py")
    data.add_arcs({one: [(-1, 1), (1, -1), (-1, 2), (2, 3), (3, -1)], str(package / "two.py"): [(-1, 1)]})
    data.write()
    monkeypatch.setattr(gates, "ROOT", tmp_path)
    monkeypatch.setattr(gates, "PACKAGE", package)
    assert gates.part_covered(gates.Gate(90, ("one.py",))) == pytest.approx(100 * (3 + 1) / (4 + 2))
    assert gates.part_covered(gates.Gate(90, ("two.py",))) == 100


@pytest.mark.parametrize(("kind", "least"), [("unit", 147), ("integration", 47), ("e2e", 1)])
def test_there_are_at_least_as_many_tests_as_were_declared(kind, least):
    assert gates.DECLARED[kind][0] == least
    assert gates.count_of(kind) >= least


def test_continuous_integration_lints_checks_types_and_runs_every_part():
    steps = (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert steps.index("make check") < steps.index("make test-all")
    assert 'tests/scenarios -m "not full" -n 2 -q --soundstage-run-cpu 60 --soundstage-test-cpu 5' in steps
    assert "\nTEST_CPU ?= 5\n" in makefile  # of the fast part
    check = makefile.partition("\ncheck:")[2].partition("\nformat:")[0]
    assert {"ruff check", "mypy", "lint-imports"} <= set(re.findall(r"ruff check|mypy|lint-imports", check))
    suite = makefile.partition("\ntest-all:")[2].partition("\ncheck:")[0]
    assert "tools/gates.py" in suite
    covered = makefile.partition("\nGATED_TESTS := ")[2].partition("\n")[0]
    assert tuple(covered.split()) == gates.COVERED
    assert suite.count("$(GATED_TESTS)") == 1
    assert "$(GATED_TESTS:%=--ignore=%)" in suite  # nothing runs twice
