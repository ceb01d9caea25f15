"""Differences for people: a head for each, below it the lines that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from soundstage.differences._types import Difference

_MOST: Final = 20  # differences that are shown
_COLOURS: Final = {"-": "\x1b[31m", "+": "\x1b[32m"}
_BOLD: Final = "\x1b[1m"
_PLAIN: Final = "\x1b[0m"


def unified(found: Sequence[Difference], *, colour: bool = False) -> str:
    """The differences as text: cause and place of each, `-` what was recorded, `+` what was seen.

    Args:
        found: what `differences` gave; of more than 20 the rest is counted.
        colour: whether to colour it with ANSI escapes, for a terminal.

    Example:
        >>> found = Difference(cause="tool list changed", where="tools.look", recorded="on offer", seen="gone")
        >>> print(unified([found]))
        tool list changed: tools.look
          - on offer
          + gone
    """
    lines = [line for one in found[:_MOST] for line in _shown(one, colour=colour)]
    if len(found) > _MOST:
        lines.append(f"and {len(found) - _MOST} more")
    return "\n".join(lines)


def _shown(one: Difference, *, colour: bool) -> Iterator[str]:
    head = f"{one.cause}: {one.where}" + (f", {one.call}" if one.call else "")
    yield f"{_BOLD}{head}{_PLAIN}" if colour else head
    if one.lines:
        lines = [f"{line[0]} {line[1:]}".rstrip() for line in one.lines]
    else:
        lines = [f"- {one.recorded}", f"+ {one.seen}"]
    for line in map(_printable, lines):
        paint = _COLOURS.get(line[:1], "") if colour else ""
        yield f"  {paint}{line}{_PLAIN}" if paint else f"  {line}".rstrip()


def _printable(line: str) -> str:
    """A line that cannot steer the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
