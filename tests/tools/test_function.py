"""One way from a function to a tool, for agents and for MCP servers."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents.runtime import tool
from soundstage.errors import ToolDefinitionError
from soundstage.mcp import McpScript
from soundstage.tools import describe_function


def find(query: str, limit: int = 10) -> str:
    """Search the notes.

    Args:
        query: words that a note must have.
        limit: notes at the most.
    """
    return f"{query} {limit}"


def served(function, **options):
    """The tool of a server that a function is."""
    script = McpScript()
    script.function(function, **options)
    (made,) = script.tools.values()
    return made


def test_a_function_is_the_same_tool_for_an_agent_and_on_a_server():
    own, other = tool(find), served(find)
    assert (own.name, own.description, own.schema) == (other.name, other.description, other.schema)
    assert other.description == "Search the notes."
    assert other.schema["properties"]["query"]["description"] == "words that a note must have."
    assert other.schema["properties"]["limit"]["default"] == 10


def test_a_function_without_a_name_or_types_can_be_a_tool():
    described = describe_function(lambda text: text)
    assert described.schema["properties"] == {"text": {}}
    assert described.convert({"text": 3}) == {"text": 3}


def test_a_server_calls_the_function_with_what_was_given_and_its_own_defaults():
    assert asyncio.run(served(find).default({"query": "soup"})).text == "soup 10"


@pytest.mark.parametrize("make", [tool, served])
def test_a_function_that_can_be_no_tool_is_refused_in_the_same_words(make):
    with pytest.raises(ToolDefinitionError, match=r"parameters that can be given by name(.|\n)*\*words"):
        make(lambda *words: words)
