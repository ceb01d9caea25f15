"""Regular expressions that cannot hold anybody up. The language is that of Python's `re`.

`re` decides what an expression is, and searches with those that have nothing to repeat and few alternatives: they
take time in proportion to the text. All others can take for ever on a text that somebody else has written, and `re`
cannot be interrupted. They are searched by the package `regex`, which reads the same language, looks around and refers
back as `re` does, and gives up after a time; an engine of linear time, such as RE2, has neither of these two, and
another idea of letters. What the two packages read differently is written for `regex` in the one way that it
understands: a brace that begins no repetition is a brace.

`regex` unfolds counted repetitions, so their product is bounded before it sees them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

LONGEST: Final = 10_000  # characters of an expression
LARGEST: Final = 10_000  # single steps, once all counted repetitions are written out
SECONDS: Final = 1.0  # of processor time for one search
DEEPEST: Final = 50  # groups in groups
_CHOICES: Final = 8  # alternatives and optional parts, each of which can double the time

_INLINE: Final = re.compile(r"\(\?[aiLmsu]*x")
_COMMENT: Final = r"(?P<comment>\#[^\n]*)|"
_STEPS: Final = (
    r"(?P<escape>\\(?:N\{[^}]*\}|.))"
    r"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<group>\(\?[aiLmsux-]+\)|\(\?\#[^)]*\)|\((?:\?(?:P<\w+>|P=\w+|<[=!]|[:=!>]|[aiLmsux-]+:)?)?)"
    r"|(?P<end>\))"
    r"|(?P<count>\{(?:\d+(?:,\d*)?|,\d*)\})"
    r"|(?P<repeat>[*+])"
    r"|(?P<choice>[|?])"
    r"|(?P<brace>\{)"
    r"|(?P<other>.)"
)
_STEP: Final = {
    False: re.compile(_STEPS, re.DOTALL),
    True: re.compile(_COMMENT + _STEPS, re.DOTALL),
}


class ExpressionShape(NamedTuple):
    """The parts of an expression.

    Args:
        size: its steps, with counted repetitions written out.
        depth: how many groups are in one another.
        plain: whether `re` searches it in time that is in proportion to the text.
        text: the expression as `regex` has to read it.
    """

    size: int
    depth: int
    plain: bool
    text: str


def shape_of(pattern: str, *, verbose: bool = False) -> ExpressionShape:
    """List the parts of a valid expression, with or without comments.

    Example:
        >>> shape_of("(ab){20}").size
        40
    """
    sizes, last, depth, choices, repeats = [0], 0, 0, 0, False
    written = []
    for found in _STEP[verbose].finditer(pattern):
        kind, step = found.lastgroup, found.group()
        written.append("\\{" if kind == "brace" else step)
        if kind == "group":
            if not step.endswith(")"):
                sizes.append(0)
                depth = max(depth, len(sizes) - 1)
        elif kind == "end" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif kind == "count":
            times = max(int(number) for number in re.findall(r"\d+", step) or ["1"])
            sizes[-1] += last * (times - 1)
            last *= max(times, 1)
            repeats = True
        elif kind in ("repeat", "choice"):
            repeats = repeats or kind == "repeat"
            choices += kind == "choice"
        elif kind != "comment":
            last = 1
            sizes[-1] += 1
    return ExpressionShape(sum(sizes), depth, not repeats and choices <= _CHOICES, "".join(written))


class TooSlowError(Exception):
    """Raised by a search that takes too much time."""


def compiled(pattern: str, flags: int) -> tuple[Callable[[str], Any], int]:
    """The compiled form of an expression: its search, and the number of its groups.

    Raises:
        re.error: if it is no expression, or a too large one.
        OverflowError, RecursionError: from `re`, for one that is beyond it.
    """
    if len(pattern) > LONGEST:
        raise re.error(f"it is longer than {LONGEST} characters")
    found = re.compile(pattern, flags)
    shape = shape_of(pattern, verbose=bool(flags & re.VERBOSE))
    size = shape.size
    if _INLINE.search(pattern):  # comments in a part of it; which part, only `re` knows
        size = max(shape_of(pattern, verbose=verbose).size for verbose in (False, True))
    if size > LARGEST:
        raise re.error(f"its counted repetitions come to more than {LARGEST} steps")
    if shape.depth > DEEPEST:
        raise re.error(f"more than {DEEPEST} groups are in one another")
    return (found.search if shape.plain else _BoundedSearch(shape.text, flags).search), found.groups


class _BoundedSearch:
    """A search that ends. The package is loaded when the first text is searched."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags
        self._compiled: Any = None

    def search(self, text: str) -> Any:
        if self._compiled is None:
            import regex

            self._compiled = regex.compile(self._pattern, _translated(self._flags))
        try:
            return self._compiled.search(text, timeout=SECONDS)
        except TimeoutError:
            raise TooSlowError(f"the search took more than {SECONDS:g} s") from None


def _translated(flags: int) -> int:
    """The flags of `re` as `regex` has them, with the behaviour of `re`."""
    import regex

    names = ("IGNORECASE", "MULTILINE", "DOTALL", "VERBOSE")
    given = [int(getattr(regex, name)) for name in names if flags & getattr(re, name)]
    return int(regex.VERSION0) | sum(given)
