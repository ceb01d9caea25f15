"""The answer to a side request that no rule is for: `ok`, or the simplest JSON that it allows. Pure.

Clients that ask a model beside the agent's steps (to route, to check for loops) demand JSON of a schema, and ask again
and again if they get something else. Where the schema leaves the choice, the answer says the least: the first of an
enumeration, `false`, 0 for a number, 1 for a whole number, no more items than there have to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from soundstage.messages import ModelRequest
from soundstage.models._reply import Reply

SIDE_TEXT: Final = "ok"
_PLACES: Final = (  # where the four formats keep the schema of an answer
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
)
_JSON: Final = (  # and where they ask for JSON without a schema
    (("response_format", "type"), "json_object"),
    (("text", "format", "type"), "json_object"),
    (("generationConfig", "responseMimeType"), "application/json"),
)
_DEEPEST: Final = 32


def side_reply(request: ModelRequest) -> Reply:
    """The reply to a side request.

    Args:
        request: it; its settings say whether it demands JSON.
    """
    schema = next(
        (found for place in _PLACES if isinstance(found := _at(request.settings, place), dict)), None
    )
    if schema is None and any(_at(request.settings, place) == value for place, value in _JSON):
        schema = {"type": "object"}
    if schema is None:
        return Reply(text=SIDE_TEXT)
    return Reply(text=msgspec.json.encode(simplest(schema, schema)).decode())


def _at(value: Any, place: tuple[str, ...]) -> Any:
    for name in place:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def simplest(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """A simple value that a JSON Schema allows, as far as types, enumerations and least sizes say so.

    Args:
        schema: the schema; Gemini's types in capitals are understood.
        root: the whole, for references into it.
        depth: how far down this one is.

    >>> simplest({"type": "OBJECT", "properties": {"score": {"type": "INTEGER"}}, "required": ["score"]}, {})
    {'score': 1}
    """
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return SIDE_TEXT
    if isinstance(reference := schema.get("$ref"), str):
        return simplest(_at(root, tuple(reference.removeprefix("#/").split("/"))), root, depth + 1)
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    for name in ("enum", "anyOf", "oneOf", "allOf"):
        members = schema.get(name)
        if isinstance(members, list) and members:
            return members[0] if name == "enum" else simplest(members[0], root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    kind = kind.lower() if isinstance(kind, str) else "string"
    if kind == "object":
        properties = schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required", list(known))
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        return {name: simplest(known.get(name), root, depth + 1) for name in names}
    if kind == "array":
        least = schema.get("minItems", 0)
        count = min(int(least), 100) if isinstance(least, int | str) and str(least).isdecimal() else 0
        return [simplest(schema.get("items"), root, depth + 1) for _ in range(count)]
    least = schema.get("minimum")
    number = least if isinstance(least, int | float) else None
    simple = {
        "integer": 1 if number is None else number,
        "number": number or 0,
        "boolean": False,
        "null": None,
    }
    return simple.get(kind, SIDE_TEXT)
