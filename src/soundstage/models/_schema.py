"""The JSON Schema of script files, for editors and for programs that write scripts.

It is made of the record types, so it cannot differ from what is read. Descriptions are the `Args` of their
docstrings. What a record checks about its fields together is added from tables.
"""

from __future__ import annotations

from typing import Any, Final, get_type_hints

from soundstage.models._conditions import NumberCondition, TextCondition, When
from soundstage.models._reply import BODIES
from soundstage.models._spec import ScriptSpec
from soundstage.scripts import published_schema


def script_schema() -> dict[str, Any]:
    """The form of a script file as JSON Schema, draft 2020-12.

    Example:
        >>> sorted(script_schema()["properties"])[:3]
        ['$schema', 'agents', 'check_signatures']
    """
    top = published_schema(ScriptSpec, "Soundstage script")
    parts = top["$defs"]
    for name, more in _TOGETHER.items():
        parts.get(name, top).update(more)
    conditions = parts["When"]["properties"]
    for name, schema in _condition_types().items():
        conditions[name] = {"description": conditions[name]["description"], **schema}
    parts["RuleSpec"]["properties"]["reply"].update(_ANSWER)
    top["properties"]["default"].update(_ANSWER)
    top["properties"]["rules"]["minItems"] = 1
    parts.update(_CONDITIONS)
    return top


def _condition_types() -> dict[str, dict[str, Any]]:
    """The schema of each condition, by its type."""
    known: tuple[tuple[Any, dict[str, Any]], ...] = (
        (TextCondition | None, _ref("TextCondition")),
        (NumberCondition | None, _ref("NumberCondition")),
        (TextCondition | bool | None, {"anyOf": [_ref("TextCondition"), {"type": "boolean"}]}),
        (
            dict[str, TextCondition] | None,
            {"type": "object", "additionalProperties": _ref("TextCondition"), "minProperties": 1},
        ),
    )
    hints = get_type_hints(When)
    return {name: schema for name in When.__struct_fields__ for kind, schema in known if hints[name] == kind}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _one_of(*fields: str) -> list[dict[str, Any]]:
    return [{"required": [field]} for field in fields]


def _operators(element: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    several = {"type": "array", "items": element, "minItems": 1}
    return {
        "type": "object",
        "properties": {
            "any": several,
            "all": several,
            "not": element,
            "equals": {},
            **more,
        },
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


def _condition(words: str, plain: dict[str, Any], name: str, **more: dict[str, Any]) -> dict[str, Any]:
    several = {"type": "array", "items": _ref(name), "minItems": 1}
    return {"description": words, "anyOf": [plain, several, _operators(_ref(name), more)]}


_CONDITIONS: Final[dict[str, dict[str, Any]]] = {
    "TextCondition": _condition(
        "A text, `/regular expression/flags`, a list of which one must hold, or any, all, not, text, equals.",
        {"type": "string", "minLength": 1},
        "TextCondition",
        text={"type": "string", "minLength": 1},
    ),
    "NumberCondition": _condition(
        "A number from 1, a list of which one must hold, or any, all, not, equals.",
        {"type": "integer", "minimum": 1},
        "NumberCondition",
    ),
}
_ANSWER: Final[dict[str, Any]] = {"anyOf": [{"type": "string", "minLength": 1}, _ref("Reply")]}

_BODIES: Final = ("text", "chunks", "blocks")
_APART: Final = (
    *(("error", other) for other in (*_BODIES, "tool_calls", "fault")),
    ("text", "chunks"),
    ("text", "blocks"),
    ("chunks", "blocks"),
    ("blocks", "tool_calls"),
)
_TOGETHER: Final[dict[str, dict[str, Any]]] = {
    "ScriptSpec": {"not": {"required": ["default", "strict"], "properties": {"strict": {"const": True}}}},
    "Reply": {
        "anyOf": _one_of(*_BODIES, "tool_calls", "error", "fault"),
        "allOf": [{"not": {"required": list(pair)}} for pair in _APART],
    },
    "CallSpec": {"oneOf": _one_of("name", "function")},
    "BlockSpec": {"oneOf": _one_of(*BODIES), "dependentRequired": {"citations": ["text"]}},
}
