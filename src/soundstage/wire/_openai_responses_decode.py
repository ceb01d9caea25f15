"""OpenAI Responses, the way in: the request in a body.

A conversation is a list of items here, not of messages. Each item becomes one message, and then the items
that one reply of the model was made of (reasoning, text, calls) are put together again: assistant messages
that follow each other are merged. Items whose type we do not interpret are kept as `Opaque`: those that an
app sends about a call of its own become tool messages, all others were said by the model.

Source: the provider's API reference for creating a response; the words of refusals are those of its servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec

from soundstage.errors import RequestRejected
from soundstage.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    decode_arguments,
    system,
    user,
)
from soundstage.models import response_calls as _calls
from soundstage.wire import _fields, _openai, _values
from soundstage.wire._codec import parse

NAME: Final = "openai-responses"
ROLES: Final[dict[str, Role]] = {
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "user": "user",
}
TEXTS: Final = {  # part type -> the field with the text
    "input_text": "text",
    "output_text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}
SAID: Final = ("output_text", "refusal")  # parts that only the model says
GIVEN: Final = ("input_text", "input_image", "input_file", "scoped_content", "input_audio")
CHAT_PARTS: Final = ("text", "image_url", "file")  # of the chat format, refused here
MOVED: Final = {  # parameter of the chat format -> where it is here
    "messages": "input",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "max_completion_tokens": "max_output_tokens",
}
LOGPROBS: Final = "message.output_text.logprobs"
REFERENCES: Final = ("item_reference", "compaction")  # items that stand for others, which we do not see
_KNOWN: Final = frozenset({"model", "input", "tools", "stream"})


def decode(body: bytes, parameters: Mapping[str, str]) -> ModelRequest:
    """See `Codec.decode`. `instructions` are the first message, and stay in the settings."""
    given = parse(body)
    model = _model(given, parameters)
    if "input" not in given and not given.get("prompt"):  # a stored prompt is refused by its own name
        raise _openai.missing("input")
    _check_parameters(given)
    request = ModelRequest(
        model=model,
        messages=(*_instructions(given.get("instructions")), *_merged(_input(given))),
        tools=_all_tools(given),
        stream=_openai.flag(given, "stream"),
        format=NAME,
        settings={key: value for key, value in given.items() if key not in _KNOWN},
    )
    _fields.RESPONSES.check(given)
    _values.check_values(_values.RESPONSES, given, _openai.WRONG_VALUE)
    _values.check_responses(given, request.messages, request.tools)
    if not given.get("previous_response_id"):  # otherwise the calls may be there
        check_calls(request)
    return request


def continue_from(request: ModelRequest, previous: ModelRequest, response: ModelResponse) -> ModelRequest:
    """`request` with an earlier request and its reply in front, as `previous_response_id` asks for.

    The instructions of the earlier request are not carried over (as the provider documents). Call
    `check_calls` with the result: the calls that `request` answers are in the earlier reply.

    Args:
        request: what was asked now.
        previous: the earlier request, itself already continued.
        response: the reply to it.
    """
    own = len(_instructions(request.settings.get("instructions")))
    earlier = previous.messages[len(_instructions(previous.settings.get("instructions"))) :]
    reply = (response.message(),) if response.parts else ()
    messages = (*request.messages[:own], *_merged((*earlier, *reply, *request.messages[own:])))
    return msgspec.structs.replace(request, messages=messages)


def check_calls(request: ModelRequest) -> None:
    """Every tool result answers a call before it, and every call is answered.

    Raises:
        RequestRejected: with the provider's words, for the first that does not fit.
    """
    parts = [part for message in request.messages for part in message.parts]
    if any(isinstance(part, Opaque) and part.type in REFERENCES for part in parts):
        return
    called: set[str] = set()
    answered = {part.call_id for part in parts if isinstance(part, ToolResult)}
    for part in parts:
        if isinstance(part, ToolCall):
            called.add(part.id)
        elif isinstance(part, ToolResult) and part.call_id and part.call_id not in called:
            raise RequestRejected(
                f"No tool call found for function call output with call_id {part.call_id}.", param="input"
            )
    calls = _calls.calls_of(request.tools)
    for part in parts:
        if isinstance(part, ToolCall) and part.id not in answered:
            kind = calls(part.name).kind.replace("_", " ")
            raise RequestRejected(f"No tool output found for {kind} {part.id}.", param="input")


def _model(given: dict[str, Any], parameters: Mapping[str, str]) -> str:
    model = given.get("model", parameters.get("model"))
    if model is None and "model" not in given:
        if given.get("prompt"):  # a stored prompt names its model, and we do not have it
            return ""
        raise _openai.missing("model")
    if not isinstance(model, str):
        raise _openai.wrong_type("model", "a string", _null_as_object(model))
    if not model:
        raise RequestRejected("The requested model '' does not exist.", param="model", code="model_not_found")
    return model


def _null_as_object(value: Any) -> Any:
    """The provider calls a null model or input an object."""
    return {} if value is None else value


def _check_parameters(given: dict[str, Any]) -> None:
    for name, place in MOVED.items():
        if name in given:
            raise RequestRejected(
                f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to "
                f"'{place}'. Try again with the new parameter. See the API documentation for more "
                "information: https://platform.openai.com/docs/api-reference/responses/create.",
                code="unsupported_parameter",
            )
    _fields.check_limits(given, {"max_output_tokens": 16}, "", 0)
    _fields.check_context(NAME, given, "Invalid value for '{path}': {problem}.")
    include = given.get("include")
    if include is not None and not isinstance(include, list):
        raise _openai.wrong_type("include", "an array", include)
    if LOGPROBS in (include or ()):
        raise _fields.unserved("include", LOGPROBS)
    _check_choices(given)
    text = given.get("text")
    layout = text.get("format") if isinstance(text, dict) else None
    if isinstance(layout, dict) and layout.get("type") == "json_schema":
        _openai.required_text(layout, "name", "text.format")


def _check_choices(given: dict[str, Any]) -> None:
    """Values that the provider looks up in a list are in it."""
    for number, one in enumerate(given.get("include") or ()):
        if one not in _values.INCLUDE:
            raise _openai.not_one_of(one, _values.INCLUDE, f"include[{number}]")
    for path, allowed in _values.RESPONSES_CHOICES.items():
        holder, _, name = path.rpartition(".")
        held = given.get(holder) if holder else given
        value = held.get(name) if isinstance(held, dict) else None
        if value is not None and value not in allowed:
            raise _openai.not_one_of(value, allowed, path)


def _instructions(given: Any) -> tuple[Message, ...]:
    if given is None or given == "":
        return ()
    if not isinstance(given, str):
        raise _openai.wrong_type("instructions", "a string", given)
    return (system(given),)


def _input(given: dict[str, Any]) -> list[Message]:
    value = given.get("input", "")
    if value in ("", []):
        if given.get("previous_response_id") or given.get("prompt"):
            return []
        raise RequestRejected(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
            code="missing_required_parameter",
        )
    if isinstance(value, str):
        return [user(value)]
    if value is None:
        raise _openai.wrong_type("input", "a string", _null_as_object(value))
    if not isinstance(value, list):
        raise _openai.wrong_type("input", "one of a string or array of input items", value)
    return [_item(item, f"input[{number}]") for number, item in enumerate(value)]


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Assistant messages that follow each other are one."""
    found: list[Message] = []
    for role, group in groupby(messages, key=attrgetter("role")):
        if role == "assistant":
            found.append(Message(role=role, parts=tuple(part for message in group for part in message.parts)))
        else:
            found.extend(group)
    return found


def _item(given: Any, where: str) -> Message:
    if not isinstance(given, dict):
        raise _openai.wrong_type(where, "an input item", given)
    kind = given.get("type")
    if kind is None:
        kind = "item_reference" if "id" in given and "role" not in given else "message"
    elif not isinstance(kind, str):
        raise _openai.wrong_type(f"{where}.type", "a string", kind)
    decoder = _ITEMS.get(kind)
    if decoder is not None:
        return decoder(given, where)
    role = _role(given) or ("tool" if kind.endswith(("_output", "_response")) else "assistant")
    return Message(role=role, parts=(Opaque(type=kind, data=given),))


def _role(given: dict[str, Any]) -> Role | None:
    role = given.get("role")
    return ROLES.get(role) if isinstance(role, str) else None


def _message(given: dict[str, Any], where: str) -> Message:
    role = _role(given)
    if role is None:
        raise _openai.not_one_of(given.get("role"), tuple(ROLES), where)
    content = _content(given.get("content"), f"{where}.content", SAID if role == "assistant" else GIVEN)
    return Message(role=role, parts=content)


def _content(given: Any, where: str, allowed: Sequence[str]) -> tuple[Part, ...]:
    if given is None:
        raise _openai.missing(where)
    if isinstance(given, str):
        return (Text(text=given),)
    if not isinstance(given, list):
        raise _openai.wrong_type(where, "one of a string or array of objects", given)
    return tuple(_part(part, f"{where}[{number}]", allowed) for number, part in enumerate(given))


def _part(given: Any, where: str, allowed: Sequence[str]) -> Part:
    if not isinstance(given, dict):
        raise _openai.wrong_type(where, "an object", given)
    kind = _openai.required_text(given, "type", where)
    if kind not in allowed and kind in (*SAID, *GIVEN, *CHAT_PARTS):
        raise _openai.not_one_of(kind, allowed, where)
    if kind in TEXTS:
        return Text(text=_openai.required_text(given, TEXTS[kind], where))
    return Opaque(type=kind, data=given)


def _function_call(given: dict[str, Any], where: str) -> Message:
    call_id = _openai.required_text(given, "call_id", where)
    name = _name(given, where)
    arguments, raw = decode_arguments(_openai.required_text(given, "arguments", where))
    return Message(role="assistant", parts=(ToolCall(id=call_id, name=name, arguments=arguments, raw=raw),))


def _name(given: dict[str, Any], where: str) -> str:
    name = _openai.required_text(given, "name", where)
    return _calls.joined(_openai.optional_text(given, "namespace", where), name)


def _built_in_call(given: dict[str, Any], where: str) -> Message:
    _openai.required_text(given, "call_id", where)
    return Message(role="assistant", parts=(_calls.read_call(given),))


def _built_in_output(given: dict[str, Any], where: str) -> Message:
    _openai.required_text(given, "call_id" if given.get("id") is None else "id", where)
    _openai.optional_text(given, "call_id", where)
    return Message(role="tool", parts=(_calls.read_output(given),))


def _tool_search(given: dict[str, Any], where: str) -> Message:
    """A search for tools: the app's with an id, else the provider's, which nobody answers."""
    if given.get("execution") == "client" and given.get("call_id") is not None:
        return (_built_in_call if given["type"] == "tool_search_call" else _built_in_output)(given, where)
    role: Role = "tool" if given["type"].endswith("_output") else "assistant"
    return Message(role=role, parts=(Opaque(type=given["type"], data=given),))


def _custom_call(given: dict[str, Any], where: str) -> Message:
    call_id = _openai.required_text(given, "call_id", where)
    name = _name(given, where)
    call = ToolCall(id=call_id, name=name, raw=_openai.required_text(given, "input", where))
    return Message(role="assistant", parts=(call,))


def _call_output(given: dict[str, Any], where: str) -> Message:
    name = _openai.optional_text(given, "name", where)
    call_id = "" if name and given.get("call_id") is None else _openai.required_text(given, "call_id", where)
    content = _content(given.get("output"), f"{where}.output", GIVEN)
    return Message(role="tool", parts=(_openai.tool_result(call_id, content, name),))


def _reasoning(given: dict[str, Any], where: str) -> Message:
    summary = given.get("summary")
    if not isinstance(summary, list):
        raise _openai.missing(f"{where}.summary")
    shown = _content(summary, f"{where}.summary", ("summary_text",))
    said = _content(given.get("content") or [], f"{where}.content", ("reasoning_text",))
    text = "\n\n".join(part.text for part in shown or said if isinstance(part, Text))
    thinking = Thinking(text=text, signature=_openai.optional_text(given, "encrypted_content", where))
    return Message(role="assistant", parts=(thinking,))


def _compaction(given: dict[str, Any], where: str) -> Message:
    _openai.required_text(given, "encrypted_content", where)
    return Message(role="assistant", parts=(Opaque(type="compaction", data=given),))


_ITEMS: Final[dict[str, Callable[[dict[str, Any], str], Message]]] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _call_output,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _call_output,
    "reasoning": _reasoning,
    "compaction": _compaction,
    "shell_call": _built_in_call,
    "shell_call_output": _built_in_output,
    "local_shell_call": _built_in_call,
    "local_shell_call_output": _built_in_output,
    "apply_patch_call": _built_in_call,
    "apply_patch_call_output": _built_in_output,
    "computer_call": _built_in_call,
    "computer_call_output": _built_in_output,
    "tool_search_call": _tool_search,
    "tool_search_output": _tool_search,
}


def _all_tools(given: dict[str, Any]) -> tuple[ToolDefinition, ...]:
    """The tools that the request offers: those in `tools`, and those that items of its input bring."""
    found = list(_tools(given.get("tools"), "tools"))
    items = given.get("input")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and item.get("type") in ("tool_search_output", "additional_tools"):
            found.extend(_tools(item.get("tools"), f"input[{number}].tools"))
    return tuple(found)


def _tools(given: Any, where: str) -> list[ToolDefinition]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise _openai.wrong_type(where, "an array of tools", given)
    return [tool for number, one in enumerate(given) for tool in _tool(one, f"{where}[{number}]", "")]


def _tool(given: Any, where: str, namespace: str) -> list[ToolDefinition]:
    """The tool in an entry; a namespace has several."""
    if not isinstance(given, dict):
        raise _openai.wrong_type(where, "an object", given)
    kind = _openai.required_text(given, "type", where)
    description = _openai.optional_text(given, "description", where)
    if kind == "namespace" and not namespace:
        inner = given.get("tools") or []
        name = _openai.required_text(given, "name", where)
        if not isinstance(inner, list):
            raise _openai.wrong_type(f"{where}.tools", "an array of tools", inner)
        return [
            tool for place, one in enumerate(inner) for tool in _tool(one, f"{where}.tools[{place}]", name)
        ]
    if kind == "function":
        name = _openai.required_text(given, "name", where)
        schema = _openai.optional_object(given, "parameters", where)
    else:
        name, schema = _openai.optional_text(given, "name", where) or kind, given
    name = _calls.joined(namespace, name)
    return [ToolDefinition(name=name, description=description, schema=schema, type=kind, namespace=namespace)]
