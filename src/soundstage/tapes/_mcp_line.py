"""Lines of a tape that are not a model's: what an MCP server was asked and answered, and what it told by itself."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class McpTapeLine(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag="mcp",
    tag_field="line",
    forbid_unknown_fields=True,
):
    """A request to an MCP server and its answer, or something that the server told by itself.

    Args:
        number: which of the lines of servers it is, from 1.
        server: the name of the server.
        transport: how the real one was reached: `stdio` or `http`.
        kind: `exchange`, or `told`.
        method: what was asked or told.
        params: with which parameters.
        result: the answer.
        error: the JSON-RPC error that was the answer instead.
        timestamp: when it was asked (ISO 8601, UTC).
        started_ms: milliseconds from the beginning of the recording to the request.
        latency_ms: milliseconds until the answer came.
    """

    number: int = 0
    server: str = "mcp"
    transport: Literal["", "stdio", "http"] = ""
    kind: Literal["exchange", "told"] = "exchange"
    method: str
    params: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    timestamp: str = ""
    started_ms: float = 0.0
    latency_ms: float = 0.0
