"""The meaning of escape sequences: changes of grids and modes, and answers. The rules are those of xterm.

`_screen_codes` has the tables: which sequence is which method of the grid. A terminal has two grids: a
full-screen program shows itself on the alternate one, and what was there before is there again when it ends.
Answers to questions (where is the cursor, what are you, which colours have you) go back as input, since
programs wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from soundstage.terminal._cells import Cursor
from soundstage.terminal._codes import (
    ALTERNATE,
    ANSWERS,
    COLOUR_QUESTIONS,
    CONTROLS,
    CURSOR_KEYS,
    ESCAPES,
    FLAGS,
    GRAPHICS,
    LOOKS,
    MAX_NUMBER,
    MOVES,
    NUMBERS,
    ORIGIN,
    SWAPPED,
    SYNCHRONIZED,
    VISIBLE,
)
from soundstage.terminal._grid import MODES, Grid
from soundstage.terminal._screen import Screen
from soundstage.terminal._style import PLAIN, Style, restyled


class Saved(NamedTuple):
    """The state that `ESC 7` saves."""

    row: int = 0
    column: int = 0
    pen: Style = PLAIN
    sets: tuple[str, str] = ("B", "B")
    shift: int = 0
    origin: bool = False


class Xterm:
    """A terminal: takes the parts of what a program sends (see `Target`), and shows a screen.

    Args:
        columns: how wide.
        rows: how high.
        history: how many lines to keep that scroll out at the top.
        reply: called with answers, which are input for the program.
    """

    def __init__(self, columns: int, rows: int, *, history: int, reply: Callable[[str], None]) -> None:
        self.reply = reply
        self.main = Grid(columns, rows, history=history)
        self.alternate = Grid(columns, rows, history=0)
        self.reset()

    def reset(self) -> None:
        self.grid = self.main
        for grid in (self.main, self.alternate):
            grid.reset()
        self.alternate.mode = self.main.mode  # one set of modes for both
        self.flags = {VISIBLE}
        self.title = ""
        self._sets = ["B", "B"]
        self._shift = 0
        self._last = ""
        self._held: Screen | None = None

    @property
    def wraps(self) -> bool:
        """Whether a long line goes on in the next row, and pushes nothing aside."""
        return MODES["?7"] in self.grid.mode and MODES["4"] not in self.grid.mode

    def screen(self, *, held: bool = True) -> Screen:
        """The shown grid. During a synchronised update it is the one before, unless not `held`."""
        if held and self._held is not None:
            return self._held
        grid = self.grid
        cursor = Cursor(grid.cursor.y, min(grid.cursor.x, grid.columns - 1), VISIBLE in self.flags)
        return Screen(grid.rows(reverse=SWAPPED in self.flags), cursor, self.title)

    def resize(self, columns: int, rows: int) -> None:
        """Another size, for both grids."""
        for grid in (self.main, self.alternate):
            grid.resize(rows, columns)
        if self._held is not None:
            self._held = self.screen(held=False)

    # The parts of what a program sends.

    def draw(self, text: str) -> None:
        """Text."""
        drawn = text.translate(GRAPHICS) if self._sets[self._shift] == "0" else text
        self._last = drawn[-1]
        self.grid.draw(drawn)

    def control(self, char: str) -> None:
        """A control character."""
        if char in CONTROLS:
            getattr(self.grid, CONTROLS[char])()
        elif char in "\x0e\x0f":
            self._shift = 1 if char == "\x0e" else 0

    def escape(self, code: str) -> None:
        """`ESC` and this."""
        if code in ESCAPES:
            getattr(self.grid, ESCAPES[code])()
        elif code in _ESCAPES:
            _ESCAPES[code](self)
        elif code[0] in "()":
            self._sets["()".index(code[0])] = code[1:]

    def sequence(self, kind: str, codes: str) -> None:
        """A `CSI` sequence."""
        if kind == "m" and LOOKS.fullmatch(codes):
            self.grid.pen = restyled(self.grid.pen, codes)
        elif NUMBERS.fullmatch(codes):
            numbers = [min(int(code or 0), MAX_NUMBER) for code in codes.split(";")]
            if kind in MOVES:
                name, count = MOVES[kind]
                getattr(self.grid, name)(*numbers[:count])
            elif kind in _SEQUENCES:
                _SEQUENCES[kind](self, numbers)

    def string(self, kind: str, text: str) -> None:
        """A string: the title, or a question."""
        code, _, rest = text.partition(";")
        if kind == "OSC" and code in ("0", "2"):
            self.title = rest
        elif kind == "OSC" and text in COLOUR_QUESTIONS:
            parts = [COLOUR_QUESTIONS[text][place : place + 2] * 2 for place in (1, 3, 5)]
            self.reply(f"\x1b]{code};rgb:{'/'.join(parts)}\x1b\\")
        elif kind == "DCS" and text[:2] in ANSWERS:
            self.reply(ANSWERS[text[:2]])

    # Modes.

    def switch(self, names: list[str], *, on: bool) -> None:
        for name in names:
            if name in MODES:
                self._switch_mode(name, on=on)
            elif name in FLAGS:
                self._switch_flag(name, on=on)
            elif name in ALTERNATE:
                self._switch_grid(name, on=on)
            elif name == "?1048":
                self.save() if on else self.restore()

    def _switch_mode(self, name: str, *, on: bool) -> None:
        (self.grid.mode.add if on else self.grid.mode.discard)(MODES[name])
        if name == ORIGIN:
            self.grid.cursor_position()

    def _switch_flag(self, name: str, *, on: bool) -> None:
        if name == SYNCHRONIZED and on != (self._held is not None):
            self._held = self.screen() if on else None
        (self.flags.add if on else self.flags.discard)(name)

    def _switch_grid(self, name: str, *, on: bool) -> None:
        before, after = self.grid, self.alternate if on else self.main
        if before is after:
            return
        if on and name == "?1049":
            self.save()
        self.grid = after
        after.take_over(before)
        if on:
            after.erase_in_display(2)
        elif name == "?1049":
            self.restore()

    def save(self) -> None:
        cursor = self.grid.cursor
        origin = MODES[ORIGIN] in self.grid.mode
        self.grid.saved = Saved(
            cursor.y, cursor.x, self.grid.pen, (self._sets[0], self._sets[1]), self._shift, origin
        )

    def restore(self) -> None:
        saved = self.grid.saved or Saved()
        (self.grid.mode.add if saved.origin else self.grid.mode.discard)(MODES[ORIGIN])
        self.grid.place(saved.row, saved.column)
        self.grid.pen = saved.pen
        self._sets, self._shift = list(saved.sets), saved.shift

    def soften(self) -> None:
        """The soft reset: modes and looks as in the beginning; what is shown stays."""
        self.switch(["4", "?6", CURSOR_KEYS], on=False)
        self.switch(["?7", VISIBLE], on=True)
        grid = self.grid
        grid.margins, grid.saved, grid.pen = None, None, PLAIN
        self._sets, self._shift = ["B", "B"], 0

    # Questions, and the rest.

    def tell_status(self, marker: str, number: int) -> None:
        if number == 5 and not marker:
            self.reply("\x1b[0n")
        elif number == 6:
            cursor, top = self.grid.cursor, self.grid.region[0] if MODES[ORIGIN] in self.grid.mode else 0
            self.reply(f"\x1b[{marker}{cursor.y - top + 1};{min(cursor.x + 1, self.grid.columns)}R")

    def tell_mode(self, marker: str, number: int) -> None:
        name = f"{marker}{number}"
        state = 0
        if name in MODES:
            state = 1 if MODES[name] in self.grid.mode else 2
        elif name in FLAGS:
            state = 1 if name in self.flags else 2
        elif name in ALTERNATE:
            state = 1 if self.grid is self.alternate else 2
        self.reply(f"\x1b[{marker}{number};{state}$y")

    def tell_size(self, numbers: list[int]) -> None:
        if numbers[0] == 18:
            self.reply(f"\x1b[8;{self.grid.lines};{self.grid.columns}t")

    def repeat(self, count: int) -> None:
        if self._last:
            self.grid.draw(self._last * min(count or 1, self.grid.columns))


_ESCAPES: Final[dict[str, Callable[[Xterm], None]]] = {
    "7": Xterm.save,
    "8": Xterm.restore,
    "c": Xterm.reset,
}
_SEQUENCES: Final[dict[str, Callable[[Xterm, list[int]], None]]] = {
    "h": lambda xterm, numbers: xterm.switch([str(number) for number in numbers], on=True),
    "l": lambda xterm, numbers: xterm.switch([str(number) for number in numbers], on=False),
    "?h": lambda xterm, numbers: xterm.switch([f"?{number}" for number in numbers], on=True),
    "?l": lambda xterm, numbers: xterm.switch([f"?{number}" for number in numbers], on=False),
    "n": lambda xterm, numbers: xterm.tell_status("", numbers[0]),
    "?n": lambda xterm, numbers: xterm.tell_status("?", numbers[0]),
    "$p": lambda xterm, numbers: xterm.tell_mode("", numbers[0]),
    "?$p": lambda xterm, numbers: xterm.tell_mode("?", numbers[0]),
    "c": lambda xterm, _: xterm.reply("\x1b[?62;22c"),  # a VT220 with colours
    ">c": lambda xterm, _: xterm.reply("\x1b[>0;0;0c"),
    "t": Xterm.tell_size,
    "b": lambda xterm, numbers: xterm.repeat(numbers[0]),
    "s": lambda xterm, _: xterm.save(),
    "u": lambda xterm, _: xterm.restore(),
    "!p": lambda xterm, _: xterm.soften(),
}
