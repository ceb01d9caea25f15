"""The JSON Schema of script files, for editors and for programs that write scripts.

It is made of the record types, so it cannot differ from what is read. Descriptions are the `Args` of their docstrings.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Final

import msgspec

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def published_schema(kind: type[msgspec.Struct], title: str) -> dict[str, Any]:
    """The form of a script file as JSON Schema, draft 2020-12.

    Args:
        kind: the record of the whole file.
        title: of the schema.
    """
    _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for part in parts.values():
        _describe(part)
        _tidy(part)
    top = {**parts.pop(kind.__name__), "title": title}
    return {"$schema": DIALECT, **top, "$defs": parts}


def _describe(part: dict[str, Any]) -> None:
    """Split a docstring: its text describes the record, its `Args` the fields."""
    text, _, arguments = inspect.cleandoc(part["description"]).partition("Args:")
    part["description"] = " ".join(text.split())
    for entry in re.split(r"\n    (?! )", arguments):
        name, _, words = entry.partition(":")
        for key in (name.strip(), f"${name.strip()}"):
            if key in part["properties"]:
                part["properties"][key]["description"] = " ".join(words.split())


def _tidy(part: dict[str, Any]) -> None:
    """A key that may be absent may not be null: a condition without a value would hold for everything."""
    part["additionalProperties"] = False
    for schema in part["properties"].values():
        members = [member for member in schema.get("anyOf", ()) if member != {"type": "null"}]
        if len(members) == 1:
            schema.pop("anyOf")
            schema.update(members[0])
        elif members:
            schema["anyOf"] = members
        if schema.get("default", "") is None:
            schema.pop("default")
