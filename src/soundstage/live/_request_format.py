"""Live formats: a request out; `_answers` reads what comes back. Pure: no I/O, no clock, no environment.

The formats are client-side counterparts of the codecs of the wire, and know nothing of them: that a request
and a reply survive the way through both is what tests of the wire show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from soundstage.messages import ModelRequest, Opaque, Part, Text


class LiveFormat(NamedTuple):
    """One provider's way to be asked.

    Args:
        name: the format, as requests on the wire carry it.
        base_url: where the provider is.
        path: what comes behind that; `{model}` in it is the model to ask.
        key_variables: the environment variables that may hold the key; the first that does counts.
        headers: makes the headers from the key.
        forwarded: headers of the app that the provider should see.
        encode: makes the body.
    """

    name: str
    base_url: str
    path: str
    key_variables: tuple[str, ...]
    headers: Callable[[str], dict[str, str]]
    forwarded: frozenset[str]
    encode: Callable[[ModelRequest, str], dict[str, Any]]


def content(parts: Iterable[Part]) -> str | list[Any]:
    """Text and opaque parts as both formats write them: one text as it is, else a list of blocks."""
    given = list(parts)
    if len(given) == 1 and isinstance(given[0], Text):
        return given[0].text
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else part.data
        for part in given
        if isinstance(part, Text | Opaque)
    ]
