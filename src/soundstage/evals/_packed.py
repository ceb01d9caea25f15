"""The page of an eval with the pages of its runs, as a folder or packed, with relative paths; all of it, or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from soundstage.errors import FileError
from soundstage.evals._history import PastResult, case_drift, case_history
from soundstage.evals._report import CaseReport, EvalReport, ScoredRun
from soundstage.evals._report_text import total_line
from soundstage.report import GridCell, GridRow, RunGrid, Section, write_grid, write_page
from soundstage.runs import RunStore, parts_of, write_archive

INDEX: Final = "index.html"
MANIFEST: Final = "manifest.json"
_COLUMNS: Final = ("passed", "rate", "95 % interval", "required", "seconds", "tokens")
_EARLIER: Final = 10  # results of a case in its history


class PackedFile(msgspec.Struct, frozen=True):
    """A line of the manifest: a path below the report, bytes, and what it is."""

    path: str
    size: int
    kind: str


class _Manifest(msgspec.Struct, frozen=True):
    version: int
    files: tuple[PackedFile, ...]


def write_report(report: EvalReport, store: RunStore, path: Path) -> Path:
    """Write the page of an eval, and beside it a folder with the page of each run and a manifest.

    Args:
        report: of an eval whose runs the store has.
        store: has the journals.
        path: of the page; its folder is called like it, with `.files` behind.

    Raises:
        FileError: if a file cannot be written; nothing is left of what was begun. If that folder is there and is not
            that of an earlier report: nothing is written.
        ReportError: if a page cannot be made.
    """
    beside = path.with_suffix(".files")
    _check_ours(beside)
    with _begun(path, beside.with_name(f".{beside.name}.{os.getpid()}")) as folder:
        for run in _kept(report):
            _write_run(run, store, folder / "runs")
        _write_manifest(folder)
        write_grid(folder / INDEX, grid_of(report, store, pages=f"{beside.name}/runs"))
        shutil.rmtree(beside, ignore_errors=True)
        folder.replace(beside)
        (beside / INDEX).replace(path)
    return path


def pack_report(report: EvalReport, store: RunStore, path: Path) -> Path:
    """Write the page of an eval, the pages of its runs, and the files that runs have left, as one zip archive.

    Args:
        report: of an eval whose runs the store has.
        store: has the journals and the files.
        path: of the archive.

    Raises:
        FileError: if a file cannot be written; nothing is left of what was begun.
        ReportError: if a page cannot be made.
    """
    with _begun(path, path.with_name(f".{path.name}.files.{os.getpid()}")) as folder:
        for run in _kept(report):
            _write_run(run, store, folder / "runs")
            for name, pieces in parts_of(store.open(run.run)):
                target = folder / "attachments" / run.run / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(b"".join(pieces))
        write_grid(folder / INDEX, grid_of(report, store, pages="runs"))
        _write_manifest(folder)
        parts = ((name, [(folder / name).read_bytes()]) for name in _files(folder))
        return write_archive(path, parts, f"the report of the eval {report.eval}")


def grid_of(report: EvalReport, store: RunStore, *, pages: str) -> RunGrid:
    """The grid of a report: a row for each case, with its history in the store.

    Args:
        report: the eval.
        store: has it, and earlier ones.
        pages: the folder of the pages of runs, relative to the grid.
    """
    history = case_history(store, report.suite)
    facts = [f"eval {report.eval}", total_line(report)]
    rows = [_row(case, report.eval, history.get(case.name, []), pages) for case in report.cases]
    return RunGrid(f"Eval {report.suite}", facts, _COLUMNS, rows)


def _row(case: CaseReport, eval_id: str, history: Sequence[PastResult], pages: str) -> GridRow:
    rate = case.rate
    good = "passed" if case.passed else "failed" if case.is_below else "missing"
    outcome = "mixed" if good != "missing" and 0 < rate.passed < rate.runs else good
    first = next((run.reason for run in case.runs if run.outcome != "passed" and run.reason), "")
    return GridRow(
        name=case.name,
        outcome=outcome,
        figures=(
            f"{rate.passed}/{case.planned}",
            f"{rate.rate:.0%}",
            f"{rate.low:.0%} to {rate.high:.0%}",
            f"{case.required:.0%}",
            f"{case.average('seconds'):.2f}",
            f"{case.average('tokens'):.0f}",
        ),
        cells=[_cell(run, pages) for run in case.runs],
        notes=[note for note in (first, case_drift(history)) if note],
        history=[(one.when, str(one)) for one in history if one.eval != eval_id][:_EARLIER],
    )


def _cell(run: ScoredRun, pages: str) -> GridCell:
    page = f"{pages}/{run.run}.html" if run.run else ""
    return GridCell(str(run.number), run.outcome, f"{run.outcome}: {run.reason}" if run.reason else "", page)


def _kept(report: EvalReport) -> Iterator[ScoredRun]:
    return (run for case in report.cases for run in case.runs if run.run)


def _write_run(run: ScoredRun, store: RunStore, folder: Path) -> None:
    title = f"{run.case}, run {run.number}"
    section = Section(title, store.open(run.run).journal(), outcome=run.outcome, failure=run.reason)
    write_page(folder / f"{run.run}.html", [section], title=title)


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _write_manifest(folder: Path) -> None:
    kinds = {"runs": "page", "attachments": "attachment", INDEX: "index"}
    found = [
        PackedFile(name, (folder / name).stat().st_size, kinds[name.partition("/")[0]])
        for name in _files(folder)
    ]
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode({"version": 1, "files": found})))


def _check_ours(folder: Path) -> None:
    """Refuse a folder that is to be replaced and has what is not of a report."""
    if not folder.exists():
        return
    known = _listed(folder / MANIFEST)
    found = _files(folder) if folder.is_dir() else [folder.name]
    foreign = [name for name in found if name not in known]
    if foreign:
        raise FileError(
            f"{folder} is not replaced: it is no folder of a report alone",
            expected="no such folder, or the one that an earlier report has left",
            seen=", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else ""),
            hint="choose another name for the page, or move these files",
        )


def _listed(manifest: Path) -> list[str]:
    """The files that a manifest of ours names; none if it is another one."""
    try:
        found = msgspec.json.decode(manifest.read_bytes(), type=_Manifest)
    except (OSError, msgspec.MsgspecError):
        return []
    return [MANIFEST, INDEX, *(one.path for one in found.files)]


@contextlib.contextmanager
def _begun(path: Path, folder: Path) -> Iterator[Path]:
    """A folder beside a target; whatever goes wrong, nothing is left of it."""
    try:
        folder.mkdir(parents=True)
        yield folder
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"the report {path} cannot be written",
            seen=error.strerror or str(error),
            hint="choose a folder that you may write to, with space",
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
