"""Numbers of things, in words. Pure."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """A number of things: `1 case`, `2 cases`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def counted_are(number: int, thing: str, one: str = "is", many: str = "are") -> str:
    """A number of things with the verb that fits: `1 run is`, `2 runs are`."""
    return f"{counted(number, thing)} {one if number == 1 else many}"
