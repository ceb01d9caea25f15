"""Which of many recorded requests comes nearest: a small sketch of each, and how much two sketches share.

A sketch keeps the least hashes of the words and of the messages, at most 64 of each, so that it is small and quick to
compare however long a request is. The share of hashes that two sketches have in common is near to that of the sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

from soundstage.differences._form import RequestForm, form_of, json_text
from soundstage.differences._types import Normaliser
from soundstage.messages import ModelRequest

_KEPT: Final = 64  # hashes
_LENGTH: Final = 4000  # characters of a message whose words count
_MOST: Final = 0.99  # of two requests that are not the same


class RequestSketch(NamedTuple):
    """The facts of a request that are kept to find it again. Make one with `sketch_of`.

    Args:
        digest: that of the request.
        who: hashes of model, format and names of tools.
        opening: hashes of the words before the first reply: system prompt and first prompt.
        news: hashes of the words since the last reply: what the model is asked now.
        history: hashes of whole messages.
        length: the number of messages.
    """

    digest: str
    who: frozenset[int]
    opening: frozenset[int]
    news: frozenset[int]
    history: frozenset[int]
    length: int


_WEIGHTS: Final = {"who": 0.1, "opening": 0.3, "news": 0.3, "history": 0.2}
_OF_LENGTH: Final = 0.1


def sketch_of(request: ModelRequest, *, normalise: Normaliser | None = None) -> RequestSketch:
    """The sketch of a request, to be kept beside it.

    Args:
        request: the request.
        normalise: takes out of every text what changes from run to run.
    """
    form = form_of(request, normalise)
    said = [place for place, message in enumerate(form.messages) if message.role == "assistant"]
    first, last = (said[0], said[-1] + 1) if said else (len(form.messages), 0)
    names = [*form.tools, str(form.facts["model"]), str(form.facts["format"])]
    return RequestSketch(
        form.digest,
        _least(names),
        _words(form, 0, first),
        _words(form, last, len(form.messages)),
        _least(json_text((message.role, message.parts)) for message in form.messages),
        len(form.messages),
    )


def nearness(one: RequestSketch, other: RequestSketch) -> float:
    """How near two requests are, from 0 to 1; 1 is kept for requests that do not differ.

    Args:
        one: the sketch of a request.
        other: that of another; the order does not matter.

    Example:
        >>> from soundstage.messages import user
        >>> def sketch(text):
        ...     return sketch_of(ModelRequest(model="m", messages=(user(text),)))
        >>> asked, recorded = sketch("the weather in Oslo"), [sketch("tell a joke"), sketch("the weather in Rome")]
        >>> max(range(2), key=lambda place: nearness(asked, recorded[place]))
        1
    """
    if one.digest == other.digest:
        return 1.0
    score = sum(
        weight * _shared(getattr(one, name), getattr(other, name)) for name, weight in _WEIGHTS.items()
    )
    longest = max(one.length, other.length)
    score += _OF_LENGTH * (min(one.length, other.length) / longest if longest else 1.0)
    return min(score, _MOST)


def _shared(one: frozenset[int], other: frozenset[int]) -> float:
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 1.0


def _words(form: RequestForm, start: int, end: int) -> frozenset[int]:
    return _least(word for message in form.messages[start:end] for word in message.words[:_LENGTH].split())


def _least(texts: Iterable[str]) -> frozenset[int]:
    """The least hashes of some texts."""
    hashes = {crc32(text.encode("utf-8", "replace")) for text in texts}
    return frozenset(hashes if len(hashes) <= _KEPT else sorted(hashes)[:_KEPT])
