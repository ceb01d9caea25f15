"""The table: rows, what they say about their target, and how they are written. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

HEAD = ("what", "against", "measured", "target", "", "figures")
Bound = Literal["at least", "at most"]


class Row(NamedTuple):
    """One comparison.

    Args:
        what: what is measured.
        against: a peer or a limit, measured in the same run.
        figures: the numbers behind it, for the reader.
        value: a ratio or milliseconds; None if it could not be measured, and `figures` says why.
        target: what the value should reach; None if it is reported without one.
        bound: from which side.
        unit: of value and target.
    """

    what: str
    against: str
    figures: str
    value: float | None = None
    target: float | None = None
    bound: Bound = "at least"
    unit: Literal["x", "ms"] = "x"

    @property
    def verdict(self) -> str:
        """`met`, `SHORT`, `not measured`; nothing for a row without a target."""
        if self.target is None:
            return ""
        if self.value is None:
            return "not measured"
        met = self.value >= self.target if self.bound == "at least" else self.value <= self.target
        return "met" if met else "SHORT"

    def cells(self) -> tuple[str, ...]:
        """As text, one for each column of `HEAD`."""
        measured = "-" if self.value is None else _number(self.value, self.unit)
        target = "-" if self.target is None else f"{self.bound} {_number(self.target, self.unit)}"
        return (self.what, self.against, measured, target, self.verdict, self.figures)


def _number(value: float, unit: str) -> str:
    return f"{value:.0f} ms" if unit == "ms" else f"{value:.3g}x"


def render(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table whose columns are aligned, so that it reads well in a terminal too."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    head, *body = ["| " + " | ".join(_padded(line, widths)) + " |" for line in lines]
    return "\n".join([head, "|" + "|".join("-" * (width + 2) for width in widths) + "|", *body])


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]


def summary(rows: Sequence[Row]) -> str:
    """How many targets were met."""
    verdicts = [row.verdict for row in rows if row.target is not None]
    parts = [f"{verdicts.count('met')} of {len(verdicts)} targets met"]
    parts += [
        f"{verdicts.count(word)} {word.lower()}" for word in ("SHORT", "not measured") if word in verdicts
    ]
    return ", ".join(parts)


def per_second(rates: Sequence[float]) -> str:
    """Rates as their middle, in words."""
    return f"{sorted(rates)[len(rates) // 2]:,.0f}/s"


def micros(seconds: Sequence[float]) -> str:
    """Durations as their middle, in microseconds."""
    return f"{sorted(seconds)[len(seconds) // 2] * 1e6:,.2f} us"


def millis(seconds: float) -> str:
    """A duration in milliseconds."""
    return f"{seconds * 1e3:,.0f} ms"
