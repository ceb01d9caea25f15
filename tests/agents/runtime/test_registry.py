"""Agents and tools by name: everything wrong with a team is said at once."""

from __future__ import annotations

import pickle

import pytest

from soundstage.agents.runtime import (
    AgentDefinition,
    AgentDefinitionError,
    AgentRegistry,
    Tool,
    ToolRegistry,
    UnknownAgentError,
    UnknownToolError,
)
from soundstage.errors import ToolDefinitionError


def make(name, *permissions):
    return Tool(name=name, permissions=frozenset(permissions), call=lambda: "")


TOOLS = ToolRegistry(
    [make("read_file", "read"), make("web_fetch", "web"), make("bash", "execute"), make("note")]
)


def agent(slug, tools="", permissions="", **more):
    return AgentDefinition(
        slug=slug, tools=tuple(tools.split()), permissions=frozenset(permissions.split()), **more
    )


def problems(*agents):
    with pytest.raises(AgentDefinitionError) as caught:
        AgentRegistry(agents, TOOLS)
    return [(one.agent, one.field, one.message) for one in caught.value.problems]


def test_agents_are_found_by_slug_and_keep_their_order():
    team = AgentRegistry([agent("search", "read_file", "read"), agent("plain")], TOOLS)
    assert list(team) == ["search", "plain"]
    assert team["search"].permissions == {"read"}
    assert [tool.name for tool in team.tools_of("search")] == ["read_file"]


def test_an_unknown_agent_is_a_key_error_that_names_the_known_and_the_nearest():
    team = AgentRegistry([agent("search"), agent("review")])
    with pytest.raises(UnknownAgentError) as caught:
        team["serch"]
    assert isinstance(caught.value, KeyError)
    assert "search, review" in str(caught.value)
    assert "did you mean 'search'?" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert team.get("serch") is None


def test_an_agent_that_holds_a_tool_without_its_permission_is_refused():
    assert problems(agent("docs", "read_file web_fetch", "read")) == [
        ("docs", "tools", "'web_fetch' needs 'web', which the agent lacks; grant it, or take the tool away")
    ]


def test_a_permission_that_no_tool_needs_is_refused():
    (found,) = problems(agent("docs", "read_file note", "read execute"))
    assert found[:2] == ("docs", "permissions")
    assert "'execute'" in found[2]


def test_a_tool_that_does_not_exist_is_refused_with_the_nearest_name():
    (found,) = problems(agent("docs", "read_fil"))
    assert found == ("docs", "tools", "there is no tool 'read_fil'; did you mean 'read_file'?")


def test_a_text_in_the_place_of_names_is_one_problem_and_not_one_for_each_letter():
    found = problems(AgentDefinition(slug="docs", tools="read_file", permissions="read"))
    message = "a text; give a collection of names"
    assert found == [("docs", "tools", message), ("docs", "permissions", message)]


def test_all_problems_of_all_agents_are_said_at_once():
    found = problems(
        agent("Bad Slug"),
        agent("one", "nothing bash", max_turns=0, timeout=0.0, max_timeout=float("inf"), max_output_tokens=0),
        agent("two", "read_file read_file", "read fly"),
        agent("two"),
    )
    assert {(slug, field) for slug, field, _ in found} == {
        ("Bad Slug", "slug"),
        ("one", "max_turns"),
        ("one", "timeout"),
        ("one", "max_timeout"),
        ("one", "max_output_tokens"),
        ("one", "tools"),
        ("two", "tools"),
        ("two", "permissions"),
        ("two", "slug"),
    }
    assert len(found) == 10


def test_an_unknown_tool_is_a_key_error_that_names_the_known_ones():
    with pytest.raises(UnknownToolError, match="did you mean 'bash'"):
        TOOLS["basch"]
    with pytest.raises(KeyError, match="there is none at all"):
        ToolRegistry()["bash"]


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ToolDefinitionError, match="two tools have the name 'bash'"):
        ToolRegistry([make("bash"), make("bash")])


def test_functions_in_a_registry_become_tools():
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    assert ToolRegistry([shout])["shout"].description == "Say it loudly."
