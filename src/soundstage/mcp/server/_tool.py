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

from soundstage.errors import ScriptError, SoundstageError
from soundstage.tools import DescribedFunction, argument_problems, describe_function, record_schema

ToolFunction = Callable[..., Awaitable[Mapping[str, Any]]]
Check = Callable[[type[Any], Any], Any]


class ServedTool(NamedTuple):
    """One tool.

    Args:
        category: the group that it is shown in.
        function: takes the state of its client, then the arguments.
        description: what it does, what it takes and returns, with an example.
        described: its name and its arguments.
        returns: the keys of its result, with their types.
        failed: what an error envelope of this tool has besides `status` and `error`.
    """

    category: str
    function: ToolFunction
    description: str
    described: DescribedFunction
    returns: Any
    failed: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """Its name, as clients call it."""
        return self.described.name

    @property
    def arguments(self) -> type[msgspec.Struct]:
        """A record with one field for each argument."""
        return self.described.arguments

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its result."""
        return tuple(typing.get_type_hints(self.returns))

    def input_schema(self) -> dict[str, Any]:
        """The arguments, as JSON Schema."""
        return self.described.schema

    def output_schema(self) -> dict[str, Any]:
        """The result as JSON Schema, or the envelope of an error."""
        schema = record_schema(self.returns, _own_schema)
        error = {"type": "string", "description": "What went wrong; there when the tool has failed."}
        return {**schema, "properties": {**schema["properties"], "error": error}, "required": ["status"]}

    def read(self, arguments: Mapping[str, Any], check: Check | None = None) -> dict[str, Any]:
        """The arguments of the function; those that were not sent are left to its defaults.

        Args:
            arguments: what the client sent.
            check: makes a value of a class of the wing's own, `ClientState.resolve`; without one, none is read.

        Raises:
            ScriptError: for one that is missing, unknown or of the wrong type, or a path that leads elsewhere.
        """
        problems = argument_problems(self.described.schema, arguments)
        if not problems:
            try:
                return self.described.convert(arguments, check)
            except msgspec.ValidationError as error:
                problems = [str(error)]
        raise ScriptError(
            f"{self.name} cannot be called like this",
            expected=self.signature(),
            seen="; ".join(problems),
            hint="tools/list has the schema of each argument",
        )

    def signature(self) -> str:
        """How it is called: `install_plugin(plugin_name, marketplace_path=None)`."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        shown = [
            one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in parameters
        ]
        return f"{self.name}({', '.join(shown)})"


def describe(category: str, function: ToolFunction, failed: Mapping[str, Any] | None = None) -> ServedTool:
    """The tool that a function is.

    Raises:
        ToolDefinitionError: if a parameter cannot be an argument in JSON.
    """
    described = describe_function(function, skip=1, schema_hook=_own_schema)
    returns = typing.get_type_hints(function, include_extras=True)["return"]
    return ServedTool(category, function, inspect.getdoc(function) or "", described, returns, failed or {})


def _own_schema(kind: type[Any]) -> dict[str, Any]:
    """The schema of a class that only `ClientState.resolve` can make: the class says it."""
    if not hasattr(kind, "schema"):
        raise NotImplementedError
    return dict(kind.schema)


ERROR: Final = "error"


def envelope(tool: ServedTool, error: BaseException | str) -> dict[str, Any]:
    """The result of a tool that has failed."""
    text = error if isinstance(error, str) else _text(error)
    return {"status": ERROR, "error": text, **tool.failed}


def _text(error: BaseException) -> str:
    if isinstance(error, SoundstageError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
