"""Replies: what a rule says, and how it is played as a stream of chunks.

A reply is data. `Reply.chunks_for` turns it into chunks once; `play` sends them with the delays that the
reply asks for, on the clock, and lets its fault happen at its place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Final, Literal

import msgspec

from soundstage.clock import Clock, IdSource
from soundstage.errors import ConnectionCut, ProviderError, ScriptError
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)

PIECE: Final = 16  # characters; where a streamed text may be cut, if no chunks are given
CHARACTERS_PER_TOKEN: Final = 4
FOREVER: Final = 86_400.0 * 365
GARBAGE: Final = b'data: {"garbled": \xff\xfe\n\n'

_encode = msgspec.json.Encoder().encode
Seconds = Annotated[float, msgspec.Meta(ge=0)]


class _Data(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of what can be written in a script."""


class CallSpec(_Data, frozen=True, kw_only=True):
    """A tool call: `name`, `arguments`, and an `id` if it matters (one is drawn otherwise).

    `raw` replaces the arguments by any text, for arguments that are not valid JSON.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    arguments: dict[str, Any] = {}
    id: str = ""
    raw: str = ""


class BlockSpec(_Data, frozen=True, kw_only=True):
    """One block of an ordered reply: exactly one of `text`, `thinking`, `tool_call`, `opaque`."""

    text: str | None = None
    thinking: str | None = None
    signature: str = ""
    tool_call: CallSpec | None = None
    opaque: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("text", "thinking", "tool_call", "opaque") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a block has exactly one of text, thinking, tool_call, opaque; got {' and '.join(given) or 'none'}"
            )


class ErrorSpec(_Data, frozen=True, kw_only=True):
    """An error answer. `retry_after` is in seconds; `should_retry` sets `x-should-retry`."""

    status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 500
    type: str = ""
    message: str = "scripted error"
    retry_after: Seconds | None = None
    should_retry: bool | None = None
    headers: dict[str, str] = {}

    def exception(self) -> ProviderError:
        """The error as a model raises it."""
        headers = dict(self.headers)
        if self.retry_after is not None:
            headers["retry-after"] = f"{self.retry_after:g}"
        if self.should_retry is not None:
            headers["x-should-retry"] = "true" if self.should_retry else "false"
        return ProviderError(self.message, status=self.status, kind=self.type, headers=headers)


class Fault(_Data, frozen=True, kw_only=True):
    """Something that goes wrong on the way, after `after` chunks of the reply.

    `cut`: the connection breaks off. `stall`: nothing comes for `seconds` (for ever, if not given), then
    the rest. `garbled`: bytes that no format allows, then the rest. `empty`: a reply without any content.
    """

    type: Literal["cut", "stall", "garbled", "empty"]
    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    seconds: Seconds | None = None


class Reply(_Data, frozen=True, kw_only=True):
    """What the model answers: text, chunks, blocks, tool calls, an error or a fault.

    Args:
        text: the text; with `tool_calls`, it comes before them.
        chunks: the text, in the pieces in which it is streamed.
        blocks: text, thinking and tool calls in any order.
        tool_calls: the tools to ask for.
        error: an error answer instead of a reply.
        fault: what goes wrong on the way.
        usage: token counts; estimated at four characters a token unless given.
        finish: why the model stops; `tool_calls` when there are any, else `stop`.
        model: the model's name in the answer; the requested one unless given.
        headers: response headers.
        delay: seconds before the answer begins.
        first_token_after: seconds before the first piece; the same as `delay`, by its field name.
        tokens_per_second: speed of the pieces after the first.
    """

    text: str | None = None
    chunks: tuple[str, ...] | None = None
    blocks: tuple[BlockSpec, ...] | None = None
    tool_calls: tuple[CallSpec, ...] = ()
    error: ErrorSpec | None = None
    fault: Fault | None = None
    usage: Usage | None = None
    finish: FinishReason | None = None
    model: str = ""
    headers: dict[str, str] = {}
    delay: Seconds = 0.0
    first_token_after: Seconds = 0.0
    tokens_per_second: Annotated[float, msgspec.Meta(gt=0)] | None = None

    def __post_init__(self) -> None:
        bodies = [name for name in ("text", "chunks", "blocks") if getattr(self, name) is not None]
        if self.error is not None and (bodies or self.tool_calls or self.fault):
            other = (bodies + ["tool_calls"] * bool(self.tool_calls) + ["fault"] * bool(self.fault))[0]
            raise ValueError(f"a reply has either {other} or error, not both")
        if len(bodies) > 1:
            raise ValueError(f"a reply has one of text, chunks and blocks, not {' and '.join(bodies)}")
        if self.blocks is not None and self.tool_calls:
            raise ValueError("a reply with blocks has its tool calls as blocks, not as tool_calls")
        if not bodies and not self.tool_calls and self.error is None and self.fault is None:
            raise ValueError("a reply needs one of text, chunks, blocks, tool_calls, error, fault")

    @property
    def wait(self) -> float:
        """Seconds before the first piece."""
        return self.delay + self.first_token_after

    @property
    def instant(self) -> bool:
        """Whether it can be sent in one go."""
        return self.fault is None and self.tokens_per_second is None and self.wait == 0

    @property
    def draws_ids(self) -> bool:
        """Whether ids must be drawn each time it is played."""
        return any(block.tool_call is not None and not block.tool_call.id for block in self.ordered_blocks)

    @property
    def ordered_blocks(self) -> tuple[BlockSpec, ...]:
        """The reply as blocks, however it was written. `chunks` are one block of text."""
        if self.blocks is not None:
            return self.blocks
        text = self.text if self.chunks is None else "".join(self.chunks)
        head = (BlockSpec(text=text),) if text else ()
        return head + tuple(BlockSpec(tool_call=call) for call in self.tool_calls)

    @property
    def finish_reason(self) -> FinishReason:
        """Why the model stops."""
        if self.finish is not None:
            return self.finish
        calls = any(block.tool_call is not None for block in self.ordered_blocks)
        return "tool_calls" if calls else "stop"

    def chunks_for(self, ids: IdSource, *, pieces: bool) -> list[ModelChunk]:
        """The content as chunks, without the finish.

        Args:
            ids: where ids of tool calls come from.
            pieces: whether to cut long texts, as a stream does.
        """
        if self.fault is not None and self.fault.type == "empty":
            return []
        found: list[ModelChunk] = []
        if self.headers or self.model:
            found.append(StartChunk(model=self.model, headers=self.headers))
        for index, block in enumerate(self.ordered_blocks):
            found.extend(self._block_chunks(index, block, ids, pieces=pieces))
        return found

    def _block_chunks(
        self, index: int, block: BlockSpec, ids: IdSource, *, pieces: bool
    ) -> Iterator[ModelChunk]:
        if block.text is not None:
            texts = self.chunks if self.chunks is not None else _pieces(block.text, pieces=pieces)
            for text in texts:
                yield TextChunk(index=index, text=text)
        elif block.thinking is not None:
            for text in _pieces(block.thinking, pieces=pieces):
                yield ThinkingChunk(index=index, text=text)
            if block.signature:
                yield ThinkingChunk(index=index, signature=block.signature)
        elif block.tool_call is not None:
            call = block.tool_call
            first, *rest = _pieces(call.raw or _encode(call.arguments).decode(), pieces=pieces)
            yield ToolCallChunk(index=index, id=call.id or ids.draw("call_"), name=call.name, arguments=first)
            for text in rest:
                yield ToolCallChunk(index=index, arguments=text)
        else:
            data = block.opaque or {}
            yield OpaqueChunk(index=index, type=str(data.get("type", "unknown")), data=data)


def _pieces(text: str, *, pieces: bool) -> list[str]:
    """Cut a text for streaming: at spaces, where a piece has become long enough."""
    if not pieces or len(text) <= PIECE:
        return [text]
    found, start = [], 0
    while start < len(text):
        space = text.find(" ", start + PIECE)
        end = space + 1 if 0 <= space < start + 3 * PIECE else start + 2 * PIECE
        found.append(text[start:end])
        start = end
    return found


def tokens_in(text_length: int) -> int:
    """The estimate that scripted usage is made of: four characters a token, rounded up."""
    return -(-text_length // CHARACTERS_PER_TOKEN)


def length_of(chunk: ModelChunk) -> int:
    """Characters in a chunk."""
    if isinstance(chunk, TextChunk | ThinkingChunk):
        return len(chunk.text)
    return len(chunk.arguments) + len(chunk.name) if isinstance(chunk, ToolCallChunk) else 0


def estimate_usage(request: ModelRequest, chunks: list[ModelChunk]) -> Usage:
    """Token counts for a reply that gives none."""
    asked = 0
    for message in request.messages:
        for part in message.parts:
            asked += len(getattr(part, "text", ""))
    return Usage(input_tokens=tokens_in(asked), output_tokens=tokens_in(sum(map(length_of, chunks))))


def finish_chunk(reply: Reply, request: ModelRequest, chunks: list[ModelChunk], served_by: str) -> FinishChunk:
    """The chunk that ends `reply`."""
    return FinishChunk(
        finish=reply.finish_reason,
        usage=reply.usage if reply.usage is not None else estimate_usage(request, chunks),
        model=reply.model or request.model,
        served_by=served_by,
    )


async def paced(reply: Reply, chunks: list[ModelChunk], clock: Clock) -> AsyncIterator[ModelChunk]:
    """`chunks` with the delays that `reply` asks for."""
    speed = reply.tokens_per_second
    await clock.sleep(reply.wait)
    for number, chunk in enumerate(chunks):
        if speed is not None and number:
            await clock.sleep(max(tokens_in(length_of(chunk)), 1) / speed)
        yield chunk


async def with_fault(
    stream: AsyncIterator[ModelChunk], fault: Fault, clock: Clock
) -> AsyncIterator[ModelChunk]:
    """`stream`, with `fault` happening after `fault.after` of its chunks, or at its end if it is shorter."""
    passed = 0
    done = False
    async for chunk in stream:
        if not done and (passed == fault.after or isinstance(chunk, FinishChunk)):
            done = True
            async for noise in _happen(fault, clock):
                yield noise
        if fault.type == "empty" and not isinstance(chunk, FinishChunk):
            continue
        yield chunk
        passed += 1


async def _happen(fault: Fault, clock: Clock) -> AsyncIterator[ModelChunk]:
    if fault.type == "cut":
        raise ConnectionCut(f"the connection was cut after {fault.after} chunks, as scripted")
    if fault.type == "stall":
        await clock.sleep(FOREVER if fault.seconds is None else fault.seconds)
    elif fault.type == "garbled":
        yield GarbledChunk(data=GARBAGE)


def as_reply(value: Any) -> Reply:
    """A reply from what a function or a test gives: a `Reply`, text, or the fields of one.

    Raises:
        ScriptError: if it is none of these.
    """
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(text=value)
    try:
        return msgspec.convert(value, Reply)
    except msgspec.ValidationError as error:
        raise ScriptError(
            "this is not a reply", expected="text, a Reply, or its fields", seen=str(error)
        ) from None
