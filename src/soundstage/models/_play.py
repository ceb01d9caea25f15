"""Play a reply: pieces with their delays on the clock, and faults at their place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from soundstage.clock import Clock
from soundstage.errors import ConnectionCut
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)
from soundstage.models._context import asked_tokens, tokens_in
from soundstage.models._protocol import close
from soundstage.models._reply import Reply, ReplyFault

FOREVER: Final = 86_400.0 * 365
GARBAGE: Final = b'data: {"garbled": \xff\xfe\n\n'


class PreparedReply(NamedTuple):
    """A reply made ready: its chunks without the finish, and what the finish needs."""

    chunks: list[ModelChunk]
    finish: FinishReason
    output_tokens: int


def make(reply: Reply, chunks: list[ModelChunk]) -> PreparedReply:
    """`reply` with its chunks, ready to be played any number of times."""
    return PreparedReply(chunks, reply.finish_reason, tokens_in(sum(map(length_of, chunks))))


def length_of(chunk: ModelChunk) -> int:
    """Characters in a chunk."""
    if isinstance(chunk, TextChunk | ThinkingChunk):
        return len(chunk.text)
    return len(chunk.arguments) + len(chunk.name) if isinstance(chunk, ToolCallChunk) else 0


def finish_chunk(
    reply: Reply, request: ModelRequest, made: PreparedReply, served_by: str, stopped_by: str = ""
) -> FinishChunk:
    """The chunk that ends `reply`; a reply that gives no usage gets an estimate."""
    usage = reply.usage
    if usage is None:
        usage = Usage(input_tokens=asked_tokens(request), output_tokens=made.output_tokens)
    return FinishChunk(
        finish=made.finish,
        usage=usage,
        model=reply.model or request.model,
        served_by=served_by,
        stopped_by=stopped_by,
    )


async def paced(reply: Reply, chunks: Sequence[ModelChunk], clock: Clock) -> AsyncIterator[ModelChunk]:
    """`chunks` with the delays that `reply` asks for."""
    speed = reply.tokens_per_second
    await clock.sleep(reply.wait)
    first = True
    for chunk in chunks:
        if speed is not None and not isinstance(chunk, StartChunk | FinishChunk):
            if not first:
                await clock.sleep(max(tokens_in(length_of(chunk)), 1) / speed)
            first = False
        yield chunk


async def with_fault(
    stream: AsyncIterator[ModelChunk], fault: ReplyFault, clock: Clock
) -> AsyncIterator[ModelChunk]:
    """`stream`, with `fault` happening after `fault.after` of its chunks, or at its end if it is shorter."""
    passed = 0
    done = False
    try:
        async for chunk in stream:
            content = not isinstance(chunk, StartChunk | FinishChunk)
            if not done and ((content and passed == fault.after) or isinstance(chunk, FinishChunk)):
                done = True
                async for noise in _happen(fault, clock):
                    yield noise
            if fault.type == "empty" and content:
                continue
            yield chunk
            passed += content
    finally:
        await close(stream)


async def _happen(fault: ReplyFault, clock: Clock) -> AsyncIterator[ModelChunk]:
    if fault.type == "cut":
        raise ConnectionCut(f"the connection was cut after {fault.after} chunks, as scripted")
    if fault.type == "stall":
        await clock.sleep(FOREVER if fault.seconds is None else fault.seconds)
    elif fault.type == "garbled":
        yield GarbledChunk(data=GARBAGE)
