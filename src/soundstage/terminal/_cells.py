"""The cells of a screen, and how they are grouped for those who draw them. Pure.

Rows and columns count from 0. A wide character (most of Chinese, Japanese, Korean, emoji) takes two columns:
it is in the first, and the cell after it is empty (`""`). Marks that combine with a letter are in its cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from soundstage.terminal._style import PLAIN, Style


class Cell(NamedTuple):
    """One place on the screen: a character, and how it looks."""

    text: str = " "
    style: Style = PLAIN


class Position(NamedTuple):
    """A place on the screen, counted from 0."""

    row: int
    column: int


class Cursor(NamedTuple):
    """Where the cursor is, and whether it can be seen."""

    row: int = 0
    column: int = 0
    visible: bool = True


Row = tuple[Cell, ...]
BLANK = Cell()


class CellRun(NamedTuple):
    """Cells in a row that look alike and are equally wide."""

    column: int
    width: int
    """In columns."""
    text: str
    style: Style
    wide: bool
    """A single character of two columns."""


def row_text(row: Row) -> str:
    """The text of a row, without the spaces at its end."""
    return "".join(cell.text for cell in row).rstrip(" ")


def runs(row: Row) -> Iterator[CellRun]:
    """The row in as few runs as possible. Each wide character is a run of its own, so that it keeps its place."""
    wide = [bool(cell.text) and not after.text for cell, after in zip(row, (*row[1:], BLANK), strict=True)]
    cells = [(column, cell, wide[column]) for column, cell in enumerate(row) if cell.text]
    for (style, broad), group in groupby(cells, key=lambda item: (item[1].style, item[2] and item[0] + 1)):
        alike = list(group)
        text = "".join(cell.text for _, cell, _ in alike)
        yield CellRun(alike[0][0], 2 if broad else len(alike), text, style, bool(broad))
