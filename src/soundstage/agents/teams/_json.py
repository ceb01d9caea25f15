"""JSON objects in what a model says, among prose and code fences. Pure.

A brace begins an object only if a whole object follows; so braces in prose do no harm, and quotes and braces
inside strings belong to their strings. Objects inside of other objects are parts of those.
"""

from __future__ import annotations

import json
from typing import Any, Final

from soundstage.match import preview

_DECODER: Final = json.JSONDecoder(strict=False)  # models write line ends into strings


def objects_in(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects in `text`, in order.

    Example:
        >>> objects_in('I suggest {"agents": ["executor"]}, as {you} said.')
        [{'agents': ['executor']}]
    """
    found: list[dict[str, Any]] = []
    place = text.find("{")
    while place >= 0:
        value, end = _object_at(text, place)
        if value is not None:
            found.append(value)
        place = text.find("{", end)
    return found


def _object_at(text: str, place: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins at `place`, if one does, and where to look on."""
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None, place + 1


def distinct(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without repetitions: a model that says the same twice has said one thing."""
    kept: list[dict[str, Any]] = []
    for value in objects:
        if value not in kept:
            kept.append(value)
    return kept


def shown(value: Any) -> str:
    """A piece of JSON in a message."""
    return preview(json.dumps(value, ensure_ascii=False))
