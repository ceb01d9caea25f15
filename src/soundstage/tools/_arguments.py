"""Checks arguments against a JSON Schema, in words that a model can act on. Pure.

`jsonschema` decides, by the keywords of JSON Schema 2020-12. The tools of users bring schemas from elsewhere, so a
keyword with a value that it cannot have, an unknown type and a reference to nothing let pass; `nullable` is read as
OpenAPI has it, `oneOf` as `anyOf`, and patterns by our own engine, whose time is bounded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any, Final

from soundstage.errors import MatchError, did_you_mean
from soundstage.match import Regex, preview

_SHOWN: Final = 8  # problems in one message
_LOOKED_AT: Final = 200
_NAMES: Final = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_LIMITS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "contains"),
    *("propertyNames", "dependentRequired", "not"),
)
_Keyword = Callable[[Any, Any, Any, Any], Iterable[Any] | None]


def argument_problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """List the problems of arguments: which one, what was expected, what was seen. Empty if there is none.

    >>> schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    >>> argument_problems(schema, {"path": 3})
    ["argument 'path': expected a text, seen the number 3"]
    """
    from jsonschema_specifications import REGISTRY

    root = {
        key: value for key, value in schema.items() if key != "$schema"
    }  # it would choose another dialect
    errors = _tolerant(lambda validator, _, value, __: validator.iter_errors(value))
    validator = _dialect()(root, registry=REGISTRY)  # the default one fetches references from the network
    found = list(islice(errors(validator, None, arguments, root), _LOOKED_AT))
    wrong = {tuple(error.path) for error in found if not hasattr(error, "words")}
    told = (
        problem
        for error in found
        if not any(tuple(error.path)[:depth] in wrong for depth in range(len(error.path)))
        for problem in _told(error, root)
    )
    return list(islice(dict.fromkeys(told), _SHOWN))


@functools.cache
def _dialect() -> Any:
    """The class of validators; made when it is needed, because the library takes a tenth of a second to load."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    own: dict[str, _Keyword] = {
        **Draft202012Validator.VALIDATORS,
        "type": _type,
        "pattern": _pattern,
        "required": _required,
        "additionalProperties": _additional,
        "items": _items,
        "properties": _properties,
        "oneOf": Draft202012Validator.VALIDATORS["anyOf"],
    }
    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "number": lambda _, value: _number(value),
            "integer": lambda _, value: _number(value) and float(value).is_integer(),
            "array": lambda _, value: isinstance(value, list | tuple),
            "object": lambda _, value: isinstance(value, Mapping),
        }
    )
    return extend(
        Draft202012Validator, {key: _tolerant(check) for key, check in own.items()}, type_checker=types
    )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _tolerant(check: _Keyword) -> Callable[[Any, Any, Any, Any], Iterator[Any]]:
    """Let a keyword pass that cannot be checked; and null, where the schema says that it may be."""

    def tolerant(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if value is None and isinstance(schema, Mapping) and schema.get("nullable") is True:
            return
        try:
            yield from check(validator, wanted, value, schema) or ()
        except Exception:  # noqa: BLE001  (whatever a foreign schema does to the library)
            return

    return tolerant


def _error(text: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(text)


def _error_below(step: str | int, words: str, schema: Any = None) -> Any:
    """An error about a property or an item that must be there, or must not."""
    from jsonschema import ValidationError

    error = ValidationError(words, path=(step,))
    error.words, error.wanted = words, schema
    return error


def _descend(validator: Any, value: Any, schema: Any, step: str | int) -> Iterator[Any]:
    if schema is False:  # the library tells it of the whole
        yield _error_below(step, f": expected nothing, seen {_seen(value)}")
    else:
        yield from validator.descend(value, schema, path=step)


def _properties(validator: Any, described: Any, value: Any, _: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        for name, schema in described.items():
            if name in value:
                yield from _descend(validator, value[name], schema, name)


def _type(validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[Any]:
    names = [wanted] if isinstance(wanted, str) else [name for name in wanted if isinstance(name, str)]
    known = [name for name in names if name in _NAMES]
    if known == names and names and not any(validator.is_type(value, name) for name in names):
        yield _error("type")


def _pattern(validator: Any, pattern: Any, value: Any, _: Any) -> Iterator[Any]:
    try:
        if validator.is_type(value, "string") and not Regex(pattern).matches(value):
            yield _error("pattern")
    except MatchError:  # schemas may come from other languages
        return


def _required(validator: Any, names: Any, value: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        described = _object(schema.get("properties"))
        for name in names:
            if isinstance(name, str) and name not in value:
                yield _error_below(name, " is missing: expected", described.get(name, True))


def _additional(validator: Any, others: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    described = _object(schema.get("properties"))
    patterns = [Regex(pattern) for pattern in _object(schema.get("patternProperties"))]
    for name, inner in value.items():
        if name in described or any(pattern.matches(str(name)) for pattern in patterns):
            continue
        if others is False:
            hint = did_you_mean(str(name), tuple(described))
            known = hint or (f"known are {', '.join(described)}" if described else "there are none")
            yield _error_below(name, f" is not known; {known}")
        else:
            yield from _descend(validator, inner, others, name)


def _items(validator: Any, rest: Any, value: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "array"):
        for index in range(len(_list(schema.get("prefixItems"))), len(value)):
            yield from _descend(validator, value[index], rest, index)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _told(error: Any, root: Mapping[str, Any], within: tuple[Any, ...] = ()) -> Iterator[str]:
    """The problem of an error, in words; for a choice of which one member is meant, those inside of the value."""
    path = (*within, *error.relative_path)
    name = _path(path)
    if hasattr(error, "words"):
        wanted = f" {_expected(error.wanted, root)}" if error.words.endswith("expected") else ""
        yield f"argument {name!r}{error.words}{wanted}"
    elif meant := _meant(error):
        for inner in meant:
            yield from _told(inner, root, path)
    else:
        yield f"argument {name!r}: expected {_expected(error.schema, root)}, seen {_seen(error.instance)}"


def _meant(error: Any) -> list[Any]:
    """The errors of the only member of a choice that is of the value's type: they are inside of the value."""
    if error.validator not in ("anyOf", "oneOf"):
        return []
    members = [list(errors) for _, errors in groupby(error.context, key=lambda one: one.schema_path[0])]
    alike = [errors for errors in members if all(one.relative_path for one in errors)]
    return alike[0] if len(alike) == 1 else []


def _path(steps: Iterable[Any]) -> str:
    """A place in the arguments.

    >>> _path(["points", 1, "x"])
    'points[1].x'
    """
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema behind references."""
    for _ in range(32):  # a reference to itself says nothing
        reference = _object(schema).get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = root
        for step in reference.removeprefix("#").strip("/").split("/"):
            schema = _object(schema).get(step, {}) if step else schema
    return {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _expected(schema: Any, root: Mapping[str, Any]) -> str:
    """A schema in words."""
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping):
        return "anything" if schema is not False else "nothing"
    if _list(schema.get("enum")):
        return f"one of {', '.join(map(repr, schema['enum']))}"
    if "const" in schema:
        return repr(schema["const"])
    members = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    if members:
        return " or ".join(dict.fromkeys(_expected(member, root) for member in members))
    types = schema.get("type")
    names = [types] if isinstance(types, str) else [name for name in _list(types) if isinstance(name, str)]
    words = " or ".join(_NAMES.get(name, name) for name in names) or "anything"
    limits = [f"{key} {schema[key]!r}" for key in _LIMITS if key in schema]
    return f"{words} ({', '.join(limits)})" if limits else words


def _seen(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return f"the text {preview(value, 60)}"
    if isinstance(value, Mapping):
        return f"an object with {preview(', '.join(map(str, value)), 60)}" if value else "an empty object"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else f"the number {value}"
