"""A screen as a picture: SVG, or a piece of HTML. Pure: equal screens give equal pictures.

In an SVG every run of cells that look alike is one `<text>`, stretched to its columns (`textLength`). So columns
stay straight whatever font the viewer has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from soundstage.terminal._cells import Cell, CellRun, Cursor, Row, runs
from soundstage.terminal._style import PLAIN, Style

FOREGROUND: Final = "#e4e5e7"
BACKGROUND: Final = "#14161a"
PALETTE: Final = {
    "black": "#3b4048",
    "red": "#e0606a",
    "green": "#8cc265",
    "yellow": "#d9b45b",
    "blue": "#4aa5f0",
    "magenta": "#c678dd",
    "cyan": "#42b3c2",
    "white": "#c8ccd4",
    "bright-black": "#7a8290",
    "bright-red": "#ff7b86",
    "bright-green": "#a9e07e",
    "bright-yellow": "#f5d67f",
    "bright-blue": "#75bfff",
    "bright-magenta": "#e29bf5",
    "bright-cyan": "#66d9e8",
    "bright-white": "#ffffff",
}
_UNKNOWN: Final = re.compile(
    "[^\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)  # XML 1.0, 2.2


class Paint(NamedTuple):
    """The colours of a run, as `#rrggbb`."""

    fg: str
    bg: str


def paint(style: Style) -> Paint:
    """The colours that a style is drawn with."""
    fg = PALETTE.get(style.fg, style.fg) or FOREGROUND
    bg = PALETTE.get(style.bg, style.bg) or BACKGROUND
    if style.reverse:
        fg, bg = bg, fg
    if style.hidden:
        fg = bg
    elif style.dim:
        fg = _mixed(fg, bg)
    return Paint(fg, bg)


def _mixed(fg: str, bg: str) -> str:
    """Two thirds of `fg`, one of `bg`."""
    parts = [
        (2 * int(fg[place : place + 2], 16) + int(bg[place : place + 2], 16)) // 3 for place in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


def xml_text(text: str) -> str:
    """`text` where XML and HTML expect text; characters that XML does not know become U+FFFD."""
    known = _UNKNOWN.sub("\ufffd", text)
    return known.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


# SVG.

WIDTH, HEIGHT, SIZE = 8, 18, 14  # of a cell, and of its letters, in pixels
BASE: Final = 13  # where letters stand, below the top of their cell
MARGIN: Final = 8
SPACE: Final = "\u00a0"  # viewers do not agree about when they keep others
FONT: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg(rows: Sequence[Row], cursor: Cursor, title: str) -> str:
    """The picture, as the text of an SVG file."""
    columns = len(rows[0]) if rows else 0
    width, height = columns * WIDTH + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    space = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    letters = f'font-family="{FONT}" font-size="{SIZE}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {space} role="img" {letters}>',
        f"<title>{xml_text(title) or 'terminal'}</title>",
        f'<rect width="{width}" height="{height}" rx="4" fill="{BACKGROUND}"/>',
        f'<g transform="translate({MARGIN} {MARGIN})" fill="{FOREGROUND}">',
    ]
    for number, row in enumerate(rows):
        for run in runs(row):
            lines += _svg_run(number, run)
    lines += [*_svg_cursor(cursor), "</g>", "</svg>", ""]
    return "\n".join(lines)


def _svg_run(row: int, run: CellRun) -> Iterator[str]:
    """The ground of a run, and its letters without the spaces around them."""
    painted = paint(run.style)
    y = row * HEIGHT
    if painted.bg != BACKGROUND:
        place = f'x="{run.column * WIDTH}" y="{y}" width="{run.width * WIDTH}" height="{HEIGHT}"'
        yield f'<rect {place} fill="{painted.bg}"/>'
    looks = _svg_looks(run, painted.fg)
    lined = "text-decoration" in looks
    text = run.text if lined else run.text.strip(" ")
    if not text:
        return
    spaces = 0 if lined else len(run.text) - len(run.text.lstrip(" "))
    x, width = (run.column + spaces) * WIDTH, (run.width - len(run.text) + len(text)) * WIDTH
    length = f'textLength="{width}" lengthAdjust="spacingAndGlyphs"'
    yield f'<text x="{x}" y="{y + BASE}" {length}{looks}>{xml_text(text).replace(" ", SPACE)}</text>'


def _svg_looks(run: CellRun, colour: str) -> str:
    lines = {"underline": run.style.underline, "line-through": run.style.strike}
    looks = {
        "fill": colour if colour != FOREGROUND else "",
        "font-weight": "bold" if run.style.bold else "",
        "font-style": "italic" if run.style.italic else "",
        "text-decoration": " ".join(line for line, on in lines.items() if on),
    }
    return "".join(f' {name}="{value}"' for name, value in looks.items() if value)


def _svg_cursor(cursor: Cursor) -> Iterator[str]:
    if cursor.visible:
        place = f'x="{cursor.column * WIDTH}" y="{cursor.row * HEIGHT}"'
        yield f'<rect {place} width="{WIDTH}" height="{HEIGHT}" fill="{FOREGROUND}" fill-opacity="0.5"/>'


# HTML.

LOOK: Final = (
    f"background:{BACKGROUND};color:{FOREGROUND};padding:8px;line-height:1.3;overflow-x:auto;"
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)
_ATTRIBUTES: Final = {"bold": "font-weight:bold", "italic": "font-style:italic"}
_LINES: Final = {"underline": "underline", "strike": "line-through"}


def html(rows: Sequence[Row], cursor: Cursor, title: str) -> str:
    """One `<pre>` element; looks are inline, so that it can stand in any page."""
    lines = [
        "".join(_html_run(run) for run in runs(_with_cursor(row, number, cursor)))
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


def _html_run(run: CellRun) -> str:
    looks = "".join(f"{look};" for look in _html_looks(run.style))
    if run.wide:
        looks += "display:inline-block;width:2ch;"
    text = xml_text(run.text)
    return f'<span style="{looks[:-1]}">{text}</span>' if looks else text


def _html_looks(style: Style) -> Iterator[str]:
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
