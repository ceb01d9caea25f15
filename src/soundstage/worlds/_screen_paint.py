"""Colours of a style as they are drawn. Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from soundstage.worlds._screen_style import Style

FOREGROUND: Final = "#e4e5e7"
BACKGROUND: Final = "#14161a"
PALETTE: Final = {
    "black": "#3b4048",
    "red": "#e0606a",
    "green": "#8cc265",
    "yellow": "#d9b45b",
    "blue": "#4aa5f0",
    "magenta": "#c678dd",
    "cyan": "#42b3c2",
    "white": "#c8ccd4",
    "bright-black": "#7a8290",
    "bright-red": "#ff7b86",
    "bright-green": "#a9e07e",
    "bright-yellow": "#f5d67f",
    "bright-blue": "#75bfff",
    "bright-magenta": "#e29bf5",
    "bright-cyan": "#66d9e8",
    "bright-white": "#ffffff",
}
_UNKNOWN: Final = re.compile(
    "[^\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)  # XML 1.0, 2.2


class Paint(NamedTuple):
    """The colours of a run, as `#rrggbb`."""

    fg: str
    bg: str


def paint(style: Style) -> Paint:
    """The colours that a style is drawn with."""
    fg = PALETTE.get(style.fg, style.fg) or FOREGROUND
    bg = PALETTE.get(style.bg, style.bg) or BACKGROUND
    if style.reverse:
        fg, bg = bg, fg
    if style.hidden:
        fg = bg
    elif style.dim:
        fg = _mixed(fg, bg)
    return Paint(fg, bg)


def _mixed(fg: str, bg: str) -> str:
    """Two thirds of `fg`, one of `bg`."""
    parts = [
        (2 * int(fg[place : place + 2], 16) + int(bg[place : place + 2], 16)) // 3 for place in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


def xml_text(text: str) -> str:
    """`text` where XML and HTML expect text; characters that XML does not know become U+FFFD."""
    known = _UNKNOWN.sub("\ufffd", text)
    return known.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
