"""The part of a screen nearest to an expectation, for messages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from soundstage.match import AllOf, AnyOf, Contains, Matcher, Regex, preview
from soundstage.worlds._screen import Screen
from soundstage.worlds._screen_match import ScreenText, Styled

ENOUGH: Final = 0.6  # as `SequenceMatcher.ratio` counts: below that, a line has nothing to do with it
_MARKS: Final = re.compile(
    r"\\([^A-Za-z0-9])|\\[A-Za-z0-9]|[\^$.*+?()\[\]{}|]"
)  # what is no letter in a regex


def nearest(wanted: Matcher, screen: Screen, history: Sequence[str] = ()) -> list[str]:
    """One line for each text of the condition that is not on the screen as it should be.

    Args:
        wanted: the condition.
        screen: what is shown.
        history: the lines that have scrolled out, oldest first.
    """
    return [line for part in _texts(wanted) if (line := _nearest(part, screen, history))]


def _texts(wanted: Matcher) -> Iterator[Contains | Regex | Styled]:
    if isinstance(wanted, AllOf | AnyOf):
        for part in wanted.parts:
            yield from _texts(part)
    elif isinstance(wanted, Contains | Regex | Styled):
        yield wanted


def _nearest(part: Contains | Regex | Styled, screen: Screen, history: Sequence[str]) -> str:
    text = ScreenText.of(screen)
    if part.matches(text):
        return ""
    if isinstance(part, Styled):
        if part.text.matches(text):
            return f"nearest: {part.explain(text)}"
        part = part.text
    for above, line in enumerate(reversed(history), start=1):
        if part.matches(line):
            return f"nearest: {preview(line)} has scrolled out of the screen, {above} line(s) above its first row"
    letters = part.text if isinstance(part, Contains) else _MARKS.sub(r"\1", part.pattern)
    alike = [(_alike(letters, line), -len(line), row) for row, line in enumerate(screen.lines)]
    score, _, row = max(alike, default=(0.0, 0, 0))
    return f"nearest: row {row}: {preview(screen.lines[row], 200)}" if score >= ENOUGH else ""


def _alike(wanted: str, line: str) -> float:
    """How much the part of `line` that has most of `wanted` in one piece is like it; cases are alike."""
    wanted, line = wanted.casefold(), line.casefold()
    found = SequenceMatcher(None, wanted, line, autojunk=False).find_longest_match()
    start = max(found.b - found.a, 0)
    return SequenceMatcher(None, wanted, line[start : start + len(wanted)], autojunk=False).ratio()
