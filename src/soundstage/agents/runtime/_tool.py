"""A tool: what a model may ask for, and the function that does it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, overload

import msgspec

from soundstage.agents.runtime._contract import PERMISSIONS, AgentDefinition, AgentTask, Permission
from soundstage.agents.runtime._errors import UnknownToolError
from soundstage.clock import Clock
from soundstage.errors import ToolDefinitionError, did_you_mean
from soundstage.journal import FileContent
from soundstage.messages import ToolCall, ToolDefinition
from soundstage.tools import describe_function

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the OpenAI and Anthropic APIs both accept


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a call of a tool. A tool asks for it with a keyword-only `ToolContext` parameter.

    Args:
        agent: who calls.
        task: what the agent is doing.
        call: the call, with its id.
        clock: the run's time.
        within: seconds that the tool has.
        changed: tells that a file is different now: its path, and its content before and after, or the
            sha256 of a large one; None where it did not exist, empty where it is not known.
        on_stop: has a function called when the tool must end at once: its time is up, or the task is aborted.
    """

    agent: AgentDefinition
    task: AgentTask
    call: ToolCall
    clock: Clock
    within: float
    changed: Callable[[str, FileContent, FileContent], None]
    on_stop: Callable[[Callable[[], None]], None]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool. `tool` makes one of a function; this is for those whose schema comes from elsewhere.

    Args:
        name: letters, digits, `_` and `-`, at most 64.
        description: what it does; the model decides by it.
        schema: JSON Schema of the arguments, an object.
        permissions: what an agent must be permitted to do.
        call: a function, or an `async` one, that takes the arguments by name.
        timeout: seconds for one call, if it has a limit of its own.
        ends: whether a successful call ends the task: the model is not asked again.
        context: the parameter that takes the `ToolContext`, if there is one.
        convert: from checked JSON to the arguments of `call`.

    Raises:
        ToolDefinitionError: if a field has a value that no tool can have.

    Example:
        >>> ping = Tool(name="ping", description="Answers.", call=lambda: "pong")
        >>> ping.definition.name
        'ping'
    """

    name: str
    description: str = ""
    schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    permissions: frozenset[Permission] = frozenset()
    call: Callable[..., Any]
    timeout: float | None = None
    ends: bool = False
    context: str = ""
    convert: Callable[[Mapping[str, Any]], dict[str, Any]] = dict

    def __post_init__(self) -> None:
        for wrong, expected, seen in (
            (not _NAME.fullmatch(self.name), "a name of 1 to 64 letters, digits, _ and -", repr(self.name)),
            (not callable(self.call), "a function to call", repr(self.call)),
            (self.schema.get("type") != "object", "a schema of an object", repr(self.schema)[:80]),
            (self.timeout is not None and not self.timeout > 0, "a timeout over 0 s", repr(self.timeout)),
            (
                not set(self.permissions) <= set(PERMISSIONS),
                f"permissions out of {', '.join(PERMISSIONS)}",
                ", ".join(sorted(self.permissions)),
            ),
        ):
            if wrong:
                raise ToolDefinitionError("this cannot be a tool", expected=expected, seen=seen)

    @property
    def definition(self) -> ToolDefinition:
        """The definition that the model gets."""
        return ToolDefinition(name=self.name, description=self.description, schema=self.schema)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    permissions: Iterable[Permission] | Permission = (),
    timeout: float | None = None,
    ends: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    permissions: Iterable[Permission] | Permission = (),
    timeout: float | None = None,
    ends: bool = False,
) -> Any:
    """Make a tool of a function: its arguments from the signature, the words from the docstring.

    Args:
        function: the function, where `tool` is used without arguments.
        name: the tool's name; the function's unless given.
        description: the docstring's first part unless given.
        permissions: what an agent must be permitted to do: one, or several.
        timeout: seconds for one call.
        ends: whether a successful call ends the task: the model is not asked again.

    Raises:
        ToolDefinitionError: if a parameter cannot be an argument in JSON.

    Example:
        >>> @tool(permissions="read")
        ... def lines(path: str, limit: int = 10) -> str:
        ...     '''Show the first lines of a file.
        ...
        ...     Args:
        ...         path: where it is.
        ...     '''
        ...     return path
        >>> lines.schema["properties"]["path"]
        {'type': 'string', 'description': 'where it is.'}
        >>> lines.schema["required"]
        ['path']
    """
    needed = frozenset((permissions,) if isinstance(permissions, str) else permissions)

    def make(function: Callable[..., Any]) -> Tool:
        described = describe_function(function, ToolContext)
        return Tool(
            name=name or described.name,
            description=description or described.description,
            schema=described.schema,
            permissions=needed,
            call=function,
            timeout=timeout,
            ends=ends,
            context=described.context,
            convert=described.convert,
        )

    return make if function is None else make(function)


class ToolRegistry(Mapping[str, Tool]):
    """Tools by name, in the order in which they were given.

    Args:
        tools: the tools; functions are made tools.

    Raises:
        ToolDefinitionError: if two have one name.

    Example:
        >>> tools = ToolRegistry([Tool(name="ping", call=lambda: "pong")])
        >>> list(tools)
        ['ping']
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for given in tools:
            made = given if isinstance(given, Tool) else tool(given)
            if made.name in self._tools:
                raise ToolDefinitionError(
                    f"two tools have the name {made.name!r}", hint="give one of them another: tool(name=...)"
                )
            self._tools[made.name] = made

    def __getitem__(self, name: str) -> Tool:
        found = self._tools.get(name)
        if found is None:
            raise UnknownToolError(
                f"there is no tool {name!r}",
                expected=f"one of {', '.join(self._tools)}"
                if self._tools
                else "a tool; there is none at all",
                hint=did_you_mean(name, tuple(self._tools)),
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)
