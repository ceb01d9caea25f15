"""A screen as a picture. Pure: equal screens give equal pictures.

Every run of cells that look alike is one `<text>`, stretched to its columns (`textLength`), so that columns
stay straight whatever font the viewer has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from soundstage.worlds._screen_cells import CellRun, Cursor, Row, runs
from soundstage.worlds._screen_paint import BACKGROUND, FOREGROUND, paint, xml_text

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
            lines += _run(number, run)
    lines += [*_cursor(cursor), "</g>", "</svg>", ""]
    return "\n".join(lines)


def _run(row: int, run: CellRun) -> Iterator[str]:
    """The ground of a run, and its letters without the spaces around them."""
    painted = paint(run.style)
    y = row * HEIGHT
    if painted.bg != BACKGROUND:
        place = f'x="{run.column * WIDTH}" y="{y}" width="{run.width * WIDTH}" height="{HEIGHT}"'
        yield f'<rect {place} fill="{painted.bg}"/>'
    looks = _looks(run, painted.fg)
    lined = "text-decoration" in looks
    text = run.text if lined else run.text.strip(" ")
    if not text:
        return
    spaces = 0 if lined else len(run.text) - len(run.text.lstrip(" "))
    x, width = (run.column + spaces) * WIDTH, (run.width - len(run.text) + len(text)) * WIDTH
    length = f'textLength="{width}" lengthAdjust="spacingAndGlyphs"'
    yield f'<text x="{x}" y="{y + BASE}" {length}{looks}>{xml_text(text).replace(" ", SPACE)}</text>'


def _looks(run: CellRun, colour: str) -> str:
    lines = {"underline": run.style.underline, "line-through": run.style.strike}
    looks = {
        "fill": colour if colour != FOREGROUND else "",
        "font-weight": "bold" if run.style.bold else "",
        "font-style": "italic" if run.style.italic else "",
        "text-decoration": " ".join(line for line, on in lines.items() if on),
    }
    return "".join(f' {name}="{value}"' for name, value in looks.items() if value)


def _cursor(cursor: Cursor) -> Iterator[str]:
    if cursor.visible:
        place = f'x="{cursor.column * WIDTH}" y="{cursor.row * HEIGHT}"'
        yield f'<rect {place} width="{WIDTH}" height="{HEIGHT}" fill="{FOREGROUND}" fill-opacity="0.5"/>'
