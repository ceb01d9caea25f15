"""The agents of a team by name, checked against the tools that there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from soundstage.agents.runtime._contract import PERMISSIONS, AgentDefinition
from soundstage.agents.runtime._errors import AgentDefinitionError, AgentProblem, UnknownAgentError
from soundstage.agents.runtime._tool import Tool, ToolRegistry
from soundstage.errors import did_you_mean

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")


class AgentRegistry(Mapping[str, AgentDefinition]):
    """Agents by slug, in the order in which they were given.

    A definition is refused if it names a tool that does not exist, if a tool needs a permission that the agent
    does not have (the model would be offered a tool that is always denied), and if it has a permission that
    none of its tools needs.

    Args:
        definitions: the agents.
        tools: the tools that there are.

    Raises:
        AgentDefinitionError: with everything that is wrong with all of them.

    Example:
        >>> tools = ToolRegistry([Tool(name="look", permissions=frozenset({"read"}), call=lambda: "")])
        >>> looker = AgentDefinition(slug="looker", tools=("look",), permissions=frozenset({"read"}))
        >>> AgentRegistry([looker], tools)["looker"].tools
        ('look',)
    """

    def __init__(
        self, definitions: Iterable[AgentDefinition], tools: ToolRegistry | Iterable[Tool] = ()
    ) -> None:
        given = tuple(definitions)
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self._agents = {definition.slug: definition for definition in given}
        problems = [*_twins(given), *(problem for one in given for problem in _problems(one, self.tools))]
        if problems:
            raise AgentDefinitionError(problems)

    def __getitem__(self, slug: str) -> AgentDefinition:
        found = self._agents.get(slug)
        if found is None:
            raise UnknownAgentError(
                f"there is no agent {slug!r}",
                expected=f"one of {', '.join(self._agents)}"
                if self._agents
                else "an agent; there is none at all",
                hint=did_you_mean(slug, tuple(self._agents)),
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)

    def tools_of(self, slug: str) -> tuple[Tool, ...]:
        """The tools of an agent, in the order of its definition.

        Raises:
            UnknownAgentError: if there is no such agent.
        """
        return tuple(self.tools[name] for name in self[slug].tools)


def _twins(definitions: tuple[AgentDefinition, ...]) -> Iterator[AgentProblem]:
    slugs = [definition.slug for definition in definitions]
    for slug in dict.fromkeys(slugs):
        if slugs.count(slug) > 1:
            yield AgentProblem(slug, "slug", f"{slugs.count(slug)} agents have it; give each its own")


def _problems(agent: AgentDefinition, tools: ToolRegistry) -> Iterator[AgentProblem]:
    for field, wrong, message in _FIELDS:
        if wrong(agent):
            yield AgentProblem(agent.slug, field, message)
    texts = [field for field in ("tools", "permissions") if isinstance(getattr(agent, field), str)]
    if texts:  # each letter would be a problem of its own
        yield from (AgentProblem(agent.slug, field, "a text; give a collection of names") for field in texts)
        return
    for name in dict.fromkeys(agent.tools):
        yield from _tool_problems(agent, name, tools)
    needed = {need for name in agent.tools if name in tools for need in tools[name].permissions}
    for permission in sorted(agent.permissions - needed):
        if permission not in PERMISSIONS:
            message = f"{permission!r} is none; there are {', '.join(PERMISSIONS)}"
        else:
            message = f"no tool of it needs {permission!r}; take it away, or give the agent such a tool"
        yield AgentProblem(agent.slug, "permissions", message)


def _tool_problems(agent: AgentDefinition, name: str, tools: ToolRegistry) -> Iterator[AgentProblem]:
    if name not in tools:
        hint = did_you_mean(name, tuple(tools)) or f"there are {', '.join(tools) or 'none'}"
        yield AgentProblem(agent.slug, "tools", f"there is no tool {name!r}; {hint}")
        return
    if agent.tools.count(name) > 1:
        yield AgentProblem(agent.slug, "tools", f"{name!r} is listed {agent.tools.count(name)} times")
    for permission in sorted(tools[name].permissions - agent.permissions):
        message = f"{name!r} needs {permission!r}, which the agent lacks; grant it, or take the tool away"
        yield AgentProblem(agent.slug, "tools", message)


_FIELDS: Final[tuple[tuple[str, Callable[[AgentDefinition], bool], str], ...]] = (
    ("slug", lambda agent: not _SLUG.fullmatch(agent.slug), "use lower case letters, digits, - and _"),
    ("max_turns", lambda agent: agent.max_turns < 1, "an agent needs at least one turn"),
    ("timeout", lambda agent: not 0 < agent.timeout < float("inf"), "give more than 0 seconds"),
    ("max_timeout", lambda agent: not 0 < agent.max_timeout < float("inf"), "give more than 0 seconds"),
    (
        "max_output_tokens",
        lambda agent: agent.max_output_tokens is not None and agent.max_output_tokens < 1,
        "give at least 1, or none",
    ),
)
