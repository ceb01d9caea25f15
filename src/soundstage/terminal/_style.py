"""How a character on a terminal looks: colours and attributes. Pure.

A colour is "" (the terminal's own), one of sixteen names, or `#rrggbb`. Programs choose from three sets: the
sixteen, 256 numbered ones of which the first sixteen are the same, and 16 million. What is the same has the
same name here, so `fg="red"` holds for a program that writes 31 and for one that writes 38;5;1.

The codes are ECMA-48's SGR with the additions of xterm ("Character Attributes (SGR)" in its control sequences).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, Self

NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COLOURS: Final = (*NAMES, *(f"bright-{name}" for name in NAMES))
_CUBE: Final = (0x00, 0x5F, 0x87, 0xAF, 0xD7, 0xFF)  # steps of the 6 x 6 x 6 colours from number 16 on


class Style(NamedTuple):
    """How a character looks.

    Args:
        fg: its colour: "" for the terminal's own, one of the sixteen names such as `red` or `bright-red`, or
            `#rrggbb`.
        bg: the colour behind it.
        bold: and so on: its attributes.

    Example:
        >>> str(Style(fg="red", bg="#202020", bold=True))
        'bold red on #202020'
    """

    fg: str = ""
    bg: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    blink: bool = False
    reverse: bool = False
    hidden: bool = False
    strike: bool = False

    def __str__(self) -> str:
        words = [name for name in ATTRIBUTES if getattr(self, name)]
        return " ".join([*words, *([self.fg] if self.fg else []), *(["on", self.bg] if self.bg else [])])

    @classmethod
    def parse(cls, words: str) -> Self:
        """The style that `str(style)` wrote."""
        front, _, behind = f" {words} ".partition(" on ")
        names = front.split()
        attributes: dict[str, Any] = {name: True for name in names if name in ATTRIBUTES}
        return cls(fg="".join(set(names) - set(attributes)), bg=behind.strip(), **attributes)


PLAIN: Final = Style()
ATTRIBUTES: Final = Style._fields[2:]

_SETS: Final = {
    1: "bold",
    2: "dim",
    3: "italic",
    4: "underline",
    5: "blink",
    6: "blink",
    7: "reverse",
    8: "hidden",
}
_MORE: Final = {9: "strike", 21: "underline"}
_ENDS: Final = {23: "italic", 24: "underline", 25: "blink", 27: "reverse", 28: "hidden", 29: "strike"}
_COLOURED: Final = {
    (first + number): (where, colour)
    for first, where, colours in (
        (30, "fg", COLOURS[:8]),
        (40, "bg", COLOURS[:8]),
        (90, "fg", COLOURS[8:]),
        (100, "bg", COLOURS[8:]),
    )
    for number, colour in enumerate(colours)
}
# code -> what it changes
_CHANGES: Final[dict[int, dict[str, Any]]] = {
    **{code: {name: True} for code, name in (_SETS | _MORE).items()},
    **{code: {name: False} for code, name in _ENDS.items()},
    **{code: {where: colour} for code, (where, colour) in _COLOURED.items()},
    22: {"bold": False, "dim": False},
    39: {"fg": ""},
    49: {"bg": ""},
}
_CHOOSES: Final = {38: "fg", 48: "bg", 58: ""}  # a colour by number or by its parts; 58 is the underline's


def numbered(number: int) -> str:
    """One of the 256 colours; "" for a number that none has."""
    if not 0 <= number <= 255:
        return ""
    if number < 16:
        return COLOURS[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    red, rest = divmod(number - 16, 36)
    green, blue = divmod(rest, 6)
    return f"#{_CUBE[red]:02x}{_CUBE[green]:02x}{_CUBE[blue]:02x}"


@lru_cache(maxsize=4096)
def restyled(style: Style, codes: str) -> Style:
    """`style` after a program has sent `CSI codes m`. What nobody knows is passed over.

    >>> str(restyled(PLAIN, "1;38;5;208;4:3"))
    'bold underline #ff8700'
    """
    pending = iter(codes.split(";"))
    for text in pending:
        code, *parts = (int(part) if part else 0 for part in text.split(":"))
        if code == 0:
            style = PLAIN
        elif code in _CHOOSES:
            style = _coloured(style, _CHOOSES[code], _colour(parts) if parts else _next_colour(pending))
        elif code == 4 and parts:  # a kind of underline; 0 is none
            style = style._replace(underline=bool(parts[0]))
        else:
            style = style._replace(**_CHANGES.get(code, {}))
    return style


def _coloured(style: Style, where: str, colour: str) -> Style:
    change: dict[str, Any] = {where: colour}
    return style._replace(**change) if where and colour else style


def _colour(parts: list[int]) -> str:
    """`5:number`, `2:red:green:blue` or `2:space:red:green:blue`; "" if it is none of them."""
    if parts[0] == 5 and len(parts) > 1:
        return numbered(parts[1])
    if parts[0] == 2 and len(parts) > 3:
        mixed = parts[2:5] if len(parts) > 4 else parts[1:4]
        return "#" + "".join(f"{min(part, 255):02x}" for part in mixed)
    return ""


def _next_colour(pending: Iterator[str]) -> str:
    """The same, written as codes of its own."""
    kind = next(pending, "")
    wanted = {"5": 1, "2": 3}.get(kind, 0)
    parts = list(islice(pending, wanted))
    if not wanted or not all(part.isdecimal() or not part for part in parts):
        return ""
    return _colour([int(kind), *(int(part or 0) for part in parts)])
