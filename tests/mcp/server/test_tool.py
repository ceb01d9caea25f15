"""Tools as descriptions of functions: schemas, arguments, envelopes."""

from __future__ import annotations

import asyncio
from typing import Annotated, ClassVar, TypedDict

import pytest
from msgspec import Meta

from soundstage.errors import EnvironmentProblem, ScriptError, ToolDefinitionError
from soundstage.mcp.server._tool import describe, envelope


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


def test_arguments_that_are_not_sent_are_those_of_the_function() -> None:
    assert asyncio.run(greet(None, **TOOL.read({"name": "Ann"})))["greeting"] == "hello Ann"
    assert asyncio.run(greet(None, **TOOL.read({"name": "Ann", "times": 2})))["greeting"] == "hello Ann" * 2


class Folder:
    """A class that only the state of a client can make."""

    schema: ClassVar = {"type": "string", "minLength": 1}

    def __init__(self, text: str) -> None:
        self.text = text


async def enter(harness: object, folder: Folder | None = None) -> Greeted:
    """Enter."""
    return {"status": "success", "greeting": folder.text if folder else "nowhere"}


def test_a_class_of_the_wing_says_its_schema_and_is_made_by_the_state_of_the_client() -> None:
    tool = describe("Places", enter)
    assert {"type": "string", "minLength": 1} in tool.input_schema()["properties"]["folder"]["anyOf"]
    made = tool.read({"folder": "here"}, lambda kind, text: kind(text))
    assert made["folder"].text == "here"
    assert tool.read({"folder": None}) == {"folder": None}


def test_a_function_that_can_be_no_tool_is_refused_as_everywhere() -> None:
    async def shout(harness: object, *words: str) -> Greeted:
        raise AssertionError

    with pytest.raises(ToolDefinitionError, match="parameters that can be given by name"):
        describe("Manners", shout)


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ({}, "name"),
        ({"name": ""}, "argument 'name': expected a text (minLength 1)"),
        ({"name": 3}, "argument 'name': expected a text (minLength 1), seen the number 3"),
        ({"name": "Ann", "times": 0}, "times"),
        ({"name": 3, "times": 0}, "argument 'times': expected a whole number (minimum 1)"),
        ({"name": "Ann", "tiems": 2}, "'tiems' is not known"),
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
