"""Tapes of servers: what was asked and answered, one JSON line each, for people to read and for replay."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from soundstage.scripts import TapeFile, TapeForm

HOW_TO_RECORD: Final = "record it: RecordingMcpServer(journal, upstream, path)"


class McpTapeLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a tape: an exchange, or something that the server told by itself.

    Args:
        number: which line it is, from 1.
        kind: `exchange`, or `told`.
        method: what was asked or told.
        params: with which parameters.
        result: the answer.
        error: the JSON-RPC error that was the answer instead.
        latency_ms: milliseconds until the answer came.
        v: version of the line.
    """

    number: int
    kind: Literal["exchange", "told"] = "exchange"
    method: str
    params: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    latency_ms: float = 0.0
    v: int = 1


class McpTape(TapeFile[McpTapeLine]):
    """The requests and answers of a server, in memory or in a file.

    Args:
        records: what is on it.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.
    """

    form = TapeForm(
        McpTapeLine,
        "one of a tape of an MCP server",
        '{"number": 1, "method": "tools/call", "params": {..}, "result": {..}}',
        HOW_TO_RECORD,
    )

    @property
    def lines(self) -> tuple[McpTapeLine, ...]:
        """The lines of the tape."""
        return tuple(self._records)

    def add(self, **fields: Any) -> McpTapeLine:
        """Add a line, without its secrets; when this returns, a tape in a file has it on file.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        return self.append(McpTapeLine(number=len(self) + 1, **fields))
