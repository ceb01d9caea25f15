"""How texts for the terminal look: its width, and whether there are colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

IN_A_FILE: Final = 120  # columns where there is no terminal


class TextStyle(NamedTuple):
    """Width and colour of a text."""

    width: int
    colour: bool


def text_style(width: int | None, colour: bool | None) -> TextStyle:  # noqa: FBT001
    """Width and colour as they are given, or those of the standard output."""
    if width is not None and colour is not None:
        return TextStyle(width, colour)
    found = style_of(standard_console())
    return TextStyle(found.width if width is None else width, found.colour if colour is None else colour)


def style_of(console: Console) -> TextStyle:
    """Width and colour of a console."""
    if not console.is_terminal:
        return TextStyle(IN_A_FILE, colour=False)
    return TextStyle(console.width, colour=not console.no_color and console.color_system is not None)


def standard_console() -> Console:
    """The standard output."""
    from rich.console import Console

    return Console()
