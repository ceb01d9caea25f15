"""A grid: a row for each case, a cell for each of its runs, with a link to the run's page. One HTML file, no script."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.journal import Redactor
from soundstage.report._page import asset, rendered, source_hash, write_html

OUTCOMES: Final = ("failed", "mixed", "missing", "passed")  # of rows, in the order of the filter


class GridCell(NamedTuple):
    """One run.

    Args:
        text: a word or two in the cell.
        outcome: `passed`, `failed`, `error`, or another word.
        hint: shown when somebody points at it: why it failed.
        page: its page, relative to the grid; empty if it has none.
    """

    text: str
    outcome: str
    hint: str = ""
    page: str = ""


class GridRow(NamedTuple):
    """One case.

    Args:
        name: unique in the grid; the address of the row is made of it.
        outcome: one of `OUTCOMES`.
        figures: as many as the grid has columns.
        cells: its runs.
        notes: lines below its name.
        history: its earlier results, the newest first: when, and how it was.
    """

    name: str
    outcome: str
    figures: Sequence[str] = ()
    cells: Sequence[GridCell] = ()
    notes: Sequence[str] = ()
    history: Sequence[tuple[str, str]] = ()


class RunGrid(NamedTuple):
    """A page of cases and runs.

    Args:
        title: of the page.
        facts: about all of it, a line each.
        columns: names of the figures.
        rows: the cases, in the order in which they are shown.
    """

    title: str
    facts: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[GridRow]


def write_grid(path: Path, grid: RunGrid, *, redactor: Redactor | None = None) -> Path:
    """Write a grid to a file, without secrets, and return the file's path. Equal grids make equal files.

    Args:
        path: where to; a file that is there is replaced.
        grid: what to show.
        redactor: knows what to blank out; unless given, one that knows the secrets of the environment.

    Raises:
        EnvironmentProblem: if the file cannot be written.
        ReportError: if the page cannot be made.
    """
    chosen = redactor if redactor is not None else Redactor.from_environment()
    clean = _clean(grid, chosen)
    counts = Counter(row.outcome for row in clean.rows)
    style = asset("trace.css") + asset("index.css") + asset("grid.css")
    page = rendered(
        "grid.html.jinja",
        grid=clean,
        ids=[row_id(row.name) for row in clean.rows],
        counts=[(outcome, counts[outcome]) for outcome in OUTCOMES if counts[outcome]],
        style=style,
        style_hash=source_hash(style),
    )
    return write_html(path, page)


def row_id(name: str) -> str:
    """The address of a row: the same in every grid that has a row of this name.

    Example:
        >>> row_id("weather in Paris")
        'case-weather-in-paris-e68884'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    return f"case-{slug}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _clean(value: Any, redactor: Redactor) -> Any:
    """The same records, each text without secrets."""
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*_each(value, redactor))
    return tuple(_each(value, redactor))


def _each(values: Sequence[Any], redactor: Redactor) -> Iterator[Any]:
    return (_clean(one, redactor) for one in values)
