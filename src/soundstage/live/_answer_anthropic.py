"""Anthropic Messages, an answer read. Pure.

Source: the provider's API reference for messages and for streamed messages. A whole message is read as the events that
would stream it: each block as one that begins with all its content, and ends. Blocks of types that we do not interpret
are opaque, with what their deltas have added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from soundstage.live._answer_format import EMPTY, AnswerDecoder, merged, provider_error
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    ModelChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
    decode_arguments,
)

FINISH: Final[dict[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "compaction": "pause",
    "refusal": "content_filter",
}
FIELDS: Final = {  # of the blocks that we interpret; `caller` says, of most calls, that the model itself has called
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
DIRECT: Final = {"caller": {"type": "direct"}}
_MESSAGE: Final = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
)


class _OpenBlock:
    """A block that has begun: its number here, its fields so far, and the pieces of a call's input."""

    def __init__(self, index: int, fields: dict[str, Any]) -> None:
        self.index = index
        self.fields = fields
        self.pieces: list[str] = []

    @property
    def kind(self) -> str:
        return str(self.fields.get("type") or "")


class MessageDecoder(AnswerDecoder):
    """Blocks by the provider's numbers while they are open."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[int, _OpenBlock] = {}
        self._finish: FinishReason | None = None
        self._stopped_by = ""
        self._usage: dict[str, int] = {}
        self._events: Final[dict[str, Callable[[dict[str, Any]], Iterator[ModelChunk]]]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
        }

    def event(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.event`."""
        kind = given.get("type")
        if kind == "error":
            raise provider_error(given.get("error"))
        self.done = self.done or kind == "message_stop"
        handle = self._events.get(str(kind))
        if handle is not None:
            yield from handle(given)

    def whole(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        """See `AnswerDecoder.whole`."""
        if given.get("error"):
            raise provider_error(given["error"])
        yield from self._message_start({"message": given})
        for number, block in enumerate(given["content"]):
            yield from self._block_start({"index": number, "content_block": block})
            yield from self._block_stop({"index": number})
        ending = {name: given.get(name) for name in ("stop_reason", "stop_sequence")}
        yield from self._message_delta({"delta": ending})
        self.done = True

    def _message_start(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        message = given.get("message") or {}
        self.model = str(message.get("model") or "")
        self._count(message.get("usage"))
        self._keep(message, _MESSAGE)
        yield from ()

    def _block_start(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        number, block = given["index"], given.get("content_block") or {}
        opened = self._open[number] = _OpenBlock(self._new(), block)
        if opened.kind == "text" and block.get("text"):
            yield TextChunk(index=opened.index, text=block["text"])
        elif opened.kind == "thinking" and (block.get("thinking") or block.get("signature")):
            sealed = block.get("signature") or ""
            yield ThinkingChunk(index=opened.index, text=block.get("thinking") or "", signature=sealed)
        elif opened.kind == "tool_use":
            yield ToolCallChunk(index=opened.index, id=block.get("id") or "", name=block.get("name") or "")

    def _delta(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        opened, delta = self._open[given["index"]], given.get("delta") or {}
        kind = (opened.kind, delta.get("type"))
        if kind == ("text", "text_delta"):
            yield TextChunk(index=opened.index, text=delta["text"])
        elif kind == ("thinking", "thinking_delta"):
            yield ThinkingChunk(index=opened.index, text=delta["thinking"])
        elif kind == ("thinking", "signature_delta"):
            yield ThinkingChunk(index=opened.index, signature=delta["signature"])
        elif kind[1] == "input_json_delta":
            opened.pieces.append(delta["partial_json"])
            if kind[0] == "tool_use":
                yield ToolCallChunk(index=opened.index, arguments=delta["partial_json"])
        else:
            opened.fields = merged(opened.fields, _added(delta))

    def _block_stop(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        opened = self._open.pop(given["index"])
        block, known = opened.fields, FIELDS.get(opened.kind)
        if known is None:
            arguments, _ = decode_arguments("".join(opened.pieces))
            data = block | {"input": arguments} if arguments else block
            yield self._part(data, index=opened.index)
            return
        if opened.kind == "tool_use" and not opened.pieces and block.get("input") not in EMPTY:
            yield ToolCallChunk(index=opened.index, arguments=_input(block["input"]))
        yield from self._fields(
            {name: value for name, value in block.items() if DIRECT.get(name) != value}, known
        )

    def _message_delta(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        delta = given.get("delta") or {}
        reason = delta.get("stop_reason")
        if reason:
            self._finish = FINISH.get(reason, "stop")
        self._stopped_by = delta.get("stop_sequence") or self._stopped_by
        self._count(given.get("usage"))
        self._keep(delta, _MESSAGE)
        self._keep(given, ("type", "delta", "usage"))
        yield from ()

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones; what is not counted again stays."""
        if isinstance(usage, dict):
            self._usage |= {key: value for key, value in usage.items() if isinstance(value, int)}

    def finish(self) -> FinishChunk | None:
        """See `AnswerDecoder.finish`."""
        if self._finish is None or not self.done:
            return None
        usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
        )
        return FinishChunk(finish=self._finish, usage=usage, model=self.model, stopped_by=self._stopped_by)


def _added(delta: dict[str, Any]) -> dict[str, Any]:
    """The fields that a delta adds to its block. A citation is one entry of a list."""
    added = {name: value for name, value in delta.items() if name != "type"}
    if "citation" in added:
        added["citations"] = [added.pop("citation")]
    return added


def _input(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
