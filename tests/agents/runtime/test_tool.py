"""A function becomes a tool: its schema comes from its signature, its words from its docstring."""

from __future__ import annotations

import datetime as dt
import enum
import keyword
from dataclasses import dataclass
from typing import Annotated, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents.runtime import Tool, ToolContext, tool
from soundstage.errors import ToolDefinitionError


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


def everything(
    path: str,
    count: Annotated[int, msgspec.Meta(ge=1)],
    mode: Literal["fast", "slow"] = "fast",
    points: list[Point] | None = None,
    day: dt.date | None = None,
    colour: Colour = Colour.RED,
    anything=None,
    *,
    dry: bool = False,
    context: ToolContext,
) -> str:
    """Do everything, at once.

    And say more about it.

    Args:
        path: where it is,
            in two lines.
        count (int): how often.
        mode: fast
            or slow.

    Returns:
        nothing: at all.
    """
    return repr((path, count, mode, points, day, colour, anything, dry))


def test_names_words_and_types_come_from_the_function():
    made = tool(everything)
    assert made.name == "everything"
    assert made.description == "Do everything, at once.\n\nAnd say more about it."
    properties = made.schema["properties"]
    assert properties["path"] == {"type": "string", "description": "where it is, in two lines."}
    assert properties["count"] == {"type": "integer", "minimum": 1, "description": "how often."}
    assert properties["mode"] == {"enum": ["fast", "slow"], "description": "fast or slow.", "default": "fast"}
    assert properties["colour"]["default"] == "red"
    assert properties["dry"] == {"type": "boolean", "default": False}
    assert made.schema["required"] == ["path", "count"]
    assert made.schema["additionalProperties"] is False
    assert list(properties) == ["path", "count", "mode", "points", "day", "colour", "anything", "dry"]
    assert made.context == "context"
    jsonschema.Draft202012Validator.check_schema(made.schema)


def test_arguments_are_converted_to_the_types_of_the_parameters():
    made = tool(everything)
    given_ = {"path": "a", "count": 2, "points": [{"x": 1}], "day": "2026-01-02", "colour": "red"}
    assert made.convert(given_) == {
        "path": "a",
        "count": 2,
        "points": [Point(1, 0)],
        "day": dt.date(2026, 1, 2),
        "colour": Colour.RED,
    }


def test_the_factory_takes_names_words_permissions_and_a_limit():
    made = tool(name="do-it", description="Does it.", permissions=("read", "web"), timeout=3)(everything)
    assert (made.name, made.description, made.timeout) == ("do-it", "Does it.", 3)
    assert made.permissions == {"read", "web"}
    assert made.definition.schema is made.schema
    assert tool(permissions="execute")(everything).permissions == {"execute"}


def unnameable(*paths: str): ...


def any_keyword(**more: str): ...


def by_position(path: str, /): ...


def strange(path: complex | type): ...


def open_context(context: ToolContext): ...


def unknown_type(path: Nowhere): ...  # noqa: F821


@pytest.mark.parametrize(
    ("function", "seen"),
    [
        (unnameable, r"\*paths"),
        (any_keyword, r"\*\*more"),
        (by_position, "path"),
        (strange, "not supported"),
        (open_context, "keyword-only"),
        (unknown_type, "Nowhere"),
    ],
)
def test_a_function_whose_arguments_json_cannot_say_is_refused(function, seen):
    with pytest.raises(ToolDefinitionError, match=seen):
        tool(function)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "two words"},
        {"name": ""},
        {"name": "x" * 65},
        {"call": "not a function"},
        {"schema": {"type": "array"}},
        {"timeout": 0},
        {"permissions": frozenset({"fly"})},
    ],
)
def test_a_tool_with_a_field_that_none_can_have_is_refused(fields):
    with pytest.raises(ToolDefinitionError, match="this cannot be a tool"):
        Tool(**{"name": "fine", "call": lambda: None, **fields})


def test_a_callable_object_can_be_a_tool():
    class Adder:
        def __call__(self, a: int, b: int = 1) -> int:
            """Add."""
            return a + b

    assert tool(name="add")(Adder()).schema["required"] == ["a"]


NAMES = st.from_regex(r"[a-z][a-z_0-9]{0,8}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
TYPES = st.sampled_from([str, int, float, bool, list[str], dict[str, int], str | None, Literal["a", "b"]])
VALUES = {
    str: "x", int: 3, float: 2.5, bool: True, list[str]: ["a"], dict[str, int]: {"k": 1}, str | None: None,
    Literal["a", "b"]: "a",
}  # fmt: skip


@given(st.dictionaries(NAMES, st.tuples(TYPES, st.booleans()), max_size=6))
def test_every_signature_gives_a_valid_schema_that_its_own_values_fit(parameters):
    required = {name: kind for name, (kind, optional) in parameters.items() if not optional}
    optional = {name: kind for name, (kind, optional) in parameters.items() if optional}
    namespace = {}
    signature = ", ".join([*required, *(f"{name}=None" for name in optional)])
    exec(f"def made({signature}): return dict(locals())", namespace)
    function = namespace["made"]
    function.__annotations__ = {**required, **optional}
    made = tool(function)
    values = {name: VALUES[kind] for name, kind in required.items()}
    jsonschema.Draft202012Validator(made.schema).validate(values)
    assert made.convert(values) == values
    assert function(**made.convert(values)) == {**values, **dict.fromkeys(optional)}
    assert set(made.schema.get("required", ())) == set(required)
