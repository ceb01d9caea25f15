"""A screen as a piece of HTML. Pure: equal screens give equal pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from soundstage.worlds._screen_cells import Cell, CellRun, Cursor, Row, runs
from soundstage.worlds._screen_paint import BACKGROUND, FOREGROUND, paint, xml_text
from soundstage.worlds._screen_style import PLAIN, Style

LOOK: Final = (
    f"background:{BACKGROUND};color:{FOREGROUND};padding:8px;line-height:1.3;overflow-x:auto;"
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)
_ATTRIBUTES: Final = {"bold": "font-weight:bold", "italic": "font-style:italic"}
_LINES: Final = {"underline": "underline", "strike": "line-through"}


def html(rows: Sequence[Row], cursor: Cursor, title: str) -> str:
    """One `<pre>` element; looks are inline, so that it can stand in any page."""
    lines = [
        "".join(_run(run) for run in runs(_with_cursor(row, number, cursor)))
        for number, row in enumerate(rows)
    ]
    named = f' title="{xml_text(title)}"' if title else ""
    return f'<pre style="{LOOK}"{named}>\n' + "\n".join(lines) + "</pre>"  # a browser drops the first newline


def _with_cursor(row: Row, number: int, cursor: Cursor) -> Row:
    """The row with the cursor's cell reversed, as most terminals show it."""
    if not cursor.visible or number != cursor.row:
        return row
    text, style = row[cursor.column]
    under = Cell(text, style._replace(reverse=not style.reverse))
    return (*row[: cursor.column], under, *row[cursor.column + 1 :])


def _run(run: CellRun) -> str:
    looks = "".join(f"{look};" for look in _looks(run.style))
    if run.wide:
        looks += "display:inline-block;width:2ch;"
    text = xml_text(run.text)
    return f'<span style="{looks[:-1]}">{text}</span>' if looks else text


def _looks(style: Style) -> Iterator[str]:
    if style == PLAIN:
        return
    painted = paint(style)
    if painted.fg != FOREGROUND:
        yield f"color:{painted.fg}"
    if painted.bg != BACKGROUND:
        yield f"background:{painted.bg}"
    yield from (look for name, look in _ATTRIBUTES.items() if getattr(style, name))
    lines = [line for name, line in _LINES.items() if getattr(style, name)]
    if lines:
        yield "text-decoration:" + " ".join(lines)
