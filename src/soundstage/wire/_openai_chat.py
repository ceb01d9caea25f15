"""OpenAI Chat Completions: POST /v1/chat/completions.

Source: the provider's API reference for chat completions, chat completion chunks and error codes; the words
of refusals are those of its servers. A chat reply holds text and tool calls apart, so the order between them
is lost on this wire; thinking goes into `reasoning_content`, as servers compatible with this format do. An
opaque block adds its fields to the message: `{"type": "refusal", "refusal": "No."}` is a refusal. One of the type
`choice` is a further choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    GarbledChunk,
    Message,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    Part,
    Role,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
    ToolResult,
    Usage,
    decode_arguments,
)
from soundstage.wire import _fields, _openai, _sse, _values
from soundstage.wire._codec import AnswerStamp, Encoder, ErrorAnswer, parse

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
FINISH: Final[dict[FinishReason, str]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "pause": "stop",
    "error": "stop",
}
_KNOWN: Final = frozenset({"model", "messages", "tools", "stream"})
_CALL_KEYS: Final = {
    False: ("function", "arguments"),
    True: ("custom", "input"),
}  # by whether a tool is custom


CHOICE: Final = "choice"
USAGE: Final = (("stream_options", "include_usage"), ("usage", "include"))  # the second is OpenRouter's


class OpenAIChat:
    """The codec of the chat format."""

    name = "openai-chat"
    stream_type = _sse.MEDIA_TYPE

    def decode(self, body: bytes, parameters: Mapping[str, str]) -> ModelRequest:
        """See `Codec.decode`."""
        given = parse(body)
        model = given.get("model", parameters.get("model"))
        if not isinstance(model, str) or not model:
            raise RequestRejected("you must provide a model parameter")
        if "messages" not in given:
            raise _openai.missing("messages")
        messages = given["messages"]
        if not isinstance(messages, list):
            raise _openai.wrong_type("messages", "an array of objects", messages)
        if not messages:
            raise _empty("messages")
        _fields.CHAT.check(given)
        _fields.check_limits(given, {"max_tokens": 1, "max_completion_tokens": 1}, "stop", 4)
        _values.check_values(_values.CHAT, given, _openai.WRONG_VALUE)
        decoded = tuple([_message(number, message) for number, message in enumerate(messages)])
        _check_tool_order(decoded)
        tools = _tools(given.get("tools"))
        _values.check_chat(given, decoded, tools)
        return ModelRequest(
            model=model,
            messages=decoded,
            tools=tools,
            stream=_openai.flag(given, "stream"),
            format=self.name,
            settings={key: value for key, value in given.items() if key not in _KNOWN},
        )

    def encode(self, response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
        """See `Codec.encode`."""
        message = _answer(response.parts, request.tools)
        choice = {
            "index": 0,
            "message": message,
            "logprobs": message.pop("logprobs", None),
            "finish_reason": FINISH[response.finish],
        }
        others = [part.data for part in response.parts if isinstance(part, Opaque) and part.type == CHOICE]
        return _sse.encode_json(
            {
                "id": f"chatcmpl-{stamp.id}",
                "object": "chat.completion",
                "created": stamp.created,
                "model": response.model or request.model,
                "choices": [choice, *others],
                "usage": _usage(response.usage),
                "system_fingerprint": "fp_soundstage",
            }
        )

    def encoder(self, request: ModelRequest, stamp: AnswerStamp) -> Encoder:
        """See `Codec.encoder`."""
        return _ChatEncoder(request, stamp)

    def fault(self, error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
        """See `Codec.fault`."""
        return _openai.fault(error, stamp)


class _ChatEncoder:
    """Chunks as `chat.completion.chunk` events; the part that never changes is encoded once."""

    def __init__(self, request: ModelRequest, stamp: AnswerStamp) -> None:
        head = {
            "id": f"chatcmpl-{stamp.id}",
            "object": "chat.completion.chunk",
            "created": stamp.created,
            "model": request.model,
            "system_fingerprint": "fp_soundstage",
        }
        self._head = b"data: " + _sse.encode_json(head)[:-1]
        self._with_usage = any(_asks(request, *where) for where in USAGE)
        self._custom = _openai.custom_tools(request.tools)
        self._calls: dict[int, tuple[int, bool]] = {}  # block index -> index of the tool call, whether custom
        self._before = self._head + b',"choices":[{"index":0,"delta":'
        self._after = b"}]" + (b',"usage":null}' if self._with_usage else b"}") + b"\n\n"

    def _choice(self, delta: dict[str, Any], finish: bytes = b"null") -> bytes:
        encoded = _sse.encode_json(delta)
        return b"".join((self._before, encoded, b',"logprobs":null,"finish_reason":', finish, self._after))

    def begin(self) -> bytes:
        return self._choice({"role": "assistant", "content": "", "refusal": None})

    def chunk(self, chunk: ModelChunk) -> bytes:
        if isinstance(chunk, TextChunk):
            return self._choice({"content": chunk.text})
        if isinstance(chunk, ToolCallChunk):
            return self._choice({"tool_calls": [self._call_delta(chunk)]})
        if isinstance(chunk, ThinkingChunk) and chunk.text:
            return self._choice({"reasoning_content": chunk.text})
        if isinstance(chunk, OpaqueChunk):
            return self._opaque(chunk)
        return chunk.data if isinstance(chunk, GarbledChunk) else b""

    def _opaque(self, chunk: OpaqueChunk) -> bytes:
        """Fields of the message, which a choice has beside it, or a choice of its own."""
        if chunk.type == CHOICE:
            delta = {**chunk.data, "delta": chunk.data.get("message") or {}}
            choices = [{name: value for name, value in delta.items() if name != "message"}]
            return self._head + b',"choices":' + _sse.encode_json(choices) + b"}\n\n"
        fields = _opaque_fields(chunk)
        if "logprobs" not in fields:
            return self._choice(fields)
        choices = [{"index": 0, "delta": {}, "logprobs": fields["logprobs"], "finish_reason": None}]
        return self._head + b',"choices":' + _sse.encode_json(choices) + b"}\n\n"

    def _call_delta(self, chunk: ToolCallChunk) -> dict[str, Any]:
        if chunk.index in self._calls:
            number, custom = self._calls[chunk.index]
            key, field = _CALL_KEYS[custom]
            return {"index": number, key: {field: chunk.arguments}}
        number, custom = self._calls[chunk.index] = len(self._calls), chunk.name in self._custom
        key, field = _CALL_KEYS[custom]
        content = {"name": chunk.name, field: chunk.arguments}
        return {"index": number, "id": chunk.id, "type": key, key: content}

    def finish(self, finish: FinishChunk) -> bytes:
        last = self._choice({}, _sse.encode_json(FINISH[finish.finish]))
        if self._with_usage:
            usage = _sse.encode_json(_usage(finish.usage))
            last += self._head + b',"choices":[],"usage":' + usage + b"}\n\n"
        return last + b"data: [DONE]\n\n"

    def error(self, error: ProviderError) -> bytes:
        return _sse.data(_openai.error_object(error))


def _empty(param: str) -> RequestRejected:
    return RequestRejected(
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        param=param,
        code="empty_array",
    )


def _message(number: int, given: Any) -> Message:
    where = f"messages[{number}]"
    if not isinstance(given, dict):
        raise _openai.wrong_type(where, "an object", given)
    role = given.get("role")
    if role is None:
        raise _openai.missing(f"{where}.role")
    if not isinstance(role, str) or role not in ROLES:
        allowed = ("system", "assistant", "user", "function", "tool", "developer")
        raise _openai.not_one_of(role, allowed, f"{where}.role")
    content = _content(given.get("content"), where)
    parts: tuple[Part, ...] = content
    if ROLES[role] == "tool":
        parts = (_tool_result(given, content, where),)
    elif role == "assistant":
        parts = (*_thinking(given), *content, *_beside_content(given, where))
    if given.get("content") is None and parts == content:
        raise RequestRejected(
            "Invalid value for 'content': expected a string, got null.", param=f"messages.[{number}].content"
        )
    return Message(role=ROLES[role], parts=parts)


def _content(given: Any, where: str) -> tuple[Part, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        return (Text(text=given),)
    if not isinstance(given, list):
        raise _openai.wrong_type(f"{where}.content", "one of a string or array of objects", given)
    return tuple(_content_part(part, f"{where}.content[{number}]") for number, part in enumerate(given))


def _content_part(part: Any, where: str) -> Part:
    if not isinstance(part, dict):
        raise _openai.wrong_type(where, "an object", part)
    kind = _openai.required_text(part, "type", where)
    if kind in ("text", "refusal"):
        return Text(text=_openai.required_text(part, kind, where))
    return Opaque(type=kind, data=part)


def _thinking(given: dict[str, Any]) -> tuple[Part, ...]:
    text = given.get("reasoning_content")
    return (Thinking(text=text),) if isinstance(text, str) and text else ()


def _beside_content(given: dict[str, Any], where: str) -> Iterator[Part]:
    """The parts of an assistant message beside its content: refusal, audio, the old function call."""
    if isinstance(given.get("refusal"), str):
        yield Text(text=given["refusal"])
    if given.get("audio") is not None:
        yield Opaque(type="audio", data=given["audio"])
    if given.get("function_call") is not None:  # the old form: its result names the function, not a call
        yield _decode_function(given["function_call"], f"{where}.function_call")
    calls = given.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list):
        raise _openai.wrong_type(f"{where}.tool_calls", "an array of objects", calls)
    if not calls:
        raise _empty(f"{where}.tool_calls")
    for number, call in enumerate(calls):
        yield _decode_call(call, f"{where}.tool_calls[{number}]")


def _tool_result(given: dict[str, Any], content: tuple[Part, ...], where: str) -> ToolResult:
    if given["role"] == "function":
        name = _openai.required_text(given, "name", where)
        return _openai.tool_result(name, content, name)
    call_id = _openai.required_text(given, "tool_call_id", where)
    return _openai.tool_result(call_id, content, _openai.optional_text(given, "name", where))


def _decode_call(given: Any, where: str) -> ToolCall:
    if not isinstance(given, dict):
        raise _openai.wrong_type(where, "an object", given)
    call_id = _openai.required_text(given, "id", where)
    if given.get("type") == "custom":
        custom = given.get("custom")
        if not isinstance(custom, dict):
            raise _openai.missing(f"{where}.custom")
        name = _openai.required_text(custom, "name", f"{where}.custom")
        return ToolCall(id=call_id, name=name, raw=_openai.required_text(custom, "input", f"{where}.custom"))
    return _decode_function(given.get("function"), f"{where}.function", call_id)


def _decode_function(given: Any, where: str, call_id: str = "") -> ToolCall:
    if not isinstance(given, dict):
        raise _openai.missing(where)
    name = _openai.required_text(given, "name", where)
    arguments, raw = decode_arguments(_openai.required_text(given, "arguments", where))
    return ToolCall(id=call_id or name, name=name, arguments=arguments, raw=raw)


def _check_tool_order(messages: tuple[Message, ...]) -> None:
    """Every tool result answers a call of the assistant message before it, and every call is answered."""
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "tool":
            result = message.parts[0]
            call_id = result.call_id if isinstance(result, ToolResult) else ""
            if call_id not in open_calls:
                raise RequestRejected(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'.",
                    param=f"messages.[{number}].role",
                )
            open_calls.discard(call_id)
            continue
        _all_answered(open_calls, number)
        if message.role == "assistant":
            open_calls = {part.id for part in message.parts if isinstance(part, ToolCall)}
    _all_answered(open_calls, len(messages))


def _all_answered(open_calls: set[str], number: int) -> None:
    if open_calls:
        raise RequestRejected(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(sorted(open_calls)),
            param=f"messages.[{number}].role",
        )


def _tools(given: Any) -> tuple[ToolDefinition, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise _openai.wrong_type("tools", "an array of objects", given)
    return tuple(_tool(f"tools[{number}]", tool) for number, tool in enumerate(given))


def _tool(where: str, given: Any) -> ToolDefinition:
    if not isinstance(given, dict):
        raise _openai.wrong_type(where, "an object", given)
    kind = _openai.optional_text(given, "type", where) or "function"
    content = _openai.optional_object(given, kind, where)
    if kind != "function":
        inside = f"{where}.{kind}"
        name = _openai.optional_text(content, "name", inside) or _openai.optional_text(given, "name", where)
        return ToolDefinition(name=name or kind, type=kind, schema=given)
    if not content:
        raise _openai.missing(f"{where}.function")
    return ToolDefinition(
        name=_openai.required_text(content, "name", f"{where}.function"),
        description=_openai.optional_text(content, "description", f"{where}.function"),
        schema=_openai.optional_object(content, "parameters", f"{where}.function"),
    )


def _asks(request: ModelRequest, name: str, option: str) -> bool:
    given = request.settings.get(name)
    return isinstance(given, dict) and given.get(option) is True


def _opaque_fields(part: Opaque | OpaqueChunk) -> dict[str, Any]:
    fields = part.data if isinstance(part.data, dict) else {part.type: part.data}
    return {key: value for key, value in fields.items() if key != "type"}


def _answer(parts: tuple[Part, ...], tools: tuple[ToolDefinition, ...]) -> dict[str, Any]:
    """The assistant message that holds `parts`."""
    text = thinking = ""
    calls: list[ToolCall] = []
    more: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Text):
            text += part.text
        elif isinstance(part, ToolCall):
            calls.append(part)
        elif isinstance(part, Thinking):
            thinking += part.text
        elif isinstance(part, Opaque) and part.type != CHOICE:
            more |= _opaque_fields(part)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text or (None if calls else ""),
        "refusal": None,
    }
    if calls:
        custom = _openai.custom_tools(tools)
        message["tool_calls"] = [_call(call, custom=call.name in custom) for call in calls]
    if thinking:
        message["reasoning_content"] = thinking
    return message | more if more else message


def _call(call: ToolCall, *, custom: bool) -> dict[str, Any]:
    key, field = _CALL_KEYS[custom]
    return {"id": call.id, "type": key, key: {"name": call.name, field: call.arguments_json}}


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = _openai.input_tokens(usage)
    cached = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {**cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
