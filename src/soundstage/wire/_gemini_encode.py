"""Gemini, the way out: replies and errors as the provider writes them.

Every piece of a stream is a response of its own with the parts that are new; the last one has the reason and
the usage. Text and thinking go out as they come. A tool call has no pieces on this wire, so it is kept until
its block ends, and the seal on thinking with it. With `alt=sse` the pieces are events; without, they are the
items of one JSON array. Source: the provider's reference for streamGenerateContent.

An opaque part may be a signature, which belongs to the part before it, or a field of the candidate, such as
`groundingMetadata`, which a stream has in its last response; one of the type `candidate` is a further candidate.

Arguments that are no JSON object cannot be sent. The provider leaves such a call out and gives the reason
MALFORMED_FUNCTION_CALL, and so do we.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Final

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
    decode_arguments,
)
from soundstage.wire import _sse
from soundstage.wire._codec import AnswerStamp, ErrorAnswer
from soundstage.wire._parts import BlockChunk, check_first, is_field

MEDIA_TYPE: Final = "application/json; charset=UTF-8"
FINISH: Final[dict[FinishReason, str]] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "pause": "STOP",
    "error": "OTHER",
}
SIGNATURE: Final = "thoughtSignature"
FIELDS: Final = frozenset(  # of a candidate
    {
        "citationMetadata",
        "finishMessage",
        "groundingAttributions",
        "groundingMetadata",
        "logprobsResult",
        "safetyRatings",
        "urlContextMetadata",
    }
)
FEEDBACK: Final = "promptFeedback"  # a field of the whole answer
CANDIDATE: Final = "candidate"
MALFORMED: Final = "MALFORMED_FUNCTION_CALL"
STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_BASE64: Final = re.compile(r"(?:[\w+/-]{4})*(?:[\w+/-]{2}==|[\w+/-]{3}=)?", re.ASCII)


def encode(response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
    """A whole response."""
    model = response.model or request.model
    parts: list[dict[str, Any]] = []
    beside = _Beside()
    for part in response.parts:
        if isinstance(part, Opaque) and beside.take(part):
            continue
        made = _part(part)
        if made is not None:
            add_part(parts, made)
    malformed = [part for part in response.parts if isinstance(part, ToolCall) and part.raw]
    candidate = {
        "content": {"parts": parts, "role": "model"} if parts else {"role": "model"},
        **beside.fields,
        **_reason(response.finish, malformed[0] if malformed else None),
        "index": 0,
    }
    return _sse.encode_json(
        {
            **beside.feedback,
            "candidates": [candidate, *beside.candidates],
            "usageMetadata": _usage(response.usage),
            "modelVersion": model,
            "responseId": stamp.id,
        }
    )


class _Beside:
    """Opaque parts that are none of the content: fields of the candidate and of the answer, and further candidates."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.feedback: dict[str, Any] = {}
        self.candidates: list[Any] = []

    def take(self, part: Opaque | OpaqueChunk) -> bool:
        """Whether `part` is one of these; it is kept then."""
        if part.type == CANDIDATE:
            self.candidates.append(part.data)
        elif part.type in FIELDS and is_field(part):
            self.fields |= part.data
        elif part.type == FEEDBACK and is_field(part):
            self.feedback |= part.data
        else:
            return False
        return True


def add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Add a part; a signature alone is that of the part before it, or stands with an empty text."""
    if part.keys() != {SIGNATURE}:
        parts.append(part)
    elif parts and SIGNATURE not in parts[-1]:
        parts[-1] |= part
    else:
        parts.append({"text": "", **part})


def _part(part: Part) -> dict[str, Any] | None:
    """A part of the content; None for a call that is malformed."""
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Thinking):
        return _thought(part.text, part.signature)
    if isinstance(part, ToolCall):
        return _call(part)
    if isinstance(part, Opaque):
        return part.data if isinstance(part.data, dict) else {part.type: part.data}
    return {"functionResponse": {"id": part.call_id, "name": part.name, "response": {"output": part.text}}}


def _thought(text: str, signature: str) -> dict[str, Any]:
    thought: dict[str, Any] = {"text": text, "thought": True}
    if signature:
        thought["thoughtSignature"] = _base64(signature)
    return thought


def _base64(signature: str) -> str:
    """A signature is bytes for the provider's clients: one that is not written so is encoded here."""
    if _BASE64.fullmatch(signature):
        return signature
    return base64.b64encode(signature.encode()).decode()


def _call(call: ToolCall) -> dict[str, Any] | None:
    if call.raw:
        return None
    given = {"name": call.name, "args": call.arguments}
    return {"functionCall": {"id": call.id, **given} if call.id else given}


def _reason(finish: FinishReason, malformed: ToolCall | None) -> dict[str, str]:
    """The reason why the model stopped. Arguments cut off at the token limit are that, and not malformed."""
    if malformed is None or FINISH[finish] != "STOP":
        return {"finishReason": FINISH[finish]}
    message = f"Malformed function call: {malformed.name}({malformed.raw})"
    return {"finishReason": MALFORMED, "finishMessage": message}


def _usage(usage: Usage) -> dict[str, int]:
    """Token counts; those of the prompt include what was cached."""
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    counts = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": prompt + usage.output_tokens,
    }
    if usage.cache_read_tokens:
        counts["cachedContentTokenCount"] = usage.cache_read_tokens
    return counts


class ContentEncoder:
    """Chunks as responses. What all of them begin and end with is encoded once.

    `stream_type` is the media type of what it writes: events, or a JSON array.
    """

    def __init__(self, request: ModelRequest, stamp: AnswerStamp) -> None:
        self._events = request.settings.get("alt") == "sse"
        self.stream_type = _sse.MEDIA_TYPE if self._events else MEDIA_TYPE
        self._stamp = stamp
        self._about = {"modelVersion": request.model, "responseId": stamp.id}
        self._tail = b"," + _sse.encode_json(self._about)[1:]
        self._first = True
        self._index = -1
        self._kept: ToolCallChunk | ThinkingChunk | None = None  # the beginning of the block that is kept
        self._pieces: list[str] = []
        self._malformed: ToolCall | None = None
        self._beside = _Beside()

    def begin(self) -> bytes:
        return b"" if self._events else b"["

    def chunk(self, chunk: ModelChunk) -> bytes:
        if isinstance(chunk, GarbledChunk):
            return chunk.data
        if isinstance(chunk, StartChunk | FinishChunk):
            return b""
        if isinstance(chunk, OpaqueChunk):
            return b"" if self._beside.take(chunk) else self._opaque(chunk)
        ended = b"" if chunk.index == self._index else self._responses(self._start(chunk))
        if isinstance(chunk, TextChunk):
            return ended + self._responses([{"text": chunk.text}] if chunk.text else [])
        if isinstance(chunk, ThinkingChunk):
            self._pieces.append(chunk.signature)
            return ended + self._responses([_thought(chunk.text, "")] if chunk.text else [])
        self._pieces.append(chunk.arguments)
        return ended

    def _opaque(self, chunk: OpaqueChunk) -> bytes:
        """The response with an opaque part; what was kept of the block before goes with it."""
        parts = self._start(chunk)
        part = _part(Opaque(type=chunk.type, data=chunk.data))
        if part is not None:
            add_part(parts, part)
        return self._responses(parts)

    def _start(self, chunk: BlockChunk) -> list[dict[str, Any]]:
        """Begin the block of `chunk`; what was kept of the block before it is returned."""
        check_first(chunk, self._index)
        ended = self._end()
        self._index = chunk.index
        self._kept = chunk if isinstance(chunk, ToolCallChunk | ThinkingChunk) else None
        return ended

    def _end(self) -> list[dict[str, Any]]:
        """The part that was kept until the end of its block, if there is one."""
        kept, text = self._kept, "".join(self._pieces)
        self._kept = None
        self._pieces.clear()
        if isinstance(kept, ThinkingChunk):
            return [_thought("", text)] if text else []
        if kept is None:
            return []
        arguments, raw = decode_arguments(text)
        call = ToolCall(id=kept.id, name=kept.name, arguments=arguments, raw=raw)
        part = _call(call)
        if part is None:
            self._malformed = self._malformed or call
        return [part] if part is not None else []

    def _responses(self, parts: list[dict[str, Any]]) -> bytes:
        """A response with new parts; nothing, if there are none."""
        if not parts:
            return b""
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        return self._framed(b'{"candidates":[' + _sse.encode_json(candidate) + b"]" + self._tail)

    def _framed(self, response: bytes) -> bytes:
        if self._events:
            return b"data: " + response + b"\n\n"
        comma = b"" if self._first else b",\r\n"
        self._first = False
        return comma + response

    def finish(self, finish: FinishChunk) -> bytes:
        # The provider's chat client takes a response without parts for a broken answer: there is always one.
        parts = self._end() or [{"text": ""}]
        candidate = {
            "content": {"parts": parts, "role": "model"},
            **self._beside.fields,
            **_reason(finish.finish, self._malformed),
            "index": 0,
        }
        candidates = [candidate, *self._beside.candidates]
        last = {
            **self._beside.feedback,
            "candidates": candidates,
            "usageMetadata": _usage(finish.usage),
            **self._about,
        }
        return self._framed(_sse.encode_json(last)) + (b"" if self._events else b"]")

    def error(self, error: ProviderError) -> bytes:
        """Among events an error is a bare object: the provider's JavaScript client looks for one.

        It looks at what one read of the connection gives, so the error has to be sent by itself.
        """
        response = _sse.encode_json(_error(error))
        return response + b"\n\n" if self._events else self._framed(response) + b"]"


def _error(error: ProviderError | RequestRejected) -> dict[str, Any]:
    usual = STATUSES.get(error.status, "INVALID_ARGUMENT" if error.status < 500 else "INTERNAL")
    return {"error": {"code": error.status, "message": error.message, "status": error.kind or usual}}


def fault(error: ProviderError | RequestRejected) -> ErrorAnswer:
    """The error answer."""
    headers = {"content-type": MEDIA_TYPE}
    if isinstance(error, ProviderError):
        headers |= error.headers
    return ErrorAnswer(error.status, headers, _sse.encode_json(_error(error)))
