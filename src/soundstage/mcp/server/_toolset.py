"""Tools that a wing offers to agents over MCP, and how the server finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, Protocol

from soundstage.errors import EnvironmentProblem
from soundstage.mcp.server._options import McpOptions
from soundstage.mcp.server._tool import ServedTool
from soundstage.wings import load_target, wings


class ToolUnavailable(EnvironmentProblem):
    """Raised when a tool needs a program that this machine does not have. The client's SDK shows it as an error."""


class ClientState(Protocol):
    """The state of one client, which its tools work with."""

    def resolve(self, kind: type[Any], text: Any) -> Any:
        """Make a value of a class of the wing's own, such as a checked path, of what the client sent.

        The class says in an attribute `schema` what clients are told about it.

        Raises:
            ScriptError: if it may not be, such as a path that leads elsewhere.
            NotImplementedError: for a class that is not the wing's.
        """
        ...

    def note_failure(self, tool: str, error: BaseException) -> None:
        """Put on record that a tool has failed."""
        ...

    async def close(self) -> None:
        """End everything that this client has started. Harmless when repeated."""
        ...


class Toolset(NamedTuple):
    """The tools of one wing. Its record names it: `Wing(tools="soundstage_mailbox:TOOLS")`.

    Args:
        title: how the server is called.
        instructions: what agents are told about the use of these tools.
        tools: each made by `describe`; a function takes the state of its client, then its arguments.
        open: is called once by a server, with its options, and returns a function that makes the state of each client,
            from the client's number.
    """

    title: str
    instructions: str
    tools: Sequence[ServedTool]
    open: Callable[[McpOptions], Callable[[int], ClientState]]


def toolsets() -> tuple[Toolset, ...]:
    """The toolsets of all wings.

    Raises:
        TypeError: if a wing names something else.
        ValueError: if two of them have a tool of one name.
    """
    found = [(wing.name, load_target(wing.tools)) for wing in wings() if wing.tools]
    for name, toolset in found:
        if not isinstance(toolset, Toolset):
            raise TypeError(f"the wing {name!r} names {toolset!r} as its tools: it has to be a Toolset")
    names = [tool.name for _, toolset in found for tool in toolset.tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two wings have tools of one name: {', '.join(twice)}")
    return tuple(toolset for _, toolset in found)


class ClientTools:
    """The tools of one client, each with the state that it works with.

    Args:
        states: of each toolset, its tools and the state.
        closed: is told when the client has gone.
    """

    def __init__(
        self,
        states: Sequence[tuple[Sequence[ServedTool], ClientState]],
        closed: Callable[[ClientTools], object],
    ) -> None:
        self._states = [state for _, state in states]
        self._closed = closed
        self.by_name = {tool.name: (tool, state) for tools, state in states for tool in tools}

    async def close(self) -> None:
        """End what the client has started. Harmless when repeated."""
        async with AsyncExitStack() as last:
            last.callback(self._closed, self)
            for state in self._states:
                last.push_async_callback(state.close)


class ServerTools:
    """The toolsets of one server, and the clients that use them.

    Args:
        sets: what it offers.
        options: those of the server.
    """

    def __init__(self, sets: Sequence[Toolset], options: McpOptions | None = None) -> None:
        self.sets = tuple(sets)
        self._makers = [one.open(options or McpOptions()) for one in sets]
        self._count = 0
        self._clients: set[ClientTools] = set()

    def connect(self) -> ClientTools:
        """The tools of the next client."""
        self._count += 1
        states = [(one.tools, make(self._count)) for one, make in zip(self.sets, self._makers, strict=True)]
        client = ClientTools(states, self._clients.discard)
        self._clients.add(client)
        return client

    async def close(self) -> None:
        """End what all clients have started."""
        async with AsyncExitStack() as last:
            for client in self._clients:
                last.push_async_callback(client.close)
