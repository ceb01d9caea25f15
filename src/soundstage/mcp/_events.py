"""The events between MCP clients and a server of the world.

A call of a tool is an `McpToolCalled` and an `McpToolReturned`, never a `ToolCalled`: that one is for agents that
run their tools themselves. So a call that shows in the model's traffic too (Claude Code asks for
`mcp__<server>__<tool>`) is counted once, and the cause of the `McpToolCalled` is the reply that asked for it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

import msgspec

from soundstage.journal import Event, call_text, joined_facts

KEPT: Final = 64 * 1024  # characters of a result that the journal keeps; the rest is counted

Transport = Literal["http", "stdio"]


class McpConnectionChanged(Event, frozen=True, kw_only=True):
    """A client connected, has shaken hands, or is gone.

    Args:
        change: `opened`; `initialized` once the handshake is done; `closed` in order; `cut` without a word;
            `refused` before it was open.
        connection: its number, from 1; 0 for a refusal.
        transport: how it is connected.
        client: name and version that the client gave.
        protocol: the version that both agreed on.
        by: who ended it: the `client`, or the `server`, which the test plays.
        reason: in words.
    """

    change: Literal["opened", "initialized", "closed", "cut", "refused"]
    connection: int = 0
    transport: Transport = "http"
    client: str = ""
    protocol: str = ""
    by: Literal["client", "server"] = "client"
    reason: str = ""

    def __str__(self) -> str:
        ended = f"by the {self.by}" if self.change in ("closed", "cut") else ""
        what = f"connection {self.connection} {self.change} ({self.transport})"
        return joined_facts(what, self.client, self.protocol, ended, self.reason)


class McpToolCalled(Event, frozen=True, kw_only=True):
    """A client calls a tool of a server.

    Args:
        tool: its name on the server; Claude Code's name for it is `mcp__<server>__<tool>`.
        arguments: as the client sent them.
        connection: which client.
        call_id: id of the model's tool call that this is, if it is known.
    """

    tool: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    connection: int = 0
    call_id: str = ""

    def __str__(self) -> str:
        return call_text(self.tool, self.arguments)


class McpToolReturned(Event, frozen=True, kw_only=True):
    """The end of a call; its cause is the `McpToolCalled`.

    Args:
        tool: its name.
        outcome: `result`; `error`: a result that says that the tool failed; `rejected`: a JSON-RPC error; `cut`:
            the connection was cut; `garbled`: the answer was spoilt; `cancelled`: nobody waits for it any more.
        text: the text of the result, at most 65536 characters of it.
        characters: how long the text is, if it is longer than what is kept.
        structured: the structured result, if there is one and it is not long.
        code: of a JSON-RPC error.
        served_by: which rule, default, stub, tape or server it came from.
    """

    tool: str
    outcome: Literal["result", "error", "rejected", "cut", "garbled", "cancelled"] = "result"
    text: str = ""
    characters: int = 0
    structured: dict[str, Any] | None = None
    code: int = 0
    served_by: str = ""

    def __str__(self) -> str:
        words = f"{self.outcome} {self.code}".removesuffix(" 0")
        return self.text if self.outcome == "result" else f"{words}: {self.text}".removesuffix(": ")


class McpServed(Event, frozen=True, kw_only=True):
    """A request other than a call was answered: a list, a resource, a prompt. `error` says how it failed."""

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    connection: int = 0
    names: tuple[str, ...] = ()
    error: str = ""
    code: int = 0

    def __str__(self) -> str:
        return joined_facts(self.method, ", ".join(self.names), self.error)


class McpNotified(Event, frozen=True, kw_only=True):
    """One side told the other one something. What a server tells goes to each of its clients."""

    routine: ClassVar[bool] = True

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    connection: int = 0
    by: Literal["client", "server"] = "client"

    def __str__(self) -> str:
        return f"{self.by}: {self.method}"


class McpClientAsked(Event, frozen=True, kw_only=True):
    """A server asked its client: for an answer of its model, for one of its user, or for its folders."""

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    connection: int = 0

    def __str__(self) -> str:
        return f"{self.method} of connection {self.connection}"


class McpClientAnswered(Event, frozen=True, kw_only=True):
    """The client answered what a server asked it. `error` says why not, if it did not."""

    method: str
    result: dict[str, Any] = msgspec.field(default_factory=dict)
    error: str = ""
    connection: int = 0

    def __str__(self) -> str:
        return joined_facts(f"{self.method} of connection {self.connection}", self.error)


class McpMessageRefused(Event, frozen=True, kw_only=True):
    """A client sent what the server cannot take. `text` is its beginning."""

    text: str
    reason: str
    connection: int = 0

    def __str__(self) -> str:
        return joined_facts(f"connection {self.connection}: {self.reason}", self.text)


class McpFaultChanged(Event, frozen=True, kw_only=True):
    """The test asked for a fault, it struck, or it was taken back.

    Args:
        change: which of these.
        fault: what it does, such as `hang at call`.
        connection: which connection it struck.
        detail: what else is known: tool, times, seconds, form.
    """

    change: Literal["asked for", "struck", "taken back"]
    fault: str
    connection: int = 0
    detail: dict[str, Any] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.detail.items())
        where = f"connection {self.connection}" if self.connection else ""
        return " ".join(filter(None, [f"{self.fault}: {self.change}", where, facts]))


class McpToolsChanged(Event, frozen=True, kw_only=True):
    """The test changed what a server that runs offers: `what` is tools, resources or prompts."""

    what: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what} now: {', '.join(self.names) or 'none'}"


class McpMismatched(Event, frozen=True, kw_only=True):
    """A replayed server was asked for what is not on its tape. `played` is what it answered with, if anything."""

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    reason: str = ""
    played: int = 0

    def __str__(self) -> str:
        return joined_facts(f"{self.method} {self.params}", self.reason)


class McpProbed(Event, frozen=True, kw_only=True):
    """A real server was asked whether it answers: handshake and list of tools, measured."""

    server: str
    responding: bool
    latency_ms: float = 0.0
    tools: tuple[str, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        if not self.responding:
            return f"{self.server} does not respond: {self.error}"
        return f"{self.server} responds: {len(self.tools)} tools in {self.latency_ms:.0f} ms"
