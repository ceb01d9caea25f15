"""Python functions as tools: name, description and schema from the function, arguments checked before it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from soundstage.errors import ScriptError
from soundstage.mcp._answer import Json, ToolAnswer, as_answer
from soundstage.mcp._catalog import McpTool
from soundstage.tools import describe_function


def function_tool(function: Callable[..., Any], *, name: str = "", description: str = "") -> McpTool:
    """The tool that a function is.

    Raises:
        ToolDefinitionError: for a function whose arguments cannot be given by name, or have a type without a schema.
    """
    described = describe_function(function)

    async def answer(given: Json) -> ToolAnswer:
        try:
            taken = described.convert(given)
        except msgspec.ValidationError as error:
            return ToolAnswer(error=f"Input validation error: {error}")
        return await called(function, taken, spread=True)

    return McpTool(
        name=name or described.name,
        description=description or described.description,
        schema=described.schema,
        default=answer,
    )


async def called(
    function: Callable[..., Any], given: Mapping[str, Any], *, spread: bool = False
) -> ToolAnswer:
    """Call a function; return its answer. An error that it raises is the text of a failed call.

    Args:
        function: it may be asynchronous.
        given: the arguments.
        spread: whether it takes them by name, or as one mapping.
    """
    try:
        found = function(**given) if spread else function(given)
        if inspect.isawaitable(found):
            found = await found
    except ScriptError:
        raise
    except Exception as error:  # noqa: BLE001  (the client learns of it, as it would from a real server)
        return ToolAnswer(error=f"{type(error).__name__}: {error}")
    return as_answer(found)
