"""Any reply of a model, in any pieces: strategies for Hypothesis."""

from __future__ import annotations

import base64
import json

from hypothesis import strategies as st

from soundstage.messages import (
    FinishChunk,
    ModelChunk,
    OpaqueChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=3).map(json.dumps)
BROKEN = st.sampled_from(["{", '{"a": ', "[1]", '"x"', "oops", "1"])
USAGES = st.builds(
    Usage,
    input_tokens=st.integers(0, 10**6),
    output_tokens=st.integers(0, 10**6),
    cache_read_tokens=st.integers(0, 10**6),
    cache_write_tokens=st.integers(0, 10**6),
)
REASONS = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "pause", "error"])
SIGNATURES = st.binary(max_size=6).map(lambda seal: base64.b64encode(seal).decode())


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """`text` in pieces, some of them perhaps empty."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def block_chunks(
    draw: st.DrawFn, index: int, arguments: st.SearchStrategy[str], opaque: tuple[str, ...]
) -> list[ModelChunk]:
    """One block: text, thinking, a tool call, or one that is opaque, if there are types for such."""
    kind = draw(st.sampled_from(["text", "thinking", "call", *(["opaque"] if opaque else [])]))
    if kind == "opaque":
        data = {"note": draw(st.text(min_size=1)), "more": draw(st.lists(JSON, min_size=1, max_size=2))}
        return [OpaqueChunk(index=index, type=draw(st.sampled_from(opaque)), data=data)]
    if kind == "text":
        return [TextChunk(index=index, text=piece) for piece in draw(cut(draw(st.text())))]
    if kind == "thinking":
        pieces = [ThinkingChunk(index=index, text=piece) for piece in draw(cut(draw(st.text())))]
        return [*pieces, ThinkingChunk(index=index, signature=draw(SIGNATURES))]
    first, *rest = draw(cut(draw(arguments)))
    name = draw(st.sampled_from(["read", "write", "list_files"]))
    head = ToolCallChunk(index=index, id=f"call_{index}", name=name, arguments=first)
    return [head, *(ToolCallChunk(index=index, arguments=piece) for piece in rest)]


@st.composite
def replies(
    draw: st.DrawFn,
    arguments: st.SearchStrategy[str] = ARGUMENTS | BROKEN,
    opaque: tuple[str, ...] = (),
) -> list[ModelChunk]:
    """The chunks of a reply.

    Args:
        draw: of Hypothesis.
        arguments: of tool calls, as text.
        opaque: types of blocks that we do not interpret.
    """
    chunks: list[ModelChunk] = []
    index = -1
    for _ in range(draw(st.integers(0, 5))):
        index += draw(st.integers(1, 3))
        chunks.extend(draw(block_chunks(index, arguments, opaque)))
    return [*chunks, FinishChunk(finish=draw(REASONS), usage=draw(USAGES))]
