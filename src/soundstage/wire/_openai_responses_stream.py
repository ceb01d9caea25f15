"""OpenAI Responses, the way out: the events of a stream.

A stream is a small protocol. `response.created` and `response.in_progress` open it. Each item is announced
(`output_item.added`), filled and completed (`output_item.done`) before the next one begins. What fills an
item depends on its kind, and `GRAMMAR` is the table of it: text goes into a part of the item, with events
for the part around those for the text; the input of a call goes into the item itself; a call of a built-in tool
comes whole. One event with the whole response closes the stream; there is no `[DONE]`. Every event carries its
name twice and is numbered from 0.

Source: the provider's API reference for streaming events; the order is that of its servers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from soundstage.errors import ProviderError
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    OpaqueChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from soundstage.models.response_calls import calls_of
from soundstage.wire import _openai
from soundstage.wire._codec import AnswerStamp
from soundstage.wire._openai_responses_encode import (
    STATUS,
    OutputItem,
    ResponseObject,
    last_status,
    seal_of,
    whole,
)
from soundstage.wire._parts import BlockChunk, check_first, is_field
from soundstage.wire._sse import encode_json

_Piece = TextChunk | ThinkingChunk | ToolCallChunk


class ResponsesEncoder:
    """One streamed answer; see the essay above."""

    def __init__(self, request: ModelRequest, stamp: AnswerStamp) -> None:
        self._stamp = stamp
        self._answer = ResponseObject(request, stamp)
        self._calls = calls_of(request.tools)
        self._seal = seal_of(request)
        self._events = 0
        self._items: list[bytes] = []  # the finished ones
        self._item: OutputItem | None = None  # the open one, of the block with number `_block`
        self._block = -1

    def begin(self) -> bytes:
        """See `Encoder.begin`."""
        fields = {"response": msgspec.Raw(self._answer.started())}
        return self._event("response.created", fields) + self._event("response.in_progress", fields)

    def chunk(self, chunk: ModelChunk) -> bytes:
        """See `Encoder.chunk`."""
        if isinstance(chunk, GarbledChunk):
            return chunk.data
        if not isinstance(chunk, BlockChunk):
            return b""
        if not isinstance(chunk, OpaqueChunk) and self._item is not None and chunk.index == self._block:
            return self._add(self._item, chunk)
        if isinstance(chunk, OpaqueChunk) and self._item is not None and is_field(chunk):
            return self._field(self._item, chunk)
        check_first(chunk, self._block)
        self._block = chunk.index
        closing = self._close()
        if isinstance(chunk, OpaqueChunk):
            return closing + self._add_whole(whole(chunk))
        item = self._item = self._begun(chunk)
        opening = b"" if item.called.tool else self._announce(item)
        return closing + opening + self._add(item, chunk)

    def finish(self, finish: FinishChunk) -> bytes:
        """See `Encoder.finish`."""
        status = STATUS[finish.finish]
        closing = self._close(last_status(status))
        answer = msgspec.Raw(self._answer.finished(finish, self._items))
        return closing + self._event(f"response.{status}", {"response": answer})

    def error(self, error: ProviderError) -> bytes:
        """See `Encoder.error`. The reference has the error's fields in the event, the servers nest them."""
        shown = _openai.error_object(error)["error"]
        code = shown["code"] or shown["type"]
        flat = {"code": code, "message": shown["message"], "param": shown["param"]}
        failed = self._answer.failed(self._items, {"code": code, "message": shown["message"]})
        return self._event("error", {**flat, "error": {**shown, "code": code}}) + self._event(
            "response.failed", {"response": msgspec.Raw(failed)}
        )

    def _event(self, name: str, fields: dict[str, Any]) -> bytes:
        head = f'event: {name}\ndata: {{"type":"{name}","sequence_number":{self._events},'
        self._events += 1
        return head.encode() + encode_json(fields)[1:] + b"\n\n"

    def _begun(self, chunk: _Piece) -> OutputItem:
        number = len(self._items)
        if isinstance(chunk, ToolCallChunk):
            return OutputItem(self._calls(chunk.name), number, self._stamp, chunk.id)
        return OutputItem("message" if isinstance(chunk, TextChunk) else "reasoning", number, self._stamp)

    def _announce(self, item: OutputItem) -> bytes:
        fields = {"output_index": item.number, "item": item.announced()}
        added = self._event("response.output_item.added", fields)
        return added + self._part_event(item, "added") if item.kind == "message" else added

    def _add(self, item: OutputItem, chunk: _Piece) -> bytes:
        if isinstance(chunk, ThinkingChunk):
            item.signature += chunk.signature
        text = chunk.arguments if isinstance(chunk, ToolCallChunk) else chunk.text
        if not text:
            return b""
        first = item.kind == "reasoning" and not item.pieces
        opening = self._part_event(item, "added") if first else b""
        item.pieces.append(text)
        if item.called.tool:
            return b""
        fields = {**item.place, **item.marks, "delta": text}
        return opening + self._event(f"response.{item.grammar.text}.delta", fields)

    def _field(self, item: OutputItem, chunk: OpaqueChunk) -> bytes:
        """A field of the open item: it is in the finished one, and annotations are told at once."""
        item.fields |= chunk.data
        annotations = chunk.data.get("annotations") if item.kind == "message" else None
        return b"".join(
            self._event(
                "response.output_text.annotation.added",
                {**item.place, "annotation_index": number, "annotation": annotation},
            )
            for number, annotation in enumerate(annotations or ())
        )

    def _close(self, status: str = "completed") -> bytes:
        item, self._item = self._item, None
        if item is None:
            return b""
        item.signature = item.signature or self._seal
        finished = encode_json(item.finished(status))
        self._items.append(finished)
        done = {"output_index": item.number, "item": msgspec.Raw(finished)}
        if item.called.tool:  # nothing of it has been said before all of it is there
            begun = {**done, "item": item.finished("in_progress")}
            return self._event("response.output_item.added", begun) + self._event(
                "response.output_item.done", done
            )
        return self._text_done(item) + self._event("response.output_item.done", done)

    def _text_done(self, item: OutputItem) -> bytes:
        text = item.text
        if item.kind == "reasoning" and not text:
            return b""
        named = {"name": item.called.name} if item.kind == "function_call" else {}
        fields = {**item.place, **item.marks, **named, item.grammar.field: text}
        done = self._event(f"response.{item.grammar.text}.done", fields)
        return done + self._part_event(item, "done") if item.grammar.part else done

    def _part_event(self, item: OutputItem, what: str) -> bytes:
        fields = {**item.place, "part": item.part(item.text)}
        return self._event(f"response.{item.grammar.part}.{what}", fields)

    def _add_whole(self, item: dict[str, Any]) -> bytes:
        encoded = encode_json(item)
        fields = {"output_index": len(self._items), "item": msgspec.Raw(encoded)}
        self._items.append(encoded)
        added = self._event("response.output_item.added", fields)
        return added + self._event("response.output_item.done", fields)
