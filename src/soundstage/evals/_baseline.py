"""A result in short: of each case its runs, passes, scores and cost. What is compared, and what a baseline file holds.

A baseline stays in git, so it has no time, no id and no figure of the machine, and a case is a line: a difference of
two baselines is read like one of code.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from soundstage.errors import ConfigError, did_you_mean
from soundstage.evals._features import read_run
from soundstage.evals._making import DRIVER
from soundstage.evals._report import EvalReport
from soundstage.runs import RunStore

VERSION: Final = 1
LAST: Final = "last"
LAST_FILE: Final = "last-report.json"  # in the folder `evals` of a store
_OF_THE_MACHINE: Final = ("latency",)  # evaluators whose scores another machine does not repeat
_DIGITS: Final = 6
T = TypeVar("T")


class CaseBaseline(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The result of one case.

    Args:
        fingerprint: of its input and what is expected.
        runs: runs with a result.
        passed: of them, those that passed.
        scores: means, by evaluator.
        cost: US dollars of a run, on average; `None` if it is not known.
    """

    fingerprint: str
    runs: int
    passed: int
    scores: dict[str, float] = {}
    cost: float | None = None


class EvalBaseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of an eval in short.

    Args:
        suite: name of the suite.
        cases: by name.
        version: of the form.
    """

    suite: str
    cases: dict[str, CaseBaseline]
    version: int = VERSION

    def as_text(self) -> str:
        """The file: JSON, sorted, with a line for each case."""
        lines = [
            f"    {json.dumps(name, ensure_ascii=False)}: {_in_a_line(msgspec.to_builtins(self.cases[name]))}"
            for name in sorted(self.cases)
        ]
        head = f'{{\n  "version": {self.version},\n  "suite": {json.dumps(self.suite, ensure_ascii=False)},\n'
        return head + '  "cases": {\n' + ",\n".join(lines) + "\n  }\n}\n"


class _ReportedGrade(msgspec.Struct, frozen=True):
    evaluator: str = ""
    score: float | None = None


class _ReportedRun(msgspec.Struct, frozen=True):
    outcome: str
    cost: float | None = None
    grades: tuple[_ReportedGrade, ...] = ()


class _ReportedCase(msgspec.Struct, frozen=True):
    name: str
    fingerprint: str
    runs: tuple[_ReportedRun, ...]


class _Reported(msgspec.Struct, frozen=True):
    """The part of a `last-report.json` that is read."""

    suite: str
    cases: tuple[_ReportedCase, ...]


def baseline_of(report: EvalReport) -> EvalBaseline:
    """A report in short.

    Example: `Path("baseline.json").write_text(baseline_of(report).as_text())`
    """
    cases = {case.name: _case(case.fingerprint, case.runs) for case in report.cases}
    return EvalBaseline(suite=report.suite, cases=cases)


def load_baseline(path: Path | str) -> EvalBaseline:
    """The result in a baseline file, or in a `last-report.json`.

    Raises:
        ConfigError: if it is neither, or of another version; the message says what to do.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint=_HOW) from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}", hint=_HOW) from None
    if isinstance(data, Mapping) and "total" in data:
        found = _convert(data, _Reported, path)
        return EvalBaseline(
            suite=found.suite, cases={case.name: _case(case.fingerprint, case.runs) for case in found.cases}
        )
    version = data.get("version") if isinstance(data, Mapping) else None
    if version != VERSION:
        _refuse(path, f"it has version {version}, this Soundstage reads version {VERSION}")
    return _convert(data, EvalBaseline, path)


def find_result(name: str, store: RunStore) -> EvalBaseline:
    """The result that a name means: `last`, the id of an eval in a store or how it alone begins, or a file.

    Raises:
        ConfigError: if there is none, or it cannot be read.
    """
    if name == LAST:
        path = store.root / "evals" / LAST_FILE
        if not path.is_file():
            raise ConfigError(f"there is no last eval in {store.root}", hint="soundstage eval run SUITE")
        return load_baseline(path)
    records = store.list(driver=DRIVER, labels={"eval": name})
    if not records:
        if Path(name).is_file():
            return load_baseline(name)
        known = {run.labels.get("eval", "") for run in store.list(driver=DRIVER)}
        begun = sorted(one for one in known if name and one.startswith(name))
        if len(begun) == 1:
            return find_result(begun[0], store)
        if begun:
            raise ConfigError(f"{name!r} begins the ids of several evals", seen=", ".join(begun[:5]))
        raise ConfigError(
            f"there is no eval and no file {name!r}",
            expected=f"{LAST}, the id of an eval in {store.root}, a {LAST_FILE}, or a baseline file",
            hint=did_you_mean(name, known),
        )
    if any("case_fingerprint" not in record.labels for record in records):
        raise ConfigError(f"the eval {name} was kept by an older version", hint="run it again")
    runs: dict[str, list[Any]] = {}
    for record in reversed(records):
        runs.setdefault(record.labels["case"], []).append(read_run(store.open(record)))
    fingerprints = {record.labels["case"]: record.labels["case_fingerprint"] for record in records}
    cases = {case: _case(fingerprints[case], found) for case, found in runs.items()}
    return EvalBaseline(suite=records[0].labels["suite"], cases=cases)


_HOW: Final = "write it with: soundstage eval baseline FILE"


def _refuse(path: Path, why: str) -> NoReturn:
    raise ConfigError(
        f"{path} cannot be used as a baseline: {why}", hint=f"{_HOW}, after: soundstage eval run SUITE"
    )


def _convert(data: Any, form: type[T], path: Path) -> T:
    try:
        found = msgspec.convert(data, form)
    except msgspec.ValidationError as error:
        _refuse(path, str(error))
    if isinstance(found, EvalBaseline):
        for name, case in found.cases.items():
            if not 0 <= case.passed <= case.runs:
                _refuse(path, f"{case.passed} of {case.runs} runs passed - `$.cases[{name!r}]`")
    return found


def _case(fingerprint: str, runs: Iterable[Any]) -> CaseBaseline:
    """The runs of a case in short; those with errors are no results."""
    counted = [run for run in runs if run.outcome != "error"]
    scores: dict[str, list[float]] = {}
    for run in counted:
        for grade in run.grades:
            if grade.score is not None and grade.evaluator.partition(":")[0] not in _OF_THE_MACHINE:
                scores.setdefault(grade.evaluator, []).append(grade.score)
    costs = [run.cost for run in counted]
    known = [cost for cost in costs if cost is not None]
    return CaseBaseline(
        fingerprint=fingerprint,
        runs=len(counted),
        passed=sum(run.outcome == "passed" for run in counted),
        scores={name: _mean(scores[name]) for name in sorted(scores)},
        cost=_mean(known) if known and len(known) == len(costs) else None,
    )


def _mean(values: Sequence[float]) -> float:
    """The mean, with so many digits as do not differ by the order of sums."""
    return float(f"{math.fsum(values) / len(values):.{_DIGITS}g}")


def _in_a_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_last(report: EvalReport, root: Path) -> None:
    """Write the report of the last eval of a store, in one step: others may read it meanwhile."""
    folder = root / "evals"
    folder.mkdir(parents=True, exist_ok=True)
    data = msgspec.json.format(msgspec.json.encode(report.as_json())) + b"\n"
    draft = folder / f".{LAST_FILE}.{os.getpid()}"
    draft.write_bytes(data)
    draft.replace(folder / LAST_FILE)
