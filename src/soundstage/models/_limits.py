"""The limits that a request sets on an answer: how many tokens it may have, and texts at which it ends.

Tokens are counted as scripted usage is: four characters each, rounded up, thinking and calls of tools included. A
stop sequence is looked for in text alone, and is no part of the answer. Each provider has names of its own for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.messages import (
    FinishReason,
    ModelChunk,
    OpaqueChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)
from soundstage.models._context import CHARACTERS_PER_TOKEN, tokens_in
from soundstage.models._play import PreparedReply, length_of

TOKENS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
STOPS: Final = ("stop", "stop_sequences", "stopSequences")
INNER: Final = "generationConfig"  # where Gemini has both


class LimitedReply(NamedTuple):
    """A reply as far as a request lets it go. `stopped_by` is the stop sequence that ended it."""

    made: PreparedReply
    stopped_by: str = ""


def limited(made: PreparedReply, settings: Mapping[str, Any], given: Usage | None = None) -> LimitedReply:
    """`made`, cut off where the limits in `settings` end it.

    Args:
        made: the reply.
        settings: of the request.
        given: the usage that the reply gives itself: then its own count is what a limit of tokens looks at.
    """
    inner = settings.get(INNER)
    if isinstance(inner, Mapping):
        settings = inner
    most = _most(settings)
    stops = _stops(settings)
    chunks, stopped_by = _until(made.chunks, stops) if stops else (made.chunks, "")
    if most is not None and _tokens(chunks, given) > most:
        return LimitedReply(_made(_within(chunks, most * CHARACTERS_PER_TOKEN), "length"))
    return LimitedReply(_made(chunks, "stop"), stopped_by) if stopped_by else LimitedReply(made)


def _tokens(chunks: Iterable[ModelChunk], given: Usage | None) -> int:
    return given.output_tokens if given is not None else tokens_in(sum(map(length_of, chunks)))


def _made(chunks: list[ModelChunk], finish: FinishReason) -> PreparedReply:
    return PreparedReply(chunks, finish, tokens_in(sum(map(length_of, chunks))))


def _most(settings: Mapping[str, Any]) -> int | None:
    given = [settings[name] for name in TOKENS if isinstance(settings.get(name), int)]
    return min(given) if given else None


def _stops(settings: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name in STOPS:
        value = settings.get(name)
        found.extend([value] if isinstance(value, str) else value if isinstance(value, list) else ())
    return [stop for stop in found if isinstance(stop, str) and stop]


def _until(chunks: Sequence[ModelChunk], stops: list[str]) -> tuple[list[ModelChunk], str]:
    """The chunks before the first stop sequence, which may begin in one piece of a text and end in another."""
    texts: dict[int, str] = {}
    for chunk in chunks:
        if isinstance(chunk, TextChunk):
            texts[chunk.index] = texts.get(chunk.index, "") + chunk.text
    for index in sorted(texts):
        found = [(place, stop) for stop in stops if (place := texts[index].find(stop)) >= 0]
        if found:
            place, stop = min(found)
            return list(_before(chunks, index, place)), stop
    return list(chunks), ""


def _before(chunks: Iterable[ModelChunk], index: int, place: int) -> Iterable[ModelChunk]:
    for chunk in chunks:
        if not isinstance(chunk, TextChunk) or chunk.index != index:
            if getattr(chunk, "index", -1) < index:
                yield chunk
            continue
        if place > 0:
            yield msgspec.structs.replace(chunk, text=chunk.text[:place])
        place -= len(chunk.text)


def _within(chunks: Iterable[ModelChunk], left: int) -> list[ModelChunk]:
    """The chunks up to a number of characters. A call of which not even the name fits is left out."""
    found: list[ModelChunk] = []
    for chunk in chunks:
        if isinstance(chunk, TextChunk | ThinkingChunk | ToolCallChunk | OpaqueChunk) and left <= 0:
            break
        if isinstance(chunk, ToolCallChunk):
            left -= len(chunk.name)
            if left < 0:
                break
            chunk = msgspec.structs.replace(chunk, arguments=chunk.arguments[:left])  # noqa: PLW2901
            left -= len(chunk.arguments)
        elif isinstance(chunk, TextChunk | ThinkingChunk):
            chunk = msgspec.structs.replace(chunk, text=chunk.text[:left])  # noqa: PLW2901
            left -= len(chunk.text)
        found.append(chunk)
    return found
