"""A screen of the journal as a screen again. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wcwidth import wcwidth

from soundstage.journal import ScreenChanged
from soundstage.worlds._screen import Screen
from soundstage.worlds._screen_cells import BLANK, Cell, Cursor, Row
from soundstage.worlds._screen_style import PLAIN, Style


def screen_of(event: ScreenChanged) -> Screen:
    """The screen that an event tells of: the opposite of `screen_event`, but for the window's title."""
    lines = event.text.split("\n")
    rows = max(event.rows, len(lines))
    lines += [""] * (rows - len(lines))
    styles: list[list[tuple[int, int, Style]]] = [[] for _ in lines]
    for row, start, end, look in event.styles:
        if row < rows:
            styles[row].append((start, end, Style.parse(look)))
    cells = [_cells(line, looks) for line, looks in zip(lines, styles, strict=True)]
    columns = max([event.columns, *map(len, cells)])
    cursor = Cursor(0, 0, visible=False)
    if event.cursor is not None:
        row, character = event.cursor
        cursor = Cursor(row, _column(cells[row], character), visible=True) if row < rows else cursor
    return Screen(tuple(row + (BLANK,) * (columns - len(row)) for row in cells), cursor)


def _cells(line: str, styles: list[tuple[int, int, Style]]) -> Row:
    """The cells of a line; styled spaces behind its text count."""
    length = max([len(line), *(end for _, end, _ in styles)])
    looks = [PLAIN] * length
    for start, end, style in styles:
        looks[start:end] = [style] * (end - start)
    return tuple(_placed(line.ljust(length), looks))


def _placed(text: str, looks: list[Style]) -> Iterator[Cell]:
    pending: Cell | None = None
    for sign, style in zip(text, looks, strict=True):
        width = wcwidth(sign)
        if width == 0 and pending is not None:  # a mark that combines with the letter before it
            pending = pending._replace(text=pending.text + sign)
            continue
        if pending is not None:
            yield from _with_its_shadow(pending)
        pending = Cell(sign, style)
    if pending is not None:
        yield from _with_its_shadow(pending)


def _with_its_shadow(cell: Cell) -> Iterator[Cell]:
    yield cell
    if wcwidth(cell.text[0]) == 2:
        yield Cell("", cell.style)


def _column(row: Row, character: int) -> int:
    """The column of a character of the row; behind the row's text there is one for each."""
    seen = 0
    for column, cell in enumerate(row):
        if seen >= character and cell.text:
            return column
        seen += len(cell.text)
    return len(row) + character - seen
