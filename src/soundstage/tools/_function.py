"""The JSON Schema of a function's arguments, from its signature and docstring. Pure.

Types come from the annotations, by way of a `msgspec` record with one field for each parameter; the same
record converts what a model sends into what the function takes. Descriptions come from the docstring's
`Args:` (Google style, as in this project).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, get_type_hints

import msgspec

from soundstage.errors import ToolDefinitionError

_SECTIONS: Final = re.compile(
    r"^(Args|Arguments|Returns|Return|Raises|Yields|Example|Examples|Note|Notes):\s*$", re.MULTILINE
)
_ENTRY: Final = re.compile(r"^(?P<indent>\s+)\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<words>.*)$")
_NO_VARIADIC: Final = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
    inspect.Parameter.POSITIONAL_ONLY: "",
}


Hook = Callable[[type[Any], Any], Any]
SchemaHook = Callable[[type[Any]], dict[str, Any]]


class DescribedFunction(NamedTuple):
    """A function as a tool: its name, words and arguments.

    Args:
        name: its own.
        description: the docstring up to its first section.
        schema: JSON Schema of the arguments.
        context: the keyword-only parameter that takes the context; empty if there is none.
        arguments: a record with one field for each argument.
    """

    name: str
    description: str
    schema: dict[str, Any]
    context: str
    arguments: type[msgspec.Struct]

    def convert(self, arguments: Mapping[str, Any], hook: Hook | None = None) -> dict[str, Any]:
        """Make the function's arguments of decoded JSON; those that are not given are left to its own defaults.

        Args:
            arguments: by name.
            hook: makes values of types that JSON does not have, from the type and what was sent.

        Raises:
            msgspec.ValidationError: for one that is missing, unknown or of another type.
        """
        typed = msgspec.convert(dict(arguments), self.arguments, dec_hook=hook)
        return {name: getattr(typed, name) for name in arguments}


def describe_function(
    function: Callable[..., Any],
    context_type: type | None = None,
    *,
    skip: int = 0,
    schema_hook: SchemaHook | None = None,
) -> DescribedFunction:
    """Describe a function as a tool.

    Args:
        function: it may be asynchronous; its annotations make the schema, its docstring the words.
        context_type: the type of a keyword-only parameter that is no argument.
        skip: how many of its first parameters are no arguments, because its caller gives them.
        schema_hook: the schema of a type that JSON does not have; raises `NotImplementedError` for others.

    Raises:
        ToolDefinitionError: if a parameter cannot be an argument in JSON.
    """
    name = getattr(function, "__name__", type(function).__name__)
    parameters, context = _parameters(name, function, context_type, skip)
    text, words = _docstring(inspect.getdoc(function) or "")
    record = _record(name, parameters)
    schema = _schema(name, record, parameters, words, schema_hook)
    return DescribedFunction(name, text, schema, context, record)


def record_schema(kind: Any, schema_hook: SchemaHook | None = None) -> dict[str, Any]:
    """The JSON Schema of a record, with the record itself at the top.

    Args:
        kind: a `Struct`, a `TypedDict` or a dataclass.
        schema_hook: as for `describe_function`.

    Raises:
        TypeError: if a field has a type that JSON does not have.
    """
    (top,), parts = msgspec.json.schema_components(
        [kind], ref_template="#/$defs/{name}", schema_hook=schema_hook
    )
    schema = dict(parts.pop(top["$ref"].rpartition("/")[2]))
    schema.pop("title", None)
    return {**schema, "$defs": parts} if parts else schema


def _parameters(
    name: str, function: Callable[..., Any], context_type: type | None, skip: int
) -> tuple[dict[str, tuple[Any, Any]], str]:
    """Each parameter with its type and default, and the name of the one for the context."""
    hints = _hints(name, function)
    found: dict[str, tuple[Any, Any]] = {}
    context = ""
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        hint = hints.get(parameter.name, Any)
        if context_type is not None and hint is context_type:
            context = _context_name(name, parameter)
        elif parameter.kind in _NO_VARIADIC:
            raise ToolDefinitionError(
                f"the function {name!r} cannot be a tool",
                expected="parameters that can be given by name",
                seen=f"{_NO_VARIADIC[parameter.kind]}{parameter.name}",
                hint="name each argument, or declare the tool with a schema of your own",
            )
        else:
            found[parameter.name] = (hint, parameter.default)
    return found, context


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except Exception as error:
        raise ToolDefinitionError(
            f"the annotations of the tool {name!r} cannot be read",
            seen=f"{type(error).__name__}: {error}",
            hint="define the types of its parameters at module level",
        ) from error


def _context_name(name: str, parameter: inspect.Parameter) -> str:
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        raise ToolDefinitionError(
            f"the context of the tool {name!r} must be a keyword-only parameter",
            expected=f"def {name}(..., *, {parameter.name}: ToolContext)",
            seen=str(parameter),
        )
    return parameter.name


def _record(name: str, parameters: Mapping[str, tuple[Any, Any]]) -> type[msgspec.Struct]:
    empty = inspect.Parameter.empty
    required: list[Any] = [(key, hint) for key, (hint, default) in parameters.items() if default is empty]
    optional: list[Any] = [
        (key, hint, msgspec.UNSET) for key, (hint, default) in parameters.items() if default is not empty
    ]
    title = re.sub(r"\W", "_", name)  # of a lambda too
    return msgspec.defstruct(f"{title}_arguments", [*required, *optional], forbid_unknown_fields=True)


def _schema(
    name: str,
    record: type[msgspec.Struct],
    parameters: Mapping[str, tuple[Any, Any]],
    words: Mapping[str, str],
    schema_hook: SchemaHook | None,
) -> dict[str, Any]:
    try:
        made = record_schema(record, schema_hook)
    except (TypeError, msgspec.MsgspecError) as error:
        raise ToolDefinitionError(
            f"a parameter of the tool {name!r} cannot be an argument in JSON",
            expected="texts, numbers, booleans, lists, mappings, literals, enums, dataclasses or Structs",
            seen=str(error).partition("\n")[0],
            hint="change its annotation, or declare the tool with a schema of your own",
        ) from None
    found = made["properties"]
    properties = {
        key: _property(found[key], default, words.get(key, "")) for key, (_, default) in parameters.items()
    }
    return {
        key: value for key, value in {**made, "properties": properties}.items() if value or key != "required"
    }


def _property(schema: dict[str, Any], default: Any, words: str) -> dict[str, Any]:
    """A parameter's schema with its description, and its default if JSON can say it."""
    described = {**schema, "description": words} if words else schema
    if default is inspect.Parameter.empty or default is None:
        return described
    try:
        return {**described, "default": msgspec.to_builtins(default)}
    except (TypeError, ValueError, RecursionError):
        return described


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The words before the first section, in lines; and the words about each argument."""
    head, *rest = _SECTIONS.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    return head.strip(), _entries(sections.get("Args") or sections.get("Arguments") or "")


def _entries(text: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    indent: str | None = None
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry is not None and indent in (None, entry["indent"]):
            indent = entry["indent"]
            current = found.setdefault(entry["name"], [])
            current.append(entry["words"])
        elif line.strip() and (indent is None or not line.startswith(indent)):
            break
        else:
            current.append(line)
    return {name: " ".join(" ".join(words).split()) for name, words in found.items()}
