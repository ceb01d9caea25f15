"""The scripted server's answers: requests in, results of the protocol out."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from soundstage.errors import NoMatchError, ScriptError
from soundstage.match import preview
from soundstage.mcp._answer import DEFAULT, Given, Json, ToolAnswer
from soundstage.mcp._backend import Served
from soundstage.mcp._call import LEVELS
from soundstage.mcp._catalog import McpPrompt, McpResource, McpTool
from soundstage.mcp._function import called
from soundstage.mcp._jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RpcError,
)
from soundstage.mcp._protocol import CALL, LISTS
from soundstage.mcp._rules import CallFacts, no_answer
from soundstage.mcp._script import McpScript
from soundstage.tools import argument_problems

_COMPLETIONS: Final = 100  # the most that the protocol allows


class ScriptedBackend:
    """Answers from a script, which may change meanwhile.

    Args:
        script: what to offer and to answer.
        name: of the server, for clients.
        failed: is told of calls that a strict script has no rule for.
    """

    def __init__(self, script: McpScript, name: str, failed: Callable[[NoMatchError], None]) -> None:
        self._script = script
        self._name = name
        self._failed = failed

    async def initialize(self, params: Json) -> Json:
        script = self._script
        capabilities: Json = {"tools": {"listChanged": True}, "logging": {}}
        completing = [one.completes for one in script.prompts.values()]
        if any([*completing, *(one.completes for one in script.resources.values())]):
            capabilities["completions"] = {}
        if script.resources:
            capabilities["resources"] = {"listChanged": True, "subscribe": True}
        if script.prompts:
            capabilities["prompts"] = {"listChanged": True}
        found = {"capabilities": capabilities, "serverInfo": {"name": self._name, "version": script.version}}
        return {**found, "instructions": script.instructions} if script.instructions else found

    async def serve(self, method: str, params: Json) -> Served:
        if method == CALL:
            return await self._call(params)
        if method in LISTS:
            return Served(self._page(method, params))
        handler = _OTHERS.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return Served(await handler(self._script, params))

    # lists

    def _page(self, method: str, params: Json) -> Json:
        entries = self._entries(method)
        size = self._script.page_size or max(len(entries), 1)
        cursor = params.get("cursor")
        start = int(cursor) if isinstance(cursor, str) and cursor.isdecimal() else 0
        if cursor is not None and not 0 < start < len(entries):
            raise RpcError(INVALID_PARAMS, f"Invalid cursor: {cursor!r}")
        page: Json = {LISTS[method]: entries[start : start + size]}
        return {**page, "nextCursor": str(start + size)} if start + size < len(entries) else page

    def _entries(self, method: str) -> list[Json]:
        script = self._script
        if method == "tools/list":
            return [tool.as_json() for tool in script.tools.values()]
        if method == "prompts/list":
            return [prompt.as_json() for prompt in script.prompts.values()]
        templates = method == "resources/templates/list"
        return [item.as_json() for item in script.resources.values() if item.is_template is templates]

    # calls

    async def _call(self, params: Json) -> Served:
        name, arguments = params.get("name"), params.get("arguments") or {}
        tool = self._script.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "the arguments are an object")
        problems = argument_problems(tool.schema, arguments)
        if problems:
            return Served(
                ToolAnswer(error=f"Input validation error: {'; '.join(problems)}").result(), "schema"
            )
        return served(*await self._answer(tool, arguments))

    async def _answer(self, tool: McpTool, arguments: Json) -> tuple[ToolAnswer, str]:
        call = CallFacts(tool.name, arguments)
        rule = self._script.serving.choose(call)
        if rule is not None:
            return await made(rule.reply, arguments), rule.served_by
        if tool.default is not None:
            return await made(tool.default, arguments), "default"
        if not self._script.strict:
            return DEFAULT, "no rule"
        error = no_answer(call, self._script.rules, self._script.serving)
        self._failed(error)
        raise RpcError(INTERNAL_ERROR, error.summary)


async def made(answer: Given, arguments: Json) -> ToolAnswer:
    """The answer itself; a function makes it."""
    return answer if isinstance(answer, ToolAnswer) else await called(answer, arguments)


def served(answer: ToolAnswer, served_by: str) -> Served:
    """Serve a call with this answer.

    Raises:
        RpcError: if that is the answer.
    """
    if answer.reject is not None:
        raise RpcError(answer.reject.code, answer.reject.message, answer.reject.data)
    return Served(answer.result(), served_by, answer.delay, answer.fault)


# resources and prompts


async def _read(script: McpScript, params: Json) -> Json:
    uri = params.get("uri")
    found = _find(list(script.resources.values()), uri) if isinstance(uri, str) else None
    if found is None:
        raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})
    resource, values = found
    content = resource.content
    if callable(content):
        content = content(**values)
        content = await content if inspect.isawaitable(content) else content
    return {"contents": [_content(resource, str(uri), content)]}


def _find(resources: Sequence[McpResource], uri: str) -> tuple[McpResource, dict[str, str]] | None:
    exact = next((item for item in resources if item.uri == uri and not item.is_template), None)
    if exact is not None:
        return exact, {}
    tried = ((item, item.values(uri)) for item in resources if item.is_template)
    return next(((item, values) for item, values in tried if values is not None), None)


def _content(resource: McpResource, uri: str, content: Any) -> Json:
    found: Json = {"uri": uri, **({"mimeType": resource.mime_type} if resource.mime_type else {})}
    if isinstance(content, bytes):
        return {**found, "blob": base64.b64encode(content).decode()}
    if isinstance(content, str):
        return {**found, "text": content}
    raise ScriptError(f"the resource {resource.uri} is text or bytes", seen=preview(content))


async def _prompt(script: McpScript, params: Json) -> Json:
    name, arguments = params.get("name"), params.get("arguments") or {}
    prompt = script.prompts.get(name) if isinstance(name, str) else None
    if prompt is None:
        raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name}")
    missing = [argument for argument in prompt.required if argument not in arguments]
    if missing:
        raise RpcError(INVALID_PARAMS, f"Missing required arguments: {', '.join(missing)}")
    return prompt.made(arguments)


async def _complete(script: McpScript, params: Json) -> Json:
    """Values for an argument of a prompt or a template that begin as what is there; a hundred at most."""
    ref, argument = params.get("ref"), params.get("argument")
    if not isinstance(ref, dict) or not isinstance(argument, dict):
        raise RpcError(INVALID_PARAMS, "a completion has a ref and an argument, both objects")
    key = {"ref/prompt": "name", "ref/resource": "uri"}.get(str(ref.get("type")), "")
    known: Mapping[str, McpPrompt | McpResource] = script.prompts if key == "name" else script.resources
    found = known.get(str(ref.get(key))) if key else None
    if found is None:
        raise RpcError(INVALID_PARAMS, f"Unknown reference: {preview(ref)}")
    given, context = str(argument.get("value", "")), params.get("context")
    others = context.get("arguments") if isinstance(context, dict) else None
    values = found.completes.get(str(argument.get("name")), ())
    if callable(values):
        values = values(given, others if isinstance(others, dict) else {})
        values = await values if inspect.isawaitable(values) else values
    fitting = [value for value in map(str, values) if value.lower().startswith(given.lower())]
    page = fitting[:_COMPLETIONS]
    return {"completion": {"values": page, "total": len(fitting), "hasMore": len(fitting) > len(page)}}


async def _set_level(_script: McpScript, params: Json) -> Json:
    if params.get("level") not in LEVELS:
        raise RpcError(INVALID_PARAMS, f"Invalid log level: {preview(params.get('level'))}")
    return {}


async def _nothing(_script: McpScript, _params: Json) -> Json:
    return {}


_OTHERS: Final[dict[str, Callable[[McpScript, Json], Awaitable[Json]]]] = {
    "resources/read": _read,
    "resources/subscribe": _nothing,
    "resources/unsubscribe": _nothing,
    "prompts/get": _prompt,
    "completion/complete": _complete,
    "logging/setLevel": _set_level,
}
