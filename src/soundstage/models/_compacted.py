"""The answer to a request whose context was edited: what a provider adds to the words of its model.

A compaction comes before the reply. With a pause it comes alone, and no rule is asked. Anthropic also lists the edits
that cleared something, and the usage of each step; the usage of the compaction is not in that of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from soundstage.clock import IdSource
from soundstage.messages import (
    FinishChunk,
    ModelChunk,
    ModelRequest,
    OpaqueChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)
from soundstage.models._context import (
    COMPACTION,
    FIELD,
    EditedContext,
    compaction,
    edited_context,
    summary_in,
    tokens_in,
)
from soundstage.models._reply import BlockSpec, Reply

_Block = TextChunk | ThinkingChunk | ToolCallChunk | OpaqueChunk
STEPS: Final = "iterations"  # of Anthropic's usage


def pause_for(request: ModelRequest, ids: IdSource) -> Reply | None:
    """The answer to a request that is paused after its compaction; `None` for others."""
    if not request.settings.get(FIELD):
        return None
    edited = edited_context(request)
    if not edited.pause:
        return None
    block = compaction(request, edited.summary, ids.draw("cmp_"))
    return Reply(blocks=(BlockSpec(opaque=block),), finish="pause", usage=Usage())


def with_edits(
    request: ModelRequest, chunks: Iterable[ModelChunk], finish: FinishChunk, ids: IdSource
) -> list[ModelChunk]:
    """`chunks` and `finish`, with what the edits of the context add to them."""
    if not request.settings.get(FIELD):
        return [*chunks, finish]
    edited = edited_context(request)
    content = [chunk for chunk in chunks if isinstance(chunk, _Block)]
    found: list[ModelChunk] = [chunk for chunk in chunks if not isinstance(chunk, _Block)]
    written = [chunk for chunk in content if isinstance(chunk, OpaqueChunk) and chunk.type == COMPACTION]
    if edited.summary and written:
        edited = edited._replace(summary=summary_in(written[0].data) or edited.summary)
    elif edited.summary:
        block = compaction(request, edited.summary, ids.draw("cmp_"))
        found.append(OpaqueChunk(index=0, type=COMPACTION, data=block))
        content = [msgspec.structs.replace(chunk, index=chunk.index + 1) for chunk in content]
    found += content
    if request.format == "anthropic":
        number = max((chunk.index for chunk in found if isinstance(chunk, _Block)), default=-1)
        for place, (name, value) in enumerate(_told(edited, finish), number + 1):
            found.append(OpaqueChunk(index=place, type=name, data={name: value}))
    return [*found, finish]


def _told(edited: EditedContext, finish: FinishChunk) -> Iterable[tuple[str, Any]]:
    """The fields of an answer that tell about edits."""
    if edited.applied:
        yield FIELD, {"applied_edits": list(edited.applied)}
    if edited.summary:
        compacted = Usage(input_tokens=edited.before, output_tokens=tokens_in(len(edited.summary)))
        steps = [_step(COMPACTION, compacted)]
        yield STEPS, steps if edited.pause else [*steps, _step("message", finish.usage)]


def _step(kind: str, usage: Usage) -> dict[str, Any]:
    return {
        "type": kind,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }
