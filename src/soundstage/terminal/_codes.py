"""Which sequence means what: the tables. Pure.

Source: "XTerm Control Sequences" (invisible-island.net/xterm/ctlseqs), ECMA-48, and for mode 2026
"Synchronized Output" (contour-terminal.org/vt-extensions/synchronized-output). A sequence is named by its marker,
its intermediate characters and its final one: `?h` is `CSI ? numbers h`.
"""

from __future__ import annotations

import re
from typing import Final

from soundstage.terminal._paint import BACKGROUND, FOREGROUND

# sequence -> method of the grid, and how many numbers it takes
MOVES: Final = {
    "@": ("insert_characters", 1),
    "A": ("cursor_up", 1),
    "B": ("cursor_down", 1),
    "C": ("cursor_forward", 1),
    "D": ("cursor_back", 1),
    "E": ("cursor_down1", 1),
    "F": ("cursor_up1", 1),
    "G": ("cursor_to_column", 1),
    "H": ("cursor_position", 2),
    "I": ("next_tab", 1),
    "J": ("erase_in_display", 1),
    "K": ("erase_in_line", 1),
    "L": ("insert_lines", 1),
    "M": ("delete_lines", 1),
    "P": ("delete_characters", 1),
    "S": ("scroll_up", 1),
    "T": ("scroll_down", 1),
    "X": ("erase_characters", 1),
    "Z": ("back_tab", 1),
    "`": ("cursor_to_column", 1),
    "a": ("cursor_forward", 1),
    "d": ("cursor_to_line", 1),
    "e": ("cursor_down", 1),
    "f": ("cursor_position", 2),
    "g": ("clear_tab_stop", 1),
    "r": ("set_margins", 2),
}
ESCAPES: Final = {
    "D": "index",
    "E": "next_line",
    "H": "set_tab_stop",
    "M": "reverse_index",
    "#8": "alignment_display",
}
CONTROLS: Final = {
    "\b": "backspace",
    "\t": "tab",
    "\n": "linefeed",
    "\x0b": "linefeed",
    "\x0c": "linefeed",
    "\r": "carriage_return",
}
CURSOR_KEYS, SWAPPED, VISIBLE, BRACKETED, SYNCHRONIZED = "?1", "?5", "?25", "?2004", "?2026"
FLAGS: Final = frozenset({CURSOR_KEYS, SWAPPED, VISIBLE, BRACKETED, SYNCHRONIZED})
ALTERNATE: Final = frozenset({"?47", "?1047", "?1049"})  # the last one saves the cursor too, as ?1048 does
ORIGIN: Final = "?6"
MAX_NUMBER: Final = 65535
NUMBERS: Final = re.compile("[0-9;]*")
LOOKS: Final = re.compile("[0-9;:]*")
GRAPHICS: Final = dict(zip(range(0x60, 0x7F), "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
COLOUR_QUESTIONS: Final = {"10;?": FOREGROUND, "11;?": BACKGROUND, "12;?": FOREGROUND}
ANSWERS: Final = {"$q": "\x1bP0$r\x1b\\", "+q": "\x1bP0+r\x1b\\"}  # to questions about settings: not known
