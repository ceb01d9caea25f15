"""A tool: a function over the library, and what an agent is told about it. Pure.

The schemas are not written down a second time. What a tool takes is the signature of its function after the
state of its client, what it returns is the `TypedDict` of its annotation, and its description is its docstring.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import ScriptError
from soundstage.mcp_server._paths import CheckedPath

ToolFunction = Callable[..., Awaitable[Mapping[str, Any]]]
Check = Callable[[type[Any], Any], Any]


class ServedTool(NamedTuple):
    """One tool.

    Args:
        name: as clients call it.
        category: the group that it is shown in.
        function: takes the state of its client, then the arguments.
        description: what it does, what it takes and returns, with an example.
        arguments: a record with one field for each argument.
        returns: the keys of its result, with their types.
        failed: what an error envelope of this tool has besides `status` and `error`.
    """

    name: str
    category: str
    function: ToolFunction
    description: str
    arguments: type[msgspec.Struct]
    returns: Any
    failed: Mapping[str, Any] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its result."""
        return tuple(typing.get_type_hints(self.returns))

    def input_schema(self) -> dict[str, Any]:
        """The arguments, as JSON Schema."""
        return _inlined(self.arguments)

    def output_schema(self) -> dict[str, Any]:
        """The result as JSON Schema, or the envelope of an error."""
        schema = _inlined(self.returns)
        status = schema["properties"]["status"]
        error = {"type": "string", "description": "What went wrong; there when the tool has failed."}
        return {
            **schema,
            "properties": {**schema["properties"], "status": status, "error": error},
            "required": ["status"],
        }

    def read(self, arguments: Mapping[str, Any], check: Check | None = None) -> dict[str, Any]:
        """The arguments of the function.

        Args:
            arguments: what the client sent.
            check: makes a path of a client's text, `Places.resolve`; without one, no path is read.

        Raises:
            ScriptError: for one that is missing, unknown or of the wrong type, or a path that leads elsewhere.
        """
        try:
            record = msgspec.convert(dict(arguments), self.arguments, dec_hook=check)
        except msgspec.ValidationError as error:
            raise ScriptError(
                f"{self.name} cannot be called like this",
                expected=self.signature(),
                seen=str(error),
                hint="tools/list has the schema of each argument",
            ) from None
        return {name: getattr(record, name) for name in self.arguments.__struct_fields__}

    def signature(self) -> str:
        """How it is called: `install_plugin(plugin_name, marketplace_path=None)`."""
        described = [
            field.name if field.required else f"{field.name}={field.default!r}"
            for field in msgspec.structs.fields(self.arguments)
        ]
        return f"{self.name}({', '.join(described)})"


def describe(category: str, function: ToolFunction, failed: Mapping[str, Any] | None = None) -> ServedTool:
    """The tool that a function is."""
    name: str = function.__name__
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields = [_field(parameter, hints[parameter.name]) for parameter in parameters]
    arguments = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    description = inspect.cleandoc(function.__doc__ or "")
    return ServedTool(name, category, function, description, arguments, hints["return"], failed or {})


def _field(parameter: inspect.Parameter, hint: Any) -> Any:
    if parameter.default is inspect.Parameter.empty:
        return (parameter.name, hint)
    return (parameter.name, hint, parameter.default)


def _inlined(kind: Any) -> dict[str, Any]:
    """The schema of a record, with the record itself at the top, as MCP wants it."""
    (top,), components = msgspec.json.schema_components(
        [kind], ref_template="#/$defs/{name}", schema_hook=_path_schema
    )
    name = top["$ref"].rpartition("/")[2]
    schema = dict(components.pop(name))
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return {**schema, "$defs": components} if components else schema


def _path_schema(kind: type[Any]) -> dict[str, Any]:
    if issubclass(kind, CheckedPath):
        return dict(kind.schema)
    raise NotImplementedError


ERROR: Final = "error"


def envelope(tool: ServedTool, error: BaseException | str) -> dict[str, Any]:
    """The result of a tool that has failed."""
    text = error if isinstance(error, str) else _text(error)
    return {"status": ERROR, "error": text, **tool.failed}


def _text(error: BaseException) -> str:
    from soundstage.errors import SoundstageError

    if isinstance(error, SoundstageError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
