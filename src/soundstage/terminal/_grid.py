"""The cells of a terminal: `pyte.Screen`, made to behave as the xterm that programs are told they have.

pyte keeps cells, cursor, margins and tab stops. It is a VT102; what a program with TERM=xterm-256color relies
on is different or missing in it: erasing in the colour behind the text (terminfo's `bce`), scrolling by count,
lines that scroll out, moves that respect margins only from within. Where it loses text it is replaced as well:
with it a joiner or a variation selector ends a text, a wide character does not fit into the last column, and
deleted lines stay if what comes after them has never been written.

This is the only file that imports pyte, and it is imported when the first terminal is made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import pyte
from pyte import modes
from pyte.screens import Margins, StaticDefaultDict
from wcwidth import wcwidth

from soundstage.terminal._cells import BLANK, Cell, Row, row_text
from soundstage.terminal._style import PLAIN, Style

Line = dict[int, Cell]

MAX_MARKS: Final = 16  # characters in one cell: a letter and what combines with it
_STYLES: Final = 256  # styles whose cells are kept ready
MODES: Final = {"4": modes.IRM, "20": modes.LNM, "?6": modes.DECOM, "?7": modes.DECAWM}
"""The modes that cells and cursor follow, by their names in sequences."""

_width = lru_cache(maxsize=4096)(wcwidth)


class _Ready(dict[str, Cell]):
    """The cells of one style, made when they are first needed."""

    def __init__(self, style: Style) -> None:
        self._style = style

    def __missing__(self, char: str) -> Cell:
        cell = self[char] = Cell(char, self._style)
        return cell


class Grid(pyte.Screen):
    """The cells of one screen (a terminal has two), its cursor, and the lines that have scrolled out.

    Args:
        columns: how wide.
        rows: how high.
        history: how many lines to keep that scroll out at the top.
    """

    buffer: dict[int, Line]  # type: ignore[assignment]  # our cells in it, not pyte's

    def __init__(self, columns: int, rows: int, *, history: int) -> None:
        self.history: deque[Line] = deque(maxlen=history)
        super().__init__(columns, rows)

    @property
    def default_char(self) -> Any:
        """A cell that has never been written."""
        return BLANK

    def reset(self) -> None:
        """As it was in the beginning, without what has scrolled out."""
        super().reset()
        self.pen = PLAIN
        self.saved: Any = None
        self.history.clear()
        self._has_wide = False
        self._ready: dict[Style, _Ready] = {}

    def rows(self, *, reverse: bool = False) -> tuple[Row, ...]:
        """All cells. `reverse` is the mode in which all colours are swapped."""
        columns = range(self.columns)
        found = [tuple([line.get(x, BLANK) for x in columns]) for line in map(self._line, range(self.lines))]
        return tuple(map(_reversed, found)) if reverse else tuple(found)

    def past(self) -> list[str]:
        """The lines that have scrolled out, oldest first."""
        return [
            row_text(tuple(line.get(x, BLANK) for x in range(max(line, default=-1) + 1)))
            for line in self.history
        ]

    def _line(self, y: int) -> Line:
        return self.buffer.get(y) or {}

    @property
    def region(self) -> tuple[int, int]:
        """First and last row of what scrolls."""
        return self.margins or (0, self.lines - 1)

    # Writing.

    def draw(self, data: str) -> None:
        """Write text at the cursor."""
        ready = self._ready.get(self.pen)
        if ready is None:
            if len(self._ready) >= _STYLES:
                self._ready.clear()
            ready = self._ready[self.pen] = _Ready(self.pen)
        if data.isascii():
            self._put(list(map(ready.__getitem__, data)))
            return
        cells: list[Cell] = []
        for char in data:
            width = _width(char)
            if width == 1:
                cells.append(Cell(char, self.pen))
                continue
            self._put(cells)
            cells = []
            if width == 2:
                self._put_wide(char)
            elif width == 0:
                self._combine(char)
        self._put(cells)

    def _put(self, cells: Sequence[Cell]) -> None:
        """Write narrow cells, on as many rows as they need."""
        done = 0
        while done < len(cells):
            x = self._room(1)
            piece = cells[done : done + self.columns - x]
            done += len(piece)
            if done < len(cells) and modes.DECAWM not in self.mode:
                piece, done = [*piece[:-1], cells[-1]], len(cells)  # all the rest lands in the last column
            if modes.IRM in self.mode:
                self.insert_characters(len(piece))
            self._write(x, piece)

    def _put_wide(self, char: str) -> None:
        if self.columns < 2:
            return
        self._has_wide = True
        x = self._room(2)
        if modes.IRM in self.mode:
            self.insert_characters(2)
        self._write(x, [Cell(char, self.pen), Cell("", self.pen)])

    def _room(self, width: int) -> int:
        """The column for a character of `width`, in the next row if it does not fit into this one."""
        if self.cursor.x > self.columns - width:
            if modes.DECAWM in self.mode:
                self.carriage_return()
                self.index()
            else:
                self.cursor.x = self.columns - width
        return self.cursor.x

    def _write(self, x: int, cells: Sequence[Cell]) -> None:
        self._set(self.cursor.y, range(x, x + len(cells)), cells)
        self.cursor.x = x + len(cells)  # one past the last column means: the next character wraps

    def _set(self, y: int, columns: range, cells: Iterable[Cell]) -> None:
        line = self.buffer[y]
        line.update(zip(columns, cells, strict=True))
        self._mend(line, columns.start - 1, columns.start, columns.stop - 1, columns.stop)

    def _combine(self, mark: str) -> None:
        """Add a mark to the character before the cursor."""
        line = self.buffer[self.cursor.y]
        x = self.cursor.x - 1
        if x > 0 and not line[x].text:
            x -= 1
        if x >= 0 and len(line[x].text) < MAX_MARKS:
            line[x] = line[x]._replace(text=line[x].text + mark)

    def _mend(self, line: Line, *columns: int) -> None:
        """Blank the halves of wide characters in these columns whose other half is gone."""
        if not self._has_wide:
            return
        for x in columns:
            if not 0 <= x < self.columns:
                continue
            if not line[x].text:
                whole = x > 0 and _is_wide(line[x - 1])
            else:
                whole = not _is_wide(line[x]) or (x + 1 < self.columns and not line[x + 1].text)
            if not whole:
                line[x] = Cell(" ", line[x].style)

    # Erasing, inserting, deleting: what appears has the colour behind the text.

    @property
    def _blank(self) -> Cell:
        return Cell(" ", Style(bg=self.pen.bg)) if self.pen.bg else BLANK

    def _blank_line(self) -> Line:
        line: Line = StaticDefaultDict(BLANK)
        if self.pen.bg:
            line.update(dict.fromkeys(range(self.columns), self._blank))
        return line

    def _erase(self, y: int, columns: range) -> None:
        self._set(y, columns, [self._blank] * len(columns))

    def erase_characters(self, count: int | None = None) -> None:
        """Erase from the cursor on, without moving anything."""
        self._erase(self.cursor.y, range(self.cursor.x, min(self.cursor.x + (count or 1), self.columns)))

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:  # noqa: FBT001, FBT002  (pyte's)
        """Erase the rest of the row (0), its beginning (1) or all of it (2)."""
        x = self.cursor.x
        parts = {0: range(x, self.columns), 1: range(min(x + 1, self.columns)), 2: range(self.columns)}
        self._erase(self.cursor.y, parts.get(how, range(0)))

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        """Erase what comes after the cursor (0), before it (1), the screen (2), or what has scrolled out (3)."""
        y = self.cursor.y
        if how == 3:
            self.history.clear()
            return
        for row in {0: range(y + 1, self.lines), 1: range(y), 2: range(self.lines)}.get(how, range(0)):
            self.buffer[row] = self._blank_line()
        if how in (0, 1):
            self.erase_in_line(how)

    def insert_characters(self, count: int | None = None) -> None:
        """Make room at the cursor; what moves out at the right is gone."""
        self._shift(min(count or 1, self.columns))

    def delete_characters(self, count: int | None = None) -> None:
        """Delete at the cursor; the rest moves to the left."""
        self._shift(-min(count or 1, self.columns))

    def _shift(self, count: int) -> None:
        line, x = self.buffer[self.cursor.y], self.cursor.x
        rest = [line[column] for column in range(x, self.columns)]
        blanks = [self._blank] * abs(count)
        moved = [*blanks, *rest] if count > 0 else [*rest[-count:], *blanks]
        self._set(self.cursor.y, range(x, self.columns), moved[: len(rest)])
        self._mend(line, x + count, self.columns + count - 1, self.columns + count)

    def alignment_display(self) -> None:
        """Fill the screen with E."""
        for y in range(self.lines):
            self.buffer[y].update(dict.fromkeys(range(self.columns), Cell("E")))

    # Scrolling.

    def scroll(self, count: int, top: int | None = None) -> None:
        """Move the region, or its rows from `top` on, up by `count` rows; down, if it is below 0."""
        first, bottom = self.region
        first = first if top is None else top
        lines = [self.buffer[y] for y in range(first, bottom + 1)]
        count = max(-len(lines), min(count, len(lines)))
        blanks = [self._blank_line() for _ in range(abs(count))]
        if count > 0 and first == 0 and top is None:
            self.history.extend(lines[:count])
        moved = [*lines[count:], *blanks] if count > 0 else [*blanks, *lines[: len(lines) + count]]
        self.buffer.update(zip(range(first, bottom + 1), moved, strict=True))

    def scroll_up(self, count: int | None = None) -> None:
        """Scroll; the cursor stays."""
        self.scroll(count or 1)

    def scroll_down(self, count: int | None = None) -> None:
        """Scroll the other way."""
        self.scroll(-(count or 1))

    def index(self) -> None:
        """Down one row; at the end of the region it scrolls."""
        if self.cursor.y == self.region[1]:
            self.scroll(1)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        """Up one row; at the beginning of the region it scrolls."""
        if self.cursor.y == self.region[0]:
            self.scroll(-1)
        elif self.cursor.y:
            self.cursor.y -= 1

    def insert_lines(self, count: int | None = None) -> None:
        """Insert rows at the cursor, within the region."""
        self._move_lines(-(count or 1))

    def delete_lines(self, count: int | None = None) -> None:
        """Delete rows at the cursor, within the region."""
        self._move_lines(count or 1)

    def _move_lines(self, count: int) -> None:
        top, bottom = self.region
        if top <= self.cursor.y <= bottom:
            self.scroll(count, top=self.cursor.y)
            self.carriage_return()

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """Let only some rows scroll; the cursor goes home."""
        first, last = max(top or 1, 1), min(bottom or self.lines, self.lines)
        if first < last:
            self.margins = None if (first, last) == (1, self.lines) else Margins(first - 1, last - 1)
            self.cursor_position()

    # Moving.

    def cursor_up(self, count: int | None = None) -> None:
        """Up; no further than the region, if it is within."""
        top = self.region[0] if self.cursor.y >= self.region[0] else 0
        self.cursor.y = max(self.cursor.y - (count or 1), top)
        self.ensure_hbounds()

    def cursor_down(self, count: int | None = None) -> None:
        """Down; no further than the region, if it is within."""
        bottom = self.region[1] if self.cursor.y <= self.region[1] else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), bottom)
        self.ensure_hbounds()

    def cursor_to_line(self, line: int | None = None) -> None:
        """To a row of the screen, or of the region in origin mode."""
        self.cursor_position(line, self.cursor.x + 1)

    def next_line(self) -> None:
        """To the beginning of the next row."""
        self.carriage_return()
        self.index()

    def next_tab(self, count: int | None = None) -> None:
        """On to the next tab stops."""
        for _ in range(min(count or 1, self.columns)):
            self.tab()

    def back_tab(self, count: int | None = None) -> None:
        """Back to the tab stops before the cursor."""
        stops = sorted(stop for stop in self.tabstops if stop < self.cursor.x)
        self.cursor.x = stops[-(count or 1)] if len(stops) >= (count or 1) else 0

    def place(self, row: int, column: int) -> None:
        """Put the cursor somewhere on the screen, whatever the margins are."""
        self.cursor.x, self.cursor.y = min(column, self.columns), min(row, self.lines - 1)

    def take_over(self, other: Grid) -> None:
        """Go on where another grid has been left, in the same colours and margins."""
        self.pen, self.margins = other.pen, other.margins
        self.place(other.cursor.y, other.cursor.x)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Another size. Rows go at the bottom, unless the cursor is there: then they scroll out at the top."""
        self.margins = None
        rows, width = lines or self.lines, columns or self.columns
        if (over := self.cursor.y - rows + 1) > 0:
            self.scroll(over)
            self.cursor.y -= over
        for y in [y for y in self.buffer if y >= rows]:
            del self.buffer[y]
        self.tabstops |= set(range((self.columns + 7) // 8 * 8, width, 8))
        self.lines, self.columns = rows, width
        for line in self.buffer.values():
            for x in [x for x in line if x >= width]:
                del line[x]
            self._mend(line, width - 1)
        self.ensure_hbounds()


def _is_wide(cell: Cell) -> bool:
    return bool(cell.text) and _width(cell.text[0]) == 2


def _reversed(row: Row) -> Row:
    return tuple(Cell(text, style._replace(reverse=not style.reverse)) for text, style in row)
