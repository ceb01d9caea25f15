"""A screen for messages: the rows in a frame. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.worlds._screen_cells import Cursor, Row


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
