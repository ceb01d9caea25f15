"""Words for messages: what was expected, what was seen, what may have been meant. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from soundstage.errors import SoundstageError
from soundstage.match import preview

_SEEN: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...]] = (
    (type(None), lambda _: "nothing"),
    (bool, lambda value: str(value).lower()),
    (str, lambda value: f"the text {preview(value, 60)}" if value else "an empty text"),
    ((int, float), lambda value: f"the number {value}"),
    (dict, lambda value: f"a mapping with {', '.join(map(str, value))}" if value else "an empty mapping"),
    ((list, tuple), lambda value: f"a list of {len(value)}" if value else "an empty list"),
)


def in_words(value: Any) -> str:
    """A value of a script in words, for messages."""
    for kind, words in _SEEN:
        if isinstance(value, kind):
            return words(value)
    return f"{type(value).__name__} {preview(value, 60)}"


def in_one_line(error: SoundstageError) -> str:
    """An error's message as one line of a list of problems."""
    parts = [
        error.summary,
        f"expected {error.expected}" if error.expected else "",
        f"got {error.seen}" if error.seen else "",
        error.hint,
    ]
    return "; ".join(part.replace("\n", " ") for part in parts if part)
