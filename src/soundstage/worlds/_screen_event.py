"""A screen as an event of the journal. Pure.

The text is in it once; how it looks is told by places in the text. A screen without colours costs no more than
its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from soundstage.journal import ScreenChanged
from soundstage.worlds._screen import Screen
from soundstage.worlds._screen_cells import Row
from soundstage.worlds._screen_style import PLAIN


def screen_event(screen: Screen, *, channel: str, label: str = "") -> ScreenChanged:
    """The event that says what a screen shows."""
    columns, rows = screen.size
    row, column, visible = screen.cursor
    styles = [(number, *place) for number, cells in enumerate(screen.rows) for place in _styles(cells)]
    return ScreenChanged(
        text=screen.text,
        channel=channel,
        label=label,
        columns=columns,
        rows=rows,
        cursor=(row, sum(len(cell.text) for cell in screen.rows[row][:column])) if visible else None,
        styles=tuple(styles),
    )


def _styles(row: Row) -> Iterator[tuple[int, int, str]]:
    end = 0
    for style, group in groupby(row, key=lambda cell: cell.style):
        start = end
        end += sum(len(cell.text) for cell in group)
        if style != PLAIN:
            yield start, end, str(style)
