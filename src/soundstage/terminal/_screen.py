"""Screens: a grid of characters with their looks, at one moment. Frozen and pure.

In an event of the journal the text of a screen is there once, and how it looks is told by places in the text. So a
screen without colours costs no more than its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from soundstage.errors import MatchError
from soundstage.journal import ScreenChanged
from soundstage.match import Contains, Regex, matcher
from soundstage.terminal._cells import Cell, Cursor, Position, Row, row_text
from soundstage.terminal._paint import html, svg
from soundstage.terminal._style import PLAIN


class Screen(NamedTuple):
    """The screen of a terminal at one moment. Rows and columns count from 0.

    Args:
        rows: the cells, row by row; all rows have the same length.
        cursor: where the cursor is.
        title: the title that the program has given to its window.

    Example:
        >>> from soundstage.terminal import Emulator
        >>> emulator = Emulator(columns=20, rows=3)
        >>> emulator.feed(b"name: \\x1b[1mAda\\x1b[0m")
        >>> screen = emulator.screen()
        >>> screen.text
        'name: Ada'
        >>> screen.find("Ada")
        Position(row=0, column=6)
        >>> screen.cell(0, 6).style.bold
        True
    """

    rows: tuple[Row, ...]
    cursor: Cursor = Cursor()
    title: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return len(self.rows[0]) if self.rows else 0, len(self.rows)

    @property
    def lines(self) -> list[str]:
        """The text of every row, without the spaces at its end."""
        return [row_text(row) for row in self.rows]

    @property
    def text(self) -> str:
        """All rows, joined by newlines, without spaces at their ends and empty rows at the bottom."""
        return "\n".join(self.lines).rstrip("\n")

    def cell(self, row: int, column: int) -> Cell:
        """One place.

        Raises:
            IndexError: if it is not on the screen.
        """
        columns, rows = self.size
        if not (0 <= row < rows and 0 <= column < columns):
            raise IndexError(f"row {row}, column {column} is outside of {rows} rows and {columns} columns")
        return self.rows[row][column]

    def find(self, match: Any) -> Position | None:
        """Where a text or a `/regex/` is first found within a row; `None` if it is nowhere.

        Raises:
            MatchError: if `match` is neither.
        """
        wanted = matcher(match)
        if not isinstance(wanted, Contains | Regex):
            raise MatchError(
                "only a text or an expression has a place on the screen",
                seen=wanted.describe(),
                hint="find('text') or find('/regex/')",
            )
        for number, row in enumerate(self.rows):
            start = _start(wanted, row_text(row))
            if start >= 0:
                return Position(number, columns_of(row)[start])
        return None

    def screenshot(self, *, cut: bool = False) -> str:
        """The screen as text, in a frame.

        Args:
            cut: leave out empty rows at the bottom; the frame says how many.
        """
        return framed(self.rows, self.cursor, cut=cut)

    def svg(self) -> str:
        """The screen as a picture (the text of an SVG file), with colours and cursor."""
        return svg(self.rows, self.cursor, self.title)

    def html(self) -> str:
        """The screen as one `<pre>` element with its looks inline, for any HTML page."""
        return html(self.rows, self.cursor, self.title)


def columns_of(row: Row) -> list[int]:
    """The column of each character of a row's text, and the one after the last."""
    return [*(column for column, cell in enumerate(row) for _ in cell.text), len(row)]


def _start(wanted: Contains | Regex, line: str) -> int:
    if isinstance(wanted, Contains):
        return line.find(wanted.text)
    found = wanted.search(line)
    return found.start() if found else -1


def framed(rows: Sequence[Row], cursor: Cursor, *, cut: bool = False) -> str:
    """The rows in a frame, with size and cursor in its edges.

    Args:
        rows: all rows.
        cursor: where the cursor is.
        cut: leave out empty rows at the bottom, and say how many.
    """
    columns = len(rows[0]) if rows else 0
    lines = ["".join(cell.text for cell in row) for row in rows]
    shown = lines
    if cut:
        filled = [number for number, line in enumerate(lines) if line.strip(" ")]
        shown = lines[: max([*filled, cursor.row]) + 1]
    empty = len(lines) - len(shown)
    below = [f"{empty} empty row{'s' if empty != 1 else ''} below"] if empty else []
    place = f"cursor at row {cursor.row}, column {cursor.column}" if cursor.visible else "no cursor"
    return "\n".join(
        [
            _edge(f"{columns} x {len(rows)}", columns),
            *(f"|{line}|" for line in shown),
            _edge("; ".join([place, *below]), columns),
        ]
    )


def _edge(words: str, columns: int) -> str:
    return "+" + f"-- {words} --".ljust(columns, "-") + "+"


def screen_event(screen: Screen, *, channel: str, label: str = "") -> ScreenChanged:
    """The event that says what a screen shows."""
    columns, rows = screen.size
    row, column, visible = screen.cursor
    styles = [(number, *place) for number, cells in enumerate(screen.rows) for place in _looks(cells)]
    return ScreenChanged(
        text=screen.text,
        channel=channel,
        label=label,
        columns=columns,
        rows=rows,
        cursor=(row, sum(len(cell.text) for cell in screen.rows[row][:column])) if visible else None,
        styles=tuple(styles),
    )


def _looks(row: Row) -> Iterator[tuple[int, int, str]]:
    end = 0
    for style, group in groupby(row, key=lambda cell: cell.style):
        start = end
        end += sum(len(cell.text) for cell in group)
        if style != PLAIN:
            yield start, end, str(style)
