"""Whether the arguments of a call fit the tool's schema, as far as servers usually look. Pure.

Looked at: which arguments must and may be there, and the type and the values of each. What is deeper is not; a
tool that needs more is a Python function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def wrong_argument(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong, in the words that servers use; empty if nothing is.

    >>> wrong_argument({"required": ["query"]}, {})
    "Input validation error: 'query' is a required property"
    """
    reason = _missing(schema, arguments) or _unexpected(schema, arguments) or _mistyped(schema, arguments)
    return f"Input validation error: {reason}" if reason else ""


def _missing(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    missing = (name for name in required if isinstance(name, str) and name not in arguments)
    return next((f"{name!r} is a required property" for name in missing), "")


def _unexpected(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    if schema.get("additionalProperties") is not False:
        return ""
    known = schema.get("properties", {})
    unknown = next((name for name in arguments if name not in known), None)
    return "" if unknown is None else f"additional properties are not allowed ({unknown!r} was unexpected)"


def _mistyped(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    known = schema.get("properties", {})
    for name, value in arguments.items():
        wanted = known.get(name)
        if isinstance(wanted, Mapping) and (reason := _unfit(wanted, value)):
            return f"{name}: {value!r} {reason}"
    return ""


def _unfit(wanted: Mapping[str, Any], value: Any) -> str:
    kinds = wanted.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and kinds and not any(_is(kind, value) for kind in kinds):
        return f"is not of type {' or '.join(map(repr, kinds))}"
    choices = wanted.get("enum")
    if isinstance(choices, list) and value not in choices:
        return f"is not one of {choices!r}"
    return ""


def _is(kind: Any, value: Any) -> bool:
    types = _TYPES.get(kind) if isinstance(kind, str) else None
    if types is None:
        return True
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types) or (kind == "integer" and isinstance(value, float) and value.is_integer())
