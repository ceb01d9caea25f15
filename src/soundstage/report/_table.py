"""The summary of several runs as a table for the terminal. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from soundstage.report._figures import duration_text, figures_of
from soundstage.trace import Trace

GAP: Final = "  "
LEAST_TITLE: Final = 16  # columns; a title is cut down to this before the table becomes a list

Style = Literal["", "good", "bad", "soft"]
_ANSI: Final[dict[Style, str]] = {"": "", "good": "\x1b[32m", "bad": "\x1b[31m", "soft": "\x1b[2m"}
_OUTCOMES: Final[dict[str, Style]] = {"passed": "good", "failed": "bad", "aborted": "bad"}
_HEADS: Final = ("scenario", "outcome", "time", "requests", "tools", "tokens", "cost", "hosts")


class SummaryRow(NamedTuple):
    """One line of `summary_table`.

    Args:
        scenario: its name.
        outcome: `passed`, `failed`, `aborted` or another word.
        seconds: how long it took.
        trace: what happened.
    """

    scenario: str
    outcome: str
    seconds: float
    trace: Trace


class _Cell(NamedTuple):
    text: str
    style: Style = ""

    @property
    def width(self) -> int:
        """Columns that it takes: wide letters take two, combining marks none."""
        return sum(
            0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
            for char in self.text
        )

    def cut(self, width: int) -> _Cell:
        text = self.text
        while _Cell(text).width > width:
            text = text[:-2] + "…"
        return self._replace(text=text)

    def show(self, width: int, *, right: bool, colour: bool) -> str:
        space = " " * (width - self.width)
        text = f"{_ANSI[self.style]}{self.text}\x1b[0m" if colour and self.style else self.text
        return space + text if right else text + space


def table(rows: Sequence[SummaryRow], *, width: int, colour: bool) -> str:
    """The rows as a table, or as lists where `width` is too narrow; then what the numbers do not say."""
    if not rows:
        return ""
    cells = [_cells(row) for row in rows]
    heads = [_Cell(name, "soft") for name in _HEADS]
    widths = [max(cell.width for cell in column) for column in zip(heads, *cells, strict=True)]
    room = width - sum(widths[1:]) - len(GAP) * (len(widths) - 1)
    if room >= min(LEAST_TITLE, widths[0]):
        widths[0] = min(widths[0], room)
        lines = [
            _line([line[0].cut(widths[0]), *line[1:]], widths, colour=colour) for line in [heads, *cells]
        ]
    else:
        lines = [text for line in cells for text in _list(line, width, colour=colour)]
    return "\n".join([*lines, *_remarks(rows)])


def _cells(row: SummaryRow) -> list[_Cell]:
    figures = {figure.key: figure for figure in figures_of(row.trace)}
    hosts = figures["hosts"]
    return [
        _Cell(_plain(row.scenario)),
        _Cell(_plain(row.outcome) or "-", _OUTCOMES.get(row.outcome, "")),
        _Cell(duration_text(row.seconds)),
        _Cell(figures["requests"].value),
        _Cell(figures["tools"].value),
        _Cell(f"{row.trace.usage.total_tokens:,}"),
        _Cell(figures["cost"].value),
        _Cell(hosts.value, "bad" if hosts.bad else ""),
    ]


def _line(cells: Sequence[_Cell], widths: Sequence[int], *, colour: bool) -> str:
    """Names to the left, numbers to the right."""
    texts = [
        cell.show(wide, right=place >= 2, colour=colour)
        for place, (cell, wide) in enumerate(zip(cells, widths, strict=True))
    ]
    return GAP.join(texts).rstrip()


def _list(cells: Sequence[_Cell], width: int, *, colour: bool) -> list[str]:
    """A row for narrow terminals: the name, then a line for each value."""
    title, *values = cells
    named = zip(_HEADS[1:], values, strict=True)
    label = max(map(len, _HEADS[1:]))
    return [
        title.cut(width).text,
        *(
            f"{GAP}{_Cell(name, 'soft').show(label, right=False, colour=colour)}{GAP}"
            + cell.show(0, right=False, colour=colour)
            for name, cell in named
        ),
    ]


def _remarks(rows: Sequence[SummaryRow]) -> list[str]:
    """The reasons why costs are not known, and the hosts that were tried."""
    found: dict[str, None] = {}
    for row in rows:
        for figure in figures_of(row.trace):
            if figure.key == "cost" and figure.value == "unknown":
                found[f"cost unknown: {_plain(figure.note)}"] = None
            if figure.key == "hosts" and figure.bad:
                found[f"hosts tried by {_plain(row.scenario)}: {_plain(figure.note)}"] = None
    return list(found)


def _plain(text: str) -> str:
    """`text` without control characters: a title must not steer the terminal."""
    return "".join(char for char in text if char.isprintable())
