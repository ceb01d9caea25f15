"""Shared by the Anthropic and the Gemini codec: the order of streamed blocks, and the estimate of tokens."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

from soundstage.errors import InvalidStateError
from soundstage.messages import Message, Opaque, OpaqueChunk, Part, TextChunk, ThinkingChunk, ToolCallChunk

CHARACTERS_PER_TOKEN: Final = 4
SEAL: Final = base64.b64encode(b"thinking of soundstage").decode()
"""The signature of thinking that has none of its own: clients send it back, and providers refuse thinking without."""

BlockChunk = TextChunk | ThinkingChunk | ToolCallChunk | OpaqueChunk


def is_field(part: Part | BlockChunk) -> bool:
    """Whether an opaque part is a field beside the part before it, or beside the answer, and not a part of its own.

    >>> is_field(Opaque(type="citations", data={"citations": []}))
    True
    >>> is_field(Opaque(type="image", data={"type": "image"}))
    False
    """
    if not isinstance(part, Opaque | OpaqueChunk):
        return False
    return isinstance(part.data, dict) and part.data.keys() == {part.type}


def check_first(chunk: BlockChunk, latest: int) -> None:
    """`chunk` can begin a block after the block with index `latest`.

    Raises:
        InvalidStateError: if it belongs to a block that has ended, or is the rest of a tool call.
    """
    if chunk.index < latest or (isinstance(chunk, ToolCallChunk) and not chunk.name):
        raise InvalidStateError(
            f"block {chunk.index} of a reply cannot be streamed",
            expected="all pieces of a block in a row, blocks in ascending order, a tool call's name first",
            seen=f"a piece of block {chunk.index} after block {latest}",
            hint="let the model yield the chunks of each block together",
        )


def estimate(messages: Iterable[Message], tools: bytes) -> int:
    """The tokens of a request: one for every four characters of readable text and of the tools' JSON."""
    characters = sum(len(message.everything) for message in messages) + len(tools)
    return -(-characters // CHARACTERS_PER_TOKEN)
