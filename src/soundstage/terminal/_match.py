"""Conditions on a screen: its text, and how a text on it looks.

A condition is matched against the screen's text, so everything that `soundstage.match` takes holds for screens
too, alone and combined. The text brings its screen along, for conditions on looks and for functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from soundstage.errors import MatchError
from soundstage.match import FLAGS, AllOf, AnyOf, Contains, Matcher, Regex, matcher, preview
from soundstage.terminal._cells import Position, row_text
from soundstage.terminal._screen import Screen, columns_of
from soundstage.terminal._style import ATTRIBUTES, COLOURS, Style

_MIXED: Final = re.compile("#[0-9a-f]{6}")


class ScreenText(str):
    """The text of a screen, and the screen."""

    __slots__ = ("screen",)
    screen: Screen

    @classmethod
    def of(cls, screen: Screen) -> ScreenText:
        """The text of `screen`."""
        made = cls(screen.text)
        made.screen = screen
        return made


class Styled(Matcher):
    """A text on a screen that looks as told; see `styled`."""

    __slots__ = ("looks", "text")

    def __init__(self, text: Contains | Regex, looks: dict[str, Any]) -> None:
        self.text = text
        self.looks = looks

    def applies_to(self, value: Any) -> bool:
        return isinstance(value, ScreenText)

    def explain(self, value: Any) -> str | None:
        if not isinstance(value, ScreenText):
            return f"{self.describe()}: expected a screen, got {type(value).__name__} {preview(value)}"
        nearest = ""
        for place, styles in _places(self.text, value.screen):
            other = [style for style in styles if not self._fits(style)]
            if not other:
                return None
            nearest = nearest or f"at row {place.row}, column {place.column} it is {str(other[0]) or 'plain'}"
        return f"{self.describe()}: {nearest or 'the text is not on the screen'}"

    def _fits(self, style: Style) -> bool:
        return all(getattr(style, name) == wanted for name, wanted in self.looks.items())

    def describe(self) -> str:
        looks = ", ".join(f"{name}={wanted!r}" for name, wanted in self.looks.items())
        return f"{self.text.describe()} with {looks}"


def styled(text: str, *, fg: str | None = None, bg: str | None = None, **attributes: bool) -> Matcher:
    """A condition for `expect`: a text that looks like this, wherever it is on the screen.

    Args:
        text: a text or a `/regex/`, within one row.
        fg: its colour: one of the sixteen names (`red`, `bright-red`), `#rrggbb`, or "" for the terminal's own.
        bg: the colour behind it.
        attributes: `bold`, `dim`, `italic`, `underline`, `blink`, `reverse`, `hidden`, `strike`, each `True` or
            `False`. What is not given does not matter.

    Raises:
        MatchError: for a colour or an attribute that does not exist, and if no look is given.

    Example:
        ::

            await terminal.expect(styled("2 failed", fg="red", bold=True))
    """
    wanted = matcher(text)
    if not isinstance(wanted, Contains | Regex):
        raise MatchError("only a text or an expression can have a look", seen=preview(text))
    colours = {name: _colour(value) for name, value in (("fg", fg), ("bg", bg)) if value is not None}
    unknown = sorted(set(attributes) - set(ATTRIBUTES))
    if unknown or not (colours or attributes):
        raise MatchError(
            f"there is no attribute {unknown[0]!r}"
            if unknown
            else "a look is needed, else give the text alone",
            expected="fg, bg, " + ", ".join(ATTRIBUTES),
        )
    return Styled(wanted, {**colours, **attributes})


def _colour(name: str) -> str:
    chosen = name.lower()
    if chosen and chosen not in COLOURS and not _MIXED.fullmatch(chosen):
        raise MatchError(
            f"{preview(name)} is not a colour",
            expected=", ".join(COLOURS) + ', "#rrggbb", or "" for the default',
        )
    return chosen


def _places(text: Contains | Regex, screen: Screen) -> Iterator[tuple[Position, list[Style]]]:
    """Where the text is, and the styles of its letters; of its cells if it is nothing but spaces."""
    for number, row in enumerate(screen.rows):
        columns = columns_of(row)
        for start, end in _spans(text, row_text(row)):
            cells = [row[column] for column in columns[start:end]]
            letters = [cell.style for cell in cells if cell.text.strip(" ")]
            yield Position(number, columns[start]), letters or [cell.style for cell in cells]


def _spans(text: Contains | Regex, line: str) -> list[tuple[int, int]]:
    if isinstance(text, Contains):
        pattern = re.compile(f"(?={re.escape(text.text)})")  # places may overlap
        return [(found.start(), found.start() + len(text.text)) for found in pattern.finditer(line)]
    pattern = re.compile(text.pattern, sum(FLAGS[flag] for flag in text.flags))
    return [found.span() for found in pattern.finditer(line) if found[0]]


# What is nearest to a condition, for messages.

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
