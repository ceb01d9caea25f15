"""Anthropic Messages, the way out: replies and errors as the provider writes them.

A stream is a sentence with a grammar: `message_start`, then each block in its turn as `content_block_start`,
any number of `content_block_delta` and `content_block_stop`, then `message_delta` with the reason and the
usage, then `message_stop`. One block is open at a time, so a new block index closes the block before it.
Source: the provider's reference for streamed messages and for errors.

`message_start` estimates the tokens that went in, as scripted usage does; `message_delta` has the final numbers, and
they replace the estimate. Thinking without a signature gets one of ours, since clients have to send it back.

An opaque part that is a field belongs to the block before it, or to the message. In a stream, citations have deltas;
another field of a block has none, and is left out. The summary of a compaction comes in one delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    Part,
    StartChunk,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
)
from soundstage.models import asked_tokens
from soundstage.wire import _sse
from soundstage.wire._codec import AnswerStamp, ErrorAnswer
from soundstage.wire._parts import BlockChunk, check_first, is_field
from soundstage.wire._signatures import sign

FINISH: Final[dict[FinishReason, str]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "pause": "pause_turn",
    "error": "end_turn",
}
ERRORS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OF_MESSAGE: Final = ("container", "stop_details", "context_management")  # fields that are not a block's
OF_USAGE: Final = ("iterations",)
USES: Final = ("server_tool_use", "mcp_tool_use")  # blocks whose input is streamed
COUNTED: Final = {"web_search": "web_search_requests", "web_fetch": "web_fetch_requests"}
COMPACTION: Final = "compaction"
DETAILED: Final = "thread_"  # begins the codes that clients look for
_PING: Final = _sse.event("ping", {"type": "ping"})
_STOP: Final = _sse.event("message_stop", {"type": "message_stop"})


def encode(response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
    """A whole message."""
    message = _message(response.model or request.model, stamp, response.usage)
    omitted = omits_thinking(request)
    for part in response.parts:
        if isinstance(part, Opaque) and is_field(part):
            _place_of(part, message).update(part.data)
        else:
            message["content"].append(_block(part, omitted=omitted))
    message["usage"] |= _server_tools(
        [block.get("name") for block in message["content"] if block["type"] == USES[0]]
    )
    compacted = bool(message["content"]) and message["content"][-1]["type"] == COMPACTION
    return _sse.encode_json(message | _stop(response, compacted=compacted))


def _place_of(field: Opaque, message: dict[str, Any]) -> dict[str, Any]:
    """Find the object that a field stands in: the usage, the message, or its last block."""
    if field.type in OF_USAGE:
        return cast(dict[str, Any], message["usage"])
    if field.type in OF_MESSAGE or not message["content"]:
        return message
    return cast(dict[str, Any], message["content"][-1])


def _stop(finish: ModelResponse | FinishChunk, *, compacted: bool) -> dict[str, Any]:
    """The reason why the model stopped; a pause behind a compaction has a name of its own."""
    if compacted and finish.finish == "pause":
        return {"stop_reason": COMPACTION, "stop_sequence": None}
    if finish.stopped_by:
        return {"stop_reason": "stop_sequence", "stop_sequence": finish.stopped_by}
    return {"stop_reason": FINISH[finish.finish], "stop_sequence": None}


def _message(model: str, stamp: AnswerStamp, usage: Usage) -> dict[str, Any]:
    return {
        "id": f"msg_{stamp.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(usage),
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }


def _server_tools(names: Sequence[Any]) -> dict[str, Any]:
    """The part of the usage that counts the tools which the provider has run."""
    counted = {field: names.count(name) for name, field in COUNTED.items()}
    return {"server_tool_use": counted} if any(counted.values()) else {}


def _block(part: Part, *, omitted: bool) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Thinking):
        shown = "" if omitted else part.text
        return {"type": "thinking", "thinking": shown, "signature": part.signature or sign(part.text)}
    if isinstance(part, ToolCall):
        # Arguments that are no JSON object have no place here; their text shows what the model said.
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.raw or part.arguments}
    if isinstance(part, Opaque):
        return _opaque(part.type, part.data)
    return {"type": "tool_result", "tool_use_id": part.call_id, "content": part.text}


def omits_thinking(request: ModelRequest) -> bool:
    """Whether the client wants thinking without its words: `thinking.display` is `omitted`."""
    thinking = request.settings.get("thinking")
    return isinstance(thinking, dict) and thinking.get("display") == "omitted"


def _opaque(kind: str, data: Any) -> dict[str, Any]:
    return {"type": kind, **data} if isinstance(data, dict) else {"type": kind, "data": data}


class MessageEncoder:
    """Chunks as events. What all deltas of a block begin with is encoded once."""

    def __init__(self, request: ModelRequest, stamp: AnswerStamp) -> None:
        asked = Usage(input_tokens=asked_tokens(request))
        self._message = _message(request.model, stamp, asked)
        self._stamp = stamp
        self._index = -1  # of the open block, as the chunks count
        self._number = -1  # of the open block, as the events count
        self._open = False
        self._signature = ""
        self._thought: list[str] = []  # the words of the open block,
        self._thinks = False  # if it is thinking
        self._delta = b""
        self._fields: dict[str, Any] = {}  # of the message, for its end
        self._steps: dict[str, Any] = {}  # of its usage
        self._kind = ""  # of the latest block
        self._used: list[Any] = []  # names of the tools that the provider has run
        self._omits = omits_thinking(request)

    def begin(self) -> bytes:
        return _sse.event("message_start", {"type": "message_start", "message": self._message}) + _PING

    def chunk(self, chunk: ModelChunk) -> bytes:
        if isinstance(chunk, GarbledChunk):
            return chunk.data
        if isinstance(chunk, StartChunk | FinishChunk):
            return b""
        if isinstance(chunk, OpaqueChunk) and is_field(chunk):
            return self._field(chunk)
        started = b"" if self._open and chunk.index == self._index else self._start(chunk)
        piece = ""
        if isinstance(chunk, TextChunk):
            piece = chunk.text
        elif isinstance(chunk, ToolCallChunk):
            piece = chunk.arguments
        elif isinstance(chunk, ThinkingChunk):
            piece = "" if self._omits else chunk.text
            self._signature += chunk.signature
            self._thought.append(chunk.text)
        return started + self._delta + _sse.encode_json(piece) + b"}}\n\n" if piece else started

    def _field(self, chunk: OpaqueChunk) -> bytes:
        """The events for a field of the open block; one of the message waits for its end."""
        if chunk.type in OF_MESSAGE:
            self._fields |= chunk.data
        elif chunk.type in OF_USAGE:
            self._steps |= chunk.data
        if chunk.type != "citations" or not self._open:
            return b""
        deltas = [{"type": "citations_delta", "citation": citation} for citation in chunk.data["citations"]]
        return b"".join(
            _sse.event(
                "content_block_delta", {"type": "content_block_delta", "index": self._number, "delta": delta}
            )
            for delta in deltas
        )

    def _start(self, chunk: BlockChunk) -> bytes:
        check_first(chunk, self._index)
        stopped = self._stop()
        self._index, self._open = chunk.index, True
        self._number += 1
        self._thinks = isinstance(chunk, ThinkingChunk)
        content, delta = _opening(chunk)
        self._kind = content["type"]
        if self._kind == USES[0]:
            self._used.append(content.get("name"))
        self._delta = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{%s:'
            % (self._number, delta)
        )
        event = {"type": "content_block_start", "index": self._number, "content_block": content}
        return stopped + _sse.event("content_block_start", event) + _rest(chunk, self._number)

    def _stop(self) -> bytes:
        """The end of the open block; the seal on thinking comes right before it."""
        if not self._open:
            return b""
        self._open = False
        seal, self._signature = self._signature, ""
        if self._thinks and not seal:
            seal = sign("".join(self._thought))
        self._thought = []
        delta = {"type": "signature_delta", "signature": seal}
        event = {"type": "content_block_delta", "index": self._number, "delta": delta}
        sealed = _sse.event("content_block_delta", event) if seal else b""
        return sealed + _sse.event(
            "content_block_stop", {"type": "content_block_stop", "index": self._number}
        )

    def finish(self, finish: FinishChunk) -> bytes:
        event = {
            "type": "message_delta",
            "delta": _stop(finish, compacted=self._kind == COMPACTION)
            | {name: self._fields.pop(name) for name in OF_MESSAGE[:2] if name in self._fields},
            "usage": _usage(finish.usage) | self._steps | _server_tools(self._used),
            **self._fields,
        }
        return self._stop() + _sse.event("message_delta", event) + _STOP

    def error(self, error: ProviderError) -> bytes:
        return _sse.event("error", _error(error, self._stamp))


def _opening(chunk: BlockChunk) -> tuple[dict[str, Any], bytes]:
    """A block before its first piece, and how its pieces are labelled."""
    if isinstance(chunk, TextChunk):
        return {"type": "text", "text": ""}, b'"type":"text_delta","text"'
    if isinstance(chunk, ThinkingChunk):
        return {"type": "thinking", "thinking": "", "signature": ""}, b'"type":"thinking_delta","thinking"'
    if isinstance(chunk, ToolCallChunk):
        call = {"type": "tool_use", "id": chunk.id, "name": chunk.name, "input": {}}
        return call, b'"type":"input_json_delta","partial_json"'
    block = _opaque(chunk.type, chunk.data)
    if chunk.type == COMPACTION:
        block["content"] = None  # its summary follows
    elif chunk.type in USES and "input" in block:
        block["input"] = {}  # it follows
    return block, b""


def _rest(chunk: BlockChunk, number: int) -> bytes:
    """The summary of a compaction, or the input of a tool that the provider runs: each comes in one piece."""
    if not isinstance(chunk, OpaqueChunk) or chunk.type not in (COMPACTION, *USES):
        return b""
    given = _opaque(chunk.type, chunk.data)
    if chunk.type in USES and "input" not in given:
        return b""
    delta: dict[str, Any]
    if chunk.type == COMPACTION:
        told: dict[str, Any] = {
            name: given[name] for name in ("content", "encrypted_content") if name in given
        }
        delta = {"type": "compaction_delta", **told}
    else:
        partial = _sse.encode_json(given.get("input", {})).decode()
        delta = {"type": "input_json_delta", "partial_json": partial}
    return _sse.event("content_block_delta", {"type": "content_block_delta", "index": number, "delta": delta})


def _error(error: ProviderError | RequestRejected, stamp: AnswerStamp) -> dict[str, Any]:
    usual = ERRORS.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    shown: dict[str, Any] = {"type": error.kind or usual, "message": error.message}
    if error.code.startswith(DETAILED):
        shown["details"] = {"error_code": error.code}
        if isinstance(error, RequestRejected) and error.param:
            shown["details"]["unsupported"] = [error.param]
    return {"type": "error", "error": shown, "request_id": f"req_{stamp.id}"}


def fault(error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
    """The error answer."""
    headers = {"content-type": "application/json", "request-id": f"req_{stamp.id}"}
    if isinstance(error, ProviderError):
        headers |= error.headers
    return ErrorAnswer(error.status, headers, _sse.encode_json(_error(error, stamp)))
