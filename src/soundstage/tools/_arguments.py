"""Checks arguments against a JSON Schema, in words that a model can act on. Pure.

It knows the keywords that schemas of arguments use (JSON Schema 2020-12, "validation" vocabulary) and lets
everything else pass, also a keyword with a value that it cannot have; `oneOf` is read as `anyOf`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from soundstage.errors import MatchError, did_you_mean
from soundstage.match import Regex, preview

_SHOWN: Final = 8  # problems in one message


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_NAMES: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_IS: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _number(value) and float(value).is_integer(),
    "number": _number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
}


def argument_problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """List the problems of arguments: which one, what was expected, what was seen. Empty if there is none.

    >>> schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    >>> argument_problems(schema, {"path": 3})
    ["argument 'path': expected a text, seen the number 3"]
    """
    found: list[str] = []
    for problem in _problems(schema, arguments, "", schema):
        found.append(problem)
        if len(found) == _SHOWN:
            break
    return found


def _problems(schema: Any, value: Any, path: str, root: Mapping[str, Any]) -> Iterator[str]:
    schema = _resolved(schema, root)
    if not _fits_itself(schema, value, root):
        within = list(_problems(member, value, path, root)) if (member := _meant(schema, value, root)) else []
        yield from within or [f"argument {path!r}: expected {_expected(schema, root)}, seen {_seen(value)}"]
    elif isinstance(value, Mapping):
        yield from _in_object(schema, value, path, root)
    elif isinstance(value, list | tuple):
        yield from _in_list(schema, value, path, root)


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema behind references, or the only member of a choice that is not null."""
    for _ in range(32):  # a reference to itself says nothing
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str):
            return schema
        schema = root
        for step in reference.removeprefix("#").strip("/").split("/"):
            schema = _object(schema).get(step, {}) if step else schema
    return {}


def _fits_itself(schema: Any, value: Any, root: Mapping[str, Any]) -> bool:
    """Whether the value is of the right type and size, whatever it holds."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if value is None and schema.get("nullable") is True:  # as OpenAPI has it
        return True
    members = _members(schema)
    if members and not any(not any(_problems(member, value, "", root)) for member in members):
        return False
    types = _types(schema)
    if types and not any(_IS.get(name, _anything)(value) for name in types):
        return False
    return all(_holds(key, schema[key], value) for key in _RULES if key in schema)


def _members(schema: Any) -> list[Any]:
    """The members of a choice."""
    return _list(_object(schema).get("anyOf")) or _list(_object(schema).get("oneOf"))


def _types(schema: Mapping[str, Any]) -> list[str]:
    types = schema.get("type")
    return [types] if isinstance(types, str) else [name for name in _list(types) if isinstance(name, str)]


def _holds(key: str, limit: Any, value: Any) -> bool:
    try:
        return _RULES[key](limit, value)
    except TypeError:  # a limit that is none
        return True


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _meant(schema: Any, value: Any, root: Mapping[str, Any]) -> Any:
    """The only member of a choice that is of the value's type: what is wrong is then inside of the value."""
    alike = [member for member in _members(schema) if _fits_itself(_resolved(member, root), value, root)]
    return alike[0] if len(alike) == 1 else None


def _anything(_: Any) -> bool:
    return True


def _same(allowed: Any, value: Any) -> bool:
    return type(allowed) is type(value) and bool(allowed == value)  # 1 is not true


def _found(pattern: str, text: str) -> bool:
    """Whether the pattern is found. Schemas may come from other languages: what is no expression here passes."""
    try:
        return Regex(pattern).matches(text)
    except MatchError:
        return True


_RULES: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "enum": lambda allowed, value: any(_same(one, value) for one in allowed),
    "const": _same,
    "minimum": lambda limit, value: not _number(value) or value >= limit,
    "maximum": lambda limit, value: not _number(value) or value <= limit,
    "exclusiveMinimum": lambda limit, value: not (_number(limit) and _number(value)) or value > limit,
    "exclusiveMaximum": lambda limit, value: not (_number(limit) and _number(value)) or value < limit,
    "minLength": lambda limit, value: not isinstance(value, str) or len(value) >= limit,
    "maxLength": lambda limit, value: not isinstance(value, str) or len(value) <= limit,
    "pattern": lambda text, value: not isinstance(value, str) or _found(text, value),
    "minItems": lambda limit, value: not isinstance(value, list | tuple) or len(value) >= limit,
    "maxItems": lambda limit, value: not isinstance(value, list | tuple) or len(value) <= limit,
}


def _in_object(
    schema: Mapping[str, Any], value: Mapping[str, Any], path: str, root: Mapping[str, Any]
) -> Iterator[str]:
    schema = _object(schema)
    properties = _object(schema.get("properties"))
    for name in _list(schema.get("required")):
        if isinstance(name, str) and name not in value:
            words = _expected(properties.get(name), root)
            yield f"argument {_below(path, name)!r} is missing: expected {words}"
    others = schema.get("additionalProperties", True)
    for name, inner in value.items():
        if name in properties:
            yield from _problems(properties[name], inner, _below(path, name), root)
        elif others is False:
            hint = did_you_mean(str(name), tuple(properties))
            known = hint or (f"known are {', '.join(properties)}" if properties else "there are none")
            yield f"argument {_below(path, name)!r} is not known; {known}"
        elif isinstance(others, Mapping):
            yield from _problems(others, inner, _below(path, name), root)


def _in_list(schema: Mapping[str, Any], value: Any, path: str, root: Mapping[str, Any]) -> Iterator[str]:
    first = _list(_object(schema).get("prefixItems"))
    rest = _object(schema).get("items", True)
    for index, inner in enumerate(value):
        member = first[index] if index < len(first) else rest
        yield from _problems(member, inner, f"{path}[{index}]", root)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _expected(schema: Any, root: Mapping[str, Any]) -> str:
    """A schema in words."""
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping):
        return "anything" if schema is not False else "nothing"
    if _list(schema.get("enum")):
        return f"one of {', '.join(map(repr, schema['enum']))}"
    if "const" in schema:
        return repr(schema["const"])
    members = _members(schema)
    if members:
        return " or ".join(dict.fromkeys(_expected(member, root) for member in members))
    words = " or ".join(_NAMES.get(name, name) for name in _types(schema)) or "anything"
    limits = [f"{key} {schema[key]!r}" for key in _RULES if key in schema]
    return f"{words} ({', '.join(limits)})" if limits else words


def _seen(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f"the text {preview(value, 60)}"
    if isinstance(value, Mapping):
        return f"an object with {preview(', '.join(map(str, value)), 60)}" if value else "an empty object"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else f"the number {value}"
