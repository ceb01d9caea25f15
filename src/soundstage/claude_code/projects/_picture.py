"""Pictures out of the journal: a screen as a screen again, and what tools have returned. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from wcwidth import wcwidth

from soundstage.journal import ModelRequested, Record, ScreenChanged
from soundstage.messages import Opaque, ToolResult
from soundstage.terminal import BLANK, PLAIN, Cell, Cursor, Row, Screen, Style

_ENDINGS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_DATA: Final = re.compile(r"data:(image/\w+);base64,(.*)", re.DOTALL)


def pictures(requests: Iterable[Record]) -> dict[str, bytes]:
    """The pictures in results of tools, in the order in which the model saw them, each once: `tool-1.png`, ..."""
    found: dict[tuple[str, str], None] = {}
    for record in requests:
        if isinstance(record.event, ModelRequested):
            for message in record.event.request.messages:
                for part in message.parts:
                    if isinstance(part, ToolResult):
                        found |= dict.fromkeys(_images(part.extra))
    decoded = ((_ENDINGS[kind], _decoded(data)) for kind, data in found if kind in _ENDINGS)
    named = enumerate(((ending, data) for ending, data in decoded if data), 1)
    return {f"tool-{number}.{ending}": data for number, (ending, data) in named}


def _images(value: Any) -> Iterator[tuple[str, str]]:
    """The media type and the base64 of pictures, in the forms of the providers and of MCP, however deep."""
    if isinstance(value, Opaque):
        yield from _images(value.data)
    elif isinstance(value, str):
        if (url := _DATA.fullmatch(value)) is not None:
            yield url[1], url[2]
    elif isinstance(value, Mapping):
        kind = value.get("media_type") or value.get("mimeType") or value.get("mime_type")
        data = value.get("data")
        if isinstance(kind, str) and isinstance(data, str):
            yield kind, data
        else:
            yield from _images(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _images(item)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""


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
