"""Skip the parts of a flood of output that nobody can see in the end. Pure, and exact.

A program that writes 100 MB shows the last screen of it, and leaves as many lines behind as are kept. Text
before that matters only by where it leaves the cursor: and after the beginning of a row that is known. So
plain text, in which no sequence stands, may be cut at a carriage return that is followed by more line ends
than screen and history have rows; and text without any line end by whole rows, as it wraps.

This holds on a screen that scrolls as a whole; the caller asks only then.
"""

from __future__ import annotations

import re
from typing import Final

WORTH: Final = 16384  # characters: less is drawn as it is
_SPECIAL: Final = ("\x1b", "\x0e", "\x0f")  # sequences, and the changes of the character set
_LETTERS: Final = re.compile(r"[\x20-\x7e]*")


def skipped(text: str, rows: int, columns: int, *, wraps: bool) -> int:
    """How many characters at the beginning of `text` can be left out.

    Args:
        text: what comes next, from outside of any sequence.
        rows: as many rows as are seen in the end, and those of the screen once more: what stood there before may
            show through.
        columns: columns of the screen.
        wraps: whether a long line goes on in the next row.
    """
    if len(text) < WORTH:
        return 0
    end = min((place for mark in _SPECIAL if (place := text.find(mark)) >= 0), default=len(text))
    if end < WORTH:
        return 0
    return _by_lines(text, end, rows) or (_by_wrapping(text, rows * columns, columns) if wraps else 0)


def _by_lines(text: str, end: int, rows: int) -> int:
    head = text[:end].rsplit("\n", rows)
    return max(head[0].rfind("\r"), 0) if len(head) > rows else 0


def _by_wrapping(text: str, shown: int, columns: int) -> int:
    """Whole rows of a long stretch of letters; the column in which it begins does not matter."""
    found = _LETTERS.match(text)
    spare = (found.end() if found else 0) - shown - columns
    return max(spare // columns * columns, 0)
