"""JSON objects in what a model says, among prose and code fences. Pure.

A brace begins an object only if a whole object follows; so braces in prose do no harm, and quotes and braces
inside strings belong to their strings. Objects inside of other objects are parts of those. A text with a thousand
objects that begin and do not end is searched no further: each costs a try, and a model may write any number.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_DECODER: Final = json.JSONDecoder(strict=False)  # models write line ends into strings
_STRICT: Final = json.JSONDecoder()
_BEGIN: Final = re.compile(r'\{(?=\s*["}])')
_TRIES: Final = 1000


def objects_in(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in `text`, in order.

    Example:
        >>> objects_in('I suggest {"agents": ["executor"]}, as {you} said.')
        [{'agents': ['executor']}]
    """
    found: list[dict[str, Any]] = []
    place, failed = 0, 0
    while (begin := _BEGIN.search(text, place)) and failed < _TRIES:
        try:
            value, place = _DECODER.raw_decode(text, begin.start())
            found.append(value)
        except (ValueError, RecursionError):
            place, failed = begin.end(), failed + 1
    return found


def json_at(text: str, place: int) -> tuple[Any, int]:
    """The JSON value that begins at a place of a text, and the place behind it: 0 if none begins there.

    Example:
        >>> json_at('see [1, 2] there', 4)
        ([1, 2], 10)
    """
    try:
        return _STRICT.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None, 0


def distinct(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without repetitions: a model that says the same twice has said one thing."""
    kept: list[dict[str, Any]] = []
    for value in objects:
        if value not in kept:
            kept.append(value)
    return kept
