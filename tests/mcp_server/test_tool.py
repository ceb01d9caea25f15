"""Tools as descriptions of functions: schemas, arguments, envelopes."""

from __future__ import annotations

from typing import Annotated, TypedDict

import pytest
from msgspec import Meta

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.mcp_server._tool import describe, envelope


class Greeted(TypedDict):
    status: str
    greeting: str


Name = Annotated[str, Meta(min_length=1, description="Who.", examples=["Ann"])]


async def greet(harness: object, name: Name, times: Annotated[int, Meta(ge=1)] = 1) -> Greeted:
    """Greet somebody."""
    return {"status": "success", "greeting": f"hello {name}" * times}


TOOL = describe("Manners", greet, {"greeted": False})


def test_the_schema_of_a_tool_is_the_signature_of_its_function() -> None:
    assert TOOL.input_schema() == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Who.", "examples": ["Ann"]},
            "times": {"type": "integer", "minimum": 1, "default": 1},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert (TOOL.name, TOOL.category, TOOL.description) == ("greet", "Manners", "Greet somebody.")


def test_the_result_of_a_tool_is_its_annotation_or_an_envelope() -> None:
    schema = TOOL.output_schema()
    assert TOOL.keys == ("status", "greeting")
    assert set(schema["properties"]) == {"status", "greeting", "error"}
    assert schema["required"] == ["status"]


def test_arguments_are_read_with_their_defaults() -> None:
    assert TOOL.read({"name": "Ann"}) == {"name": "Ann", "times": 1}


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ({}, "name"),
        ({"name": ""}, "length"),
        ({"name": 3}, "str"),
        ({"name": "Ann", "times": 0}, "times"),
        ({"name": "Ann", "tiems": 2}, "tiems"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_signature(
    arguments: dict[str, object], seen: str
) -> None:
    with pytest.raises(ScriptError, match=r"greet\(name, times=1\)") as caught:
        TOOL.read(arguments)
    assert seen in caught.value.seen


def test_an_envelope_has_the_parts_of_an_error_and_the_keys_of_its_tool() -> None:
    found = envelope(TOOL, EnvironmentProblem("no CLI", hint="install it"))
    assert found == {"status": "error", "error": "no CLI\n  next step: install it", "greeted": False}
    assert envelope(TOOL, KeyError("x"))["error"] == "KeyError: 'x'"
