"""A part of a journal as lines: what stands around one record. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from soundstage.journal import Record, one_line

_BEFORE: Final = 5
_LINES: Final = 12
_WIDTH: Final = 110


def around(records: Sequence[Record], at: int | None, signs: Mapping[int, str]) -> str:
    """Records around one, one line each; the end, if none is given.

    What is routine, such as pieces of a stream, is left out unless it has a sign.

    Args:
        records: to choose from, in the order of the journal.
        at: position of the record that matters.
        signs: by position, the sign before a line: `=` for what is as expected, `>` for what matters.
    """
    shown = [
        record for record in records if record.position in signs or type(record.event).routine is not True
    ]
    shown = shown or list(records)
    if not shown:
        return "(nothing happened)"
    place = _place(shown, at)
    start = max(min(place - _BEFORE, len(shown) - _LINES), 0)
    window = shown[start : start + _LINES]
    lines = [_line(record, signs.get(record.position, " ")) for record in window]
    if start:
        lines.insert(0, f"  ... {start} before")
    if len(shown) > start + _LINES:
        lines.append(f"  ... {len(shown) - start - _LINES} after")
    return "\n".join(lines)


def _place(records: Sequence[Record], at: int | None) -> int:
    """The index of the record at a position, or of the first one behind it; of the last without a position."""
    last = len(records) - 1
    if at is None:
        return last
    return next((number for number, record in enumerate(records) if record.position >= at), last)


def _line(record: Record, sign: str) -> str:
    source = f" ({record.source})" if record.source else ""
    text = f"@{record.position} {type(record.event).__name__}{source} {record.event}"
    return f"{sign} {one_line(text, _WIDTH)}"
