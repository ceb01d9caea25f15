"""Requests with another system prompt, or another result of a tool: as messages, and as the bodies of providers. Pure.

The system prompt is what stands before the first other message. A body keeps everything else that it has, also what our
codecs do not read. Both ways come to the same: what `edited_body` makes is decoded to what `edited` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import RequestRejected
from soundstage.messages import Message, ModelRequest, Part, Text, ToolResult, system

Fields = dict[str, Any]
_SYSTEM: Final = ("system", "developer")
_STRUCTURED: Final = frozenset({"shell_call_output", "computer_call_output", "tool_search_output"})
_OUTPUTS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output"}
)


class SystemEdit(NamedTuple):
    """Another system prompt.

    Args:
        text: it, or what is added to it; without any, an empty text leaves none.
        add: whether the text is added to the end of the one that is there.
    """

    text: str
    add: bool = False


class ResultEdit(NamedTuple):
    """Another result of a tool.

    Args:
        place: of the result among all results of the request, from 0.
        text: what the tool has said instead.
    """

    place: int
    text: str


RequestEdit = SystemEdit | ResultEdit


def leading(request: ModelRequest) -> tuple[Message, ...]:
    """The messages of the system prompt."""
    return tuple(takewhile(lambda message: message.role == "system", request.messages))


def results_of(request: ModelRequest) -> list[ToolResult]:
    """All results of tools, the oldest first."""
    return [part for message in request.messages for part in message.parts if isinstance(part, ToolResult)]


def edited(request: ModelRequest, edit: RequestEdit) -> ModelRequest:
    """A request with an edit.

    Example:
        >>> from soundstage.messages import user
        >>> asked = ModelRequest(model="m", messages=(system("Be kind."), user("hello")))
        >>> edited(asked, SystemEdit(" Be brief.", add=True)).system_text
        'Be kind. Be brief.'
    """
    if isinstance(edit, SystemEdit):
        return _with_system(request, edit)
    messages, place = [], 0
    for message in request.messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                if place == edit.place:
                    part = msgspec.structs.replace(part, text=edit.text, extra=())  # noqa: PLW2901
                place += 1
            parts.append(part)
        messages.append(msgspec.structs.replace(message, parts=tuple(parts)))
    return msgspec.structs.replace(request, messages=tuple(messages))


def _with_system(request: ModelRequest, edit: SystemEdit) -> ModelRequest:
    before = leading(request)
    rest = request.messages[len(before) :]
    texts = [part.text for message in before for part in message.parts if isinstance(part, Text)]
    if edit.add and texts:
        messages = (*_added(before, edit.text, len(texts)), *rest)
        instructions = texts[0] + edit.text if len(texts) == 1 else texts[0]
    else:
        messages = (*((system(edit.text),) if edit.text else ()), *rest)
        instructions = edit.text
    settings = dict(request.settings)
    if request.format == "openai-responses" and not (edit.add and texts and not settings.get("instructions")):
        settings.pop("instructions", None)
        settings |= {"instructions": instructions} if instructions else {}
    return msgspec.structs.replace(request, messages=messages, settings=settings)


def _added(messages: tuple[Message, ...], text: str, last: int) -> Iterator[Message]:
    """The messages with a text behind the last of their texts."""
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Text):
                last -= 1
                part = Text(text=part.text + text) if not last else part  # noqa: PLW2901
            parts.append(part)
        yield msgspec.structs.replace(message, parts=tuple(parts))


class _Slot(NamedTuple):
    """A text in a body: the field that holds it."""

    holder: Fields
    name: str


class _Body(NamedTuple):
    """The places in bodies of one format.

    Args:
        texts: those of the system prompt.
        replace: puts another system prompt in its place; none, if it is empty.
        results: the objects that are results of tools.
        answer: puts another text into one of them.
    """

    texts: Callable[[Fields], list[_Slot]]
    replace: Callable[[Fields, str], None]
    results: Callable[[Fields], list[Fields]]
    answer: Callable[[Fields, str], None]


def edited_body(format: str, body: bytes, edit: RequestEdit) -> bytes:  # noqa: A002
    """A body of a format with an edit.

    Raises:
        RequestRejected: if it has no such result, or one that is no text.

    Example:
        >>> edited_body("anthropic", b'{"system":"Be kind.","n":1}', SystemEdit(" Be brief.", add=True))
        b'{"system":"Be kind. Be brief.","n":1}'
    """
    given, places = msgspec.json.decode(body, type=Fields), _BODIES[format]
    if isinstance(edit, ResultEdit):
        results = places.results(given)
        if edit.place >= len(results):
            raise RequestRejected(f"the body has {len(results)} results of tools, none is at {edit.place}")
        places.answer(results[edit.place], edit.text)
    else:
        texts = places.texts(given)
        if edit.add and texts:
            last = texts[-1]
            last.holder[last.name] += edit.text
        else:
            places.replace(given, edit.text)
    return msgspec.json.encode(given)


def _slots(holder: Fields, name: str) -> Iterator[_Slot]:
    """The texts of a content: one string, or parts."""
    content = holder.get(name)
    if isinstance(content, str):
        yield _Slot(holder, name)
    for part in content if isinstance(content, list) else ():
        if isinstance(part.get("text"), str):
            yield _Slot(part, "text")


def _is_system(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in _SYSTEM


def _first(given: Fields, name: str) -> list[Fields]:
    """The messages of a list that the system prompt is made of."""
    messages = given.get(name)
    return [*takewhile(_is_system, messages)] if isinstance(messages, list) else []


def _without_first(given: Fields, name: str) -> None:
    first = _first(given, name)
    if first:
        given[name] = given[name][len(first) :]


def _chat_replace(given: Fields, text: str) -> None:
    role = next((message["role"] for message in _first(given, "messages")), "system")
    _without_first(given, "messages")
    given["messages"] = [*([{"role": role, "content": text}] if text else []), *given["messages"]]


def _field_replace(field: str, messages: str) -> Callable[[Fields, str], None]:
    """Puts a system prompt into a field beside the messages."""

    def replace(given: Fields, text: str) -> None:
        _without_first(given, messages)
        given.pop(field, None)
        if text:
            given[field] = text

    return replace


def _field_texts(field: str, messages: str) -> Callable[[Fields], list[_Slot]]:
    def texts(given: Fields) -> list[_Slot]:
        own = [*_slots(given, field)] if given.get(field) else []
        return own + [slot for message in _first(given, messages) for slot in _slots(message, "content")]

    return texts


def _put(name: str) -> Callable[[Fields, str], None]:
    def answer(result: Fields, text: str) -> None:
        if result.get("type") in _STRUCTURED:
            raise RequestRejected(f"a {result['type']} is no text: it cannot be replaced by one")
        result[name] = text

    return answer


def _is_output(item: Any) -> bool:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "tool_search_output":
        return item.get("execution") == "client" and item.get("call_id") is not None
    return kind in _OUTPUTS | _STRUCTURED


def _named(given: Fields, *names: str) -> str:
    """The name that a field has in a body of protocol buffers: in camelCase or snake_case."""
    return next((name for name in names if given.get(name) is not None), names[0])


def _gemini_system(given: Fields) -> str:
    return _named(given, "systemInstruction", "system_instruction")


def _gemini_parts(content: Any) -> list[Fields]:
    parts = content.get("parts") or [] if isinstance(content, dict) else []
    return parts if isinstance(parts, list) else [parts]


def _gemini_texts(given: Fields) -> list[_Slot]:
    parts = _gemini_parts(given.get(_gemini_system(given)))
    return [_Slot(part, "text") for part in parts if "text" in part and part.get("thought") is not True]


def _gemini_replace(given: Fields, text: str) -> None:
    name = _gemini_system(given)
    given.pop(name, None)
    if text:
        given[name] = {"parts": [{"text": text}]}


def _gemini_results(given: Fields) -> list[Fields]:
    contents = given.get("contents") or []
    names = ("functionResponse", "function_response")
    return [
        part[_named(part, *names)]
        for content in (contents if isinstance(contents, list) else [contents])
        for part in _gemini_parts(content)
        if _named(part, *names) in part
    ]


def _gemini_answer(result: Fields, text: str) -> None:
    """An output stays what it is: an error, an output, or an object where the text is one."""
    response = result.get("response") or {}
    name = "error" if response.get("error") else "output" if "output" in response else "result"
    value: Any = {name: text}
    if name == "result" and response.keys() != {"result"} and (whole := _object(text)) is not None:
        value = whole
    result["response"] = value
    result.pop("parts", None)


def _object(text: str) -> Fields | None:
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


_BODIES: Final = {
    "openai-chat": _Body(
        lambda given: [slot for message in _first(given, "messages") for slot in _slots(message, "content")],
        _chat_replace,
        lambda given: [one for one in given.get("messages", ()) if one.get("role") in ("tool", "function")],
        _put("content"),
    ),
    "openai-responses": _Body(
        _field_texts("instructions", "input"),
        _field_replace("instructions", "input"),
        lambda given: [one for one in given.get("input", ()) if _is_output(one)],
        _put("output"),
    ),
    "anthropic": _Body(
        _field_texts("system", "messages"),
        _field_replace("system", "messages"),
        lambda given: [
            block
            for message in given.get("messages", ())
            if isinstance(message.get("content"), list)
            for block in message["content"]
            if block.get("type") == "tool_result"
        ],
        _put("content"),
    ),
    "gemini": _Body(_gemini_texts, _gemini_replace, _gemini_results, _gemini_answer),
}
