"""Python functions as tools: name, description and schema from the function, arguments checked before it runs."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from soundstage.errors import ScriptError
from soundstage.mcp._answer import Json, ToolAnswer, as_answer
from soundstage.mcp._catalog import McpTool


def function_tool(function: Callable[..., Any], *, name: str = "", description: str = "") -> McpTool:
    """The tool that a function is.

    Raises:
        ScriptError: for a function whose arguments cannot be given by name, or have a type without a schema.
    """
    title = name or function.__name__
    arguments, schema = _arguments(function, title)

    async def answer(given: dict[str, Any]) -> ToolAnswer:
        try:
            taken = msgspec.convert(given, arguments)
        except msgspec.ValidationError as error:
            return ToolAnswer(error=f"Input validation error: {error}")
        return await called(function, msgspec.structs.asdict(taken), spread=True)

    return McpTool(
        name=title,
        description=description or inspect.getdoc(function) or "",
        schema=schema,
        default=answer,
    )


async def called(
    function: Callable[..., Any], given: Mapping[str, Any], *, spread: bool = False
) -> ToolAnswer:
    """What a function answers with. What it raises is the text of a failed call.

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


def _arguments(function: Callable[..., Any], title: str) -> tuple[type[msgspec.Struct], Json]:
    """A record of the arguments, and its JSON Schema."""
    hints = typing.get_type_hints(function)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ScriptError(
                f"the tool {title!r} takes arguments that have no name",
                seen=str(parameter),
                hint="write each argument with its name and type",
            )
        kind = hints.get(parameter.name, Any)
        required = parameter.default is parameter.empty
        fields.append((parameter.name, kind) if required else (parameter.name, kind, parameter.default))
    try:
        record = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        schema = msgspec.json.schema(record)
    except TypeError as error:
        raise ScriptError(
            f"the tool {title!r} has an argument without a schema", seen=str(error), hint="use types of JSON"
        ) from None
    definitions = dict(schema["$defs"])
    own: Json = definitions.pop("Arguments")
    own.pop("title", None)
    return record, {**own, **({"$defs": definitions} if definitions else {})}
