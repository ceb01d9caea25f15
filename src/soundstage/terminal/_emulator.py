"""A terminal without a program: bytes in, screens out.

How it works. Bytes are decoded as UTF-8, cut into text and sequences (`_screen_parser`), and drawn
(`_screen_xterm` on `_screen_grid`). Drawing is slow compared with what a program can write, so it is done in
slices: `add` takes what has come, `step` draws a slice of it. Whoever has an event loop to share steps until
nothing is left, and lets others have their turn in between.

Of a flood of output, what nobody can see in the end is skipped (`skipped`), and exactly that. A program that
writes 100 MB shows the last screen of it, and leaves as many lines behind as are kept. Text before that matters only by
where it leaves the cursor: and after the beginning of a row that is known. So plain text without a sequence may be cut
at a carriage return, if more line ends follow than screen and history have rows; and text without any line end by
whole rows, as it wraps. This holds on a screen that scrolls as a whole; the caller asks only then.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from soundstage.terminal._codes import BRACKETED, CURSOR_KEYS, SYNCHRONIZED
from soundstage.terminal._parser import Parser
from soundstage.terminal._screen import Screen

SLICE: Final = 4096  # characters; some milliseconds, whatever they are
HISTORY: Final = 1000
LARGEST: Final = 1000  # columns or rows


class Emulator:
    """A terminal of the kind `xterm-256color`.

    Args:
        columns: how wide the screen is, 1 to 1000.
        rows: how high.
        history: how many lines to keep that scroll out at the top.

    Raises:
        ValueError: if the screen has no sensible size.

    Example:
        >>> emulator = Emulator(columns=10, rows=2)
        >>> emulator.feed(b"one\\r\\ntwo\\r\\nthree")
        >>> emulator.screen().lines, emulator.scrollback
        (['two', 'three'], ['one'])
    """

    def __init__(self, *, columns: int = 80, rows: int = 24, history: int = HISTORY) -> None:
        from soundstage.terminal._xterm import Xterm  # pyte takes time to load

        self._answers: list[str] = []
        self._history = history
        self._xterm = Xterm(*checked_size(columns, rows), history=history, reply=self._answers.append)
        self._parser = Parser(self._xterm)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._place = 0

    def feed(self, data: bytes) -> None:
        """Take what a program has written, and draw all of it."""
        self.add(data)
        while self.step():
            pass

    def add(self, data: bytes, *, final: bool = False) -> None:
        """Take what a program has written; `step` draws it. `final` means that nothing comes after it."""
        self._text = self._text[self._place :] + self._decoder.decode(data, final)
        self._place = 0

    @property
    def pending(self) -> int:
        """How many characters have not been drawn."""
        return len(self._text) - self._place

    def step(self) -> bool:
        """Draw a slice of what is pending. Returns whether more is left."""
        if self._parser.idle and self._xterm.grid.margins is None and self.pending >= WORTH:
            columns, rows = self.size
            text = self._text[self._place :]
            self._place += skipped(text, self._history + 2 * rows, columns, wraps=self._xterm.wraps)
        piece = self._text[self._place : self._place + SLICE]
        self._place += len(piece)
        self._parser.feed(piece)
        return self.pending > 0

    def take_answers(self) -> bytes:
        """The terminal's answers to the program's questions since the last time; they are input for it."""
        answers = "".join(self._answers).encode()
        self._answers.clear()
        return answers

    def screen(self, *, held: bool = True) -> Screen:
        """The screen now.

        Args:
            held: during a synchronised update (mode 2026), show what was there before it began.
        """
        return self._xterm.screen(held=held)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._xterm.grid.columns, self._xterm.grid.lines

    @property
    def scrollback(self) -> list[str]:
        """The lines that have scrolled out at the top, oldest first."""
        return self._xterm.main.past()

    @property
    def updating(self) -> bool:
        """Whether the program is in the middle of a synchronised update."""
        return SYNCHRONIZED in self._xterm.flags

    @property
    def cursor_keys(self) -> bool:
        """Whether the program wants cursor keys in their other form (DECCKM)."""
        return CURSOR_KEYS in self._xterm.flags

    @property
    def bracketed_paste(self) -> bool:
        """Whether the program wants marks around a paste."""
        return BRACKETED in self._xterm.flags

    def resize(self, columns: int, rows: int) -> None:
        """Another size.

        Raises:
            ValueError: if it is no sensible one.
        """
        self._xterm.resize(*checked_size(columns, rows))


def checked_size(columns: int, rows: int) -> tuple[int, int]:
    """Both, if they are the size of a screen."""
    if not (1 <= columns <= LARGEST and 1 <= rows <= LARGEST):
        raise ValueError(f"a screen has 1 to {LARGEST} columns and rows, got {columns} x {rows}")
    return columns, rows


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
