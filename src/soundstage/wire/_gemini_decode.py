"""Gemini, the way in: what a body asks for, or the provider's refusal of it.

Source: the provider's API reference for generateContent, content and tools, and the words of its error
answers. Its JSON is that of protocol buffers: fields in camelCase or snake_case, null is absent, and one
object stands for a list of one. Consecutive contents of one role are one turn, as the provider's own chat
client sends a streamed answer back piece by piece.

Calls often have no id and results only the name of the function. Such a call gets an id from its position
(`call_<content>_<part>`), and a result the id of the first call with its name that no other result answers.

A signature is a part of the thinking that it seals. That of a text or a call is an opaque part behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final, NoReturn

import msgspec

from soundstage.errors import RequestRejected
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from soundstage.wire._codec import parse_value
from soundstage.wire._fields import GEMINI, check_limits
from soundstage.wire._parts import estimate
from soundstage.wire._values import GEMINI as VALUES
from soundstage.wire._values import check_gemini, check_values

Fields = dict[str, Any]

ROLES: Final[dict[str, Role]] = {"user": "user", "model": "assistant", "function": "tool"}
_KNOWN: Final = frozenset({"contents", "systemInstruction", "tools"})
_ABOUT_A_PART: Final = frozenset({"thought", "thoughtSignature", "mediaResolution", "mediaProcessing"})
SIGNATURE: Final = "thoughtSignature"
MOST_STOPS: Final = 5
_WRONG_LIMIT: Final = "* GenerateContentRequest.generation_config.{name}: must be {wanted}\n"
_STRING: Final = "TYPE_STRING"
_STRUCT: Final = "type.googleapis.com/google.protobuf.Struct"
_MESSAGE: Final = "type.googleapis.com/google.ai.generativelanguage.v1beta."
_encode = msgspec.json.encode


def decode(body: bytes, parameters: Mapping[str, str], format: str) -> ModelRequest:  # noqa: A002
    """The request in a body that was posted to be answered."""
    model = parameters.get("model")
    if not model:
        _refuse("* GenerateContentRequest.model: unexpected model name format\n")
    given = _object(body)
    _check_fields(given)
    tools = _tools(given)
    check_gemini(given, tools)
    settings = {key: value for key, value in given.items() if key not in _KNOWN}
    if "alt" in parameters:
        settings["alt"] = parameters["alt"]
    return ModelRequest(
        model=model,
        messages=(*_system(given), *_paired(_contents(given))),
        tools=tools,
        stream=parameters.get("stream") == "true",
        format=format,
        settings=settings,
    )


def _check_fields(given: Fields) -> None:
    config = None
    if "generationConfig" in given:
        config = _fields(given["generationConfig"], "generation_config", "GenerationConfig")
        given["generationConfig"] = config
    GEMINI.check(given)
    if config is not None:
        check_limits(config, {"maxOutputTokens": 1}, "stopSequences", MOST_STOPS, _WRONG_LIMIT)
        check_values(VALUES, config, _WRONG_LIMIT)


def count(body: bytes) -> int:
    """The estimated tokens of a body that was posted to be counted; the whole request may be inside."""
    given = _object(body)
    if "generateContentRequest" in given:
        given = _fields(given["generateContentRequest"], "generate_content_request", "GenerateContentRequest")
    tools = _encode(given["tools"]) if _tools(given) else b""
    return estimate((*_system(given), *_contents(given)), tools)


def _refuse(message: str) -> NoReturn:
    raise RequestRejected(message)


def _object(body: bytes) -> Fields:
    value = parse_value(body, "Invalid JSON payload received.")
    if not isinstance(value, dict):
        _refuse("Invalid JSON payload received. Root element must be a message.")
    return _camel(value)


def _camel(given: Fields) -> Fields:
    """`given` with its own keys in camelCase, without nulls; what is inside stays as it is."""
    return {_camel_name(key): value for key, value in given.items() if value is not None}


def _camel_name(key: str) -> str:
    if "_" not in key:
        return key
    head, *rest = key.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _wrong(path: str, kind: str, value: Any) -> NoReturn:
    raise RequestRejected(f"Invalid value at '{path}' ({kind}), {_encode(value).decode()}")


def _fields(given: Any, path: str, kind: str) -> Fields:
    """The object at `path`, whose type is `kind`."""
    return _camel(given) if isinstance(given, dict) else _wrong(path, _MESSAGE + kind, given)


def _string(given: Fields, key: str, path: str) -> str:
    """The text of a field; empty if it is absent."""
    value = given.get(key, "")
    return value if isinstance(value, str) else _wrong(f"{path}.{key}", _STRING, value)


def _repeated(given: Fields, key: str, path: str, kind: str) -> list[Fields]:
    """The objects of a list; one object alone is a list of one."""
    value = given.get(key, [])
    if isinstance(value, dict):
        return [_camel(value)]
    if not isinstance(value, list):
        _wrong(path, _MESSAGE + kind, value)
    return [_fields(item, f"{path}[{number}]", kind) for number, item in enumerate(value)]


def _system(given: Fields) -> tuple[Message, ...]:
    if "systemInstruction" not in given:
        return ()
    content = _fields(given["systemInstruction"], "system_instruction", "Content")
    return (Message(role="system", parts=_parts(content, "system_instruction", 0)),)


def _contents(given: Fields) -> tuple[Message, ...]:
    contents = _repeated(given, "contents", "contents", "Content")
    if not contents:
        _refuse("* GenerateContentRequest.contents: contents is not specified\n")
    return tuple(_content(content, number) for number, content in enumerate(contents))


def _content(content: Fields, number: int) -> Message:
    path = f"contents[{number}]"
    role = ROLES.get(_string(content, "role", path) or "user")
    if role is None:
        _refuse("Please use a valid role: user, model.")
    parts = _parts(content, path, number)
    if not parts:
        _refuse(f"* GenerateContentRequest.{path}.parts: contents.parts must not be empty.\n")
    return Message(role=role, parts=parts)


def _parts(content: Fields, path: str, number: int) -> tuple[Part, ...]:
    parts = _repeated(content, "parts", f"{path}.parts", "Part")
    found: list[Part] = []
    for position, part in enumerate(parts):
        made = _part(part, f"{path}.parts[{position}]", f"call_{number}_{position}")
        found.append(made)
        if SIGNATURE in part and isinstance(made, Text | ToolCall):
            sealed = {SIGNATURE: _string(part, SIGNATURE, f"{path}.parts[{position}]")}
            found.append(Opaque(type=SIGNATURE, data=sealed))
    return tuple(found)


def _part(part: Fields, path: str, derived_id: str) -> Part:
    if "text" in part:
        text = _string(part, "text", path)
        if part.get("thought") is True:
            return Thinking(text=text, signature=_string(part, "thoughtSignature", path))
        return Text(text=text)
    if "functionCall" in part:
        return _call(_fields(part["functionCall"], f"{path}.function_call", "FunctionCall"), path, derived_id)
    if "functionResponse" in part:
        return _result(
            _fields(part["functionResponse"], f"{path}.function_response", "FunctionResponse"), path
        )
    kind = next((key for key in part if key not in _ABOUT_A_PART and not key.endswith("Metadata")), None)
    if kind is None:
        _refuse(
            f"* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized "
            "field\n"
        )
    return Opaque(type=kind, data=part)


def _named(given: Fields, path: str) -> str:
    name = _string(given, "name", path)
    return name or _refuse(f"* GenerateContentRequest.{path}.name: Name cannot be empty.\n")


def _struct(given: Fields, key: str, path: str) -> Fields:
    value = given.get(key, {})
    return value if isinstance(value, dict) else _wrong(f"{path}.{key}", _STRUCT, value)


def _call(given: Fields, path: str, derived_id: str) -> ToolCall:
    path += ".function_call"
    return ToolCall(
        id=_string(given, "id", path) or derived_id,
        name=_named(given, path),
        arguments=_struct(given, "args", path),
    )


def _result(given: Fields, path: str) -> ToolResult:
    path += ".function_response"
    text, is_error = _said(_struct(given, "response", path))
    return ToolResult(
        call_id=_string(given, "id", path),
        name=_named(given, path),
        text=text,
        is_error=is_error,
        extra=tuple(_repeated(given, "parts", f"{path}.parts", "FunctionResponsePart")),
    )


def _said(response: Fields) -> tuple[str, bool]:
    """The output of a function, and whether it is an error.

    Source: the reference of FunctionResponse: `error` holds an error, `output` the output, otherwise all of
    it is the output. The provider's Python client puts the output into `result`.
    """
    value: Any = response
    is_error = bool(response.get("error"))
    if is_error:
        value = response["error"]
    elif "output" in response:
        value = response["output"]
    elif response.keys() == {"result"}:
        value = response["result"]
    return value if isinstance(value, str) else _encode(value).decode(), is_error


def _paired(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` with each result bound to its call: every turn of calls is answered by as many results."""
    found: list[Message] = []
    calls: list[ToolCall] = []
    for is_model, group in groupby(messages, key=lambda message: message.role == "assistant"):
        turn = list(group)
        if is_model:
            calls = [part for message in turn for part in message.parts if isinstance(part, ToolCall)]
            if calls and not found:
                _refuse(
                    "Please ensure that function call turn comes immediately after a user turn or after a "
                    "function response turn."
                )
        else:
            turn = _bound(turn, calls)
        found.extend(turn)
    return tuple(found)


def _bound(turn: list[Message], calls: list[ToolCall]) -> list[Message]:
    results = [part for message in turn for part in message.parts if isinstance(part, ToolResult)]
    if results and not calls:
        _refuse("Please ensure that function response turn comes immediately after a function call turn.")
    if len(results) != len(calls):
        _refuse(
            "Please ensure that the number of function response parts is equal to the number of function "
            "call parts of the function call turn."
        )
    if not results:
        return turn
    named = {result.call_id for result in results}
    free = [call for call in calls if call.id not in named]
    return [
        msgspec.structs.replace(
            message,
            parts=tuple(
                _answering(part, calls, free) if isinstance(part, ToolResult) else part
                for part in message.parts
            ),
        )
        for message in turn
    ]


def _answering(result: ToolResult, calls: list[ToolCall], free: list[ToolCall]) -> ToolResult:
    """`result` with the id of the call that it answers; calls found by name are taken out of `free`."""
    if any(call.id == result.call_id for call in calls):
        return result
    call = next((call for call in free if call.name == result.name), None)
    if call is None:
        return msgspec.structs.replace(result, call_id=result.call_id or result.name)
    free.remove(call)
    return msgspec.structs.replace(result, call_id=call.id)


def _tools(given: Fields) -> tuple[ToolDefinition, ...]:
    found: list[ToolDefinition] = []
    for number, tool in enumerate(_repeated(given, "tools", "tools", "Tool")):
        path = f"tools[{number}].function_declarations"
        declarations = _repeated(tool, "functionDeclarations", path, "FunctionDeclaration")
        found.extend(_tool(declared, f"{path}[{place}]") for place, declared in enumerate(declarations))
        found.extend(
            ToolDefinition(name=kind, type=kind, schema={kind: value})
            for kind, value in tool.items()
            if kind != "functionDeclarations"
        )
    return tuple(found)


def _tool(declared: Fields, path: str) -> ToolDefinition:
    name = _string(declared, "name", path)
    if not name:
        _refuse(
            f"* GenerateContentRequest.{path}.name: Invalid function name. Must start with a letter or an "
            "underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or "
            "dashes (-), with a maximum length of 64.\n"
        )
    key = "parametersJsonSchema" if "parametersJsonSchema" in declared else "parameters"
    return ToolDefinition(
        name=name,
        description=_string(declared, "description", path),
        schema=_struct(declared, key, path),
    )
