"""The differences between what a program sent when it was recorded and what it sends now, in words of verdicts. Pure.

Each thing that a program sends is read as a request to a model, because that is what it becomes: options and prompts,
tools and their results. So `soundstage.differences` says what differs, with the causes and places that replays of tapes
have.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from soundstage.differences import VOLATILE_SHAPES, Difference, differences
from soundstage.messages import Message, ModelRequest, Opaque, Part, Text, ToolDefinition, ToolResult, system

_SHAPES: Final = tuple((re.compile(shape.pattern), shape.stands) for shape in VOLATILE_SHAPES)
_SYSTEM: Final = ("--system-prompt", "--append-system-prompt")
_TOOLS: Final = ("--tools", "--allowedTools", "--disallowedTools")
_PREFIX: Final = re.compile(r"^settings\.?")


@functools.lru_cache(maxsize=4096)
def without_volatile(text: str) -> str:
    """A text with names for times, ids, ports and temporary paths.

    >>> without_volatile("began 2026-01-01T10:00:00Z")
    'began <time>'
    """
    for pattern, stands in _SHAPES:
        text = pattern.sub(stands, text)
    return text


def line_differences(
    recorded: Mapping[str, Any], seen: Mapping[str, Any], where: str
) -> tuple[Difference, ...]:
    """The differences between two lines of a program, or two openings.

    Args:
        recorded: as it was.
        seen: as it is.
        where: the place in words, such as `the prompt of session 1`.
    """
    before, now = _request(recorded), _request(seen)
    found = differences(before, now, normalise=without_volatile)
    answers = recorded.get("type") == "control_response"
    return tuple(_placed(one, where, answers=answers) for one in found)


def _placed(found: Difference, where: str, *, answers: bool) -> Difference:
    place = _PREFIX.sub("", found.where)
    cause = "reply differs" if answers and found.cause == "other model or settings" else found.cause
    return msgspec.structs.replace(found, cause=cause, where=f"{where}: {place}" if place else where)


def _request(line: Mapping[str, Any]) -> ModelRequest:
    """A line as the request that it is a part of."""
    kind = line.get("type")
    if kind == "user":
        message = line.get("message")
        return _asked(message if isinstance(message, Mapping) else {})
    if kind == "control_request":
        return ModelRequest(model="", messages=(), settings=_object(line, "request"))
    if kind == "control_response":
        return _answered(_object(line, "response"))
    return _opened(line)


def _object(line: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = line.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def _asked(message: Mapping[str, Any]) -> ModelRequest:
    content = message.get("content")
    parts: tuple[Part, ...] = (
        tuple(_part(block) for block in content)
        if isinstance(content, list)
        else (Text(text=str(content or "")),)
    )
    return ModelRequest(model="", messages=(Message(role="user", parts=parts),))


def _part(block: Any) -> Part:
    if isinstance(block, Mapping) and block.get("type") == "text":
        return Text(text=str(block.get("text", "")))
    return Opaque(type="block", data=dict(block) if isinstance(block, Mapping) else {"block": block})


def _answered(response: dict[str, Any]) -> ModelRequest:
    """An answer to the CLI: of a hook, a permission, or a server of the program."""
    response.pop("request_id", None)
    answer = _object(response, "response")
    served = _object(_object(answer, "mcp_response"), "result")
    if isinstance(served.get("tools"), list):
        return ModelRequest(model="", messages=(), tools=tuple(_definition(one) for one in served["tools"]))
    if "content" in served:
        result = ToolResult(
            call_id="call", text=_text(served["content"]), is_error=bool(served.get("isError"))
        )
        return ModelRequest(model="", messages=(Message(role="tool", parts=(result,)),))
    return ModelRequest(model="", messages=(), settings=response)


def _definition(tool: Any) -> ToolDefinition:
    found = tool if isinstance(tool, Mapping) else {}
    schema = found.get("inputSchema")
    return ToolDefinition(
        name=str(found.get("name", "")),
        description=str(found.get("description") or ""),
        schema=dict(schema) if isinstance(schema, Mapping) else {},
    )


def _text(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    texts = [block["text"] if isinstance(block, Mapping) and "text" in block else block for block in blocks]
    return "\n".join(one if isinstance(one, str) else json.dumps(one, sort_keys=True) for one in texts)


def _opened(line: Mapping[str, Any]) -> ModelRequest:
    """A session with its arguments: model, system prompts, tools, and the rest as settings."""
    flags = flags_of(line.get("arguments") or ())
    model = flags.pop("--model", "")
    prompts = tuple(system(text) for name in _SYSTEM if (text := flags.pop(name, "")))
    named = [(name, tool) for name in _TOOLS for tool in flags.pop(name, "").split(",") if tool]
    tools = tuple(ToolDefinition(name=f"{tool} ({name[2:]})") for name, tool in named)
    settings: dict[str, Any] = {name.lstrip("-"): _json(value) for name, value in flags.items()}
    others = {name: value for name, value in line.items() if name != "arguments"}
    return ModelRequest(model=model, messages=prompts, tools=tools, settings={**settings, **others})


def flags_of(arguments: Sequence[str]) -> dict[str, str]:
    """The options of a command line, each with its value; an empty one for a switch.

    >>> flags_of(["--verbose", "--model", "m", "--resume=id"])
    {'--verbose': '', '--model': 'm', '--resume': 'id'}
    """
    found: dict[str, str] = {}
    last, open_prompt = "", False  # a prompt may begin like an option
    for word in arguments:
        if word.startswith("--") and not open_prompt:
            last, _, value = word.partition("=")
            found[last] = value
            open_prompt = last in _SYSTEM
        elif last:
            found[last], open_prompt = word, False
    return found


def _json(value: str) -> Any:
    """A value that is JSON as what it means, so that differences are told by their paths."""
    if not value.startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
