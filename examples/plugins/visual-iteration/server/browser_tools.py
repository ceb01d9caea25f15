"""An MCP server with a browser in it, on standard input and output; nothing but the standard library is needed.

The protocol is JSON-RPC 2.0, one message a line (Model Context Protocol, "Base Protocol" and "stdio"). Requests are
answered in order. A tool that fails answers with `isError`, so that the model can read why; an unknown method or
tool is an error of the protocol.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from _tools import TOOLS, Studio, ToolError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SERVER = {"name": "browser-tools", "version": "1.0.0"}
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class ProtocolError(Exception):
    """A request that the protocol does not allow."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def serve(studio: Studio, lines: TextIO, out: TextIO) -> None:
    """Answer requests until the input ends."""
    for line in lines:
        answer = respond(studio, line)
        if answer is not None:
            print(json.dumps(answer), file=out, flush=True)


def respond(studio: Studio, line: str) -> dict[str, Any] | None:
    """The answer to one line; none to a notification."""
    request_id = None
    try:
        message = _parsed(line)
        request_id = message.get("id")
        if request_id is None:
            return None
        return {"jsonrpc": "2.0", "id": request_id, "result": _result(studio, message)}
    except ProtocolError as error:
        return {"jsonrpc": "2.0", "id": request_id, "error": {"code": error.code, "message": str(error)}}


def _parsed(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise ProtocolError(PARSE_ERROR, f"no JSON: {error}") from None
    if not isinstance(message, dict) or "method" not in message:
        raise ProtocolError(INVALID_REQUEST, "a request is an object with a method")
    return message


def _result(studio: Studio, message: dict[str, Any]) -> dict[str, Any]:
    parameters = message.get("params") or {}
    method = message["method"]
    if method == "initialize":
        wanted = parameters.get("protocolVersion")
        version = wanted if wanted in VERSIONS else VERSIONS[0]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": SERVER}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [tool.described() for tool in TOOLS.values()]}
    if method == "tools/call":
        return _called(studio, parameters)
    raise ProtocolError(UNKNOWN_METHOD, f"no method {method!r}")


def _called(studio: Studio, parameters: dict[str, Any]) -> dict[str, Any]:
    tool = TOOLS.get(str(parameters.get("name")))
    if tool is None:
        raise ProtocolError(
            INVALID_PARAMS, f"no tool {parameters.get('name')!r}; there are {', '.join(TOOLS)}"
        )
    try:
        return {"content": tool.call(studio, parameters.get("arguments") or {}), "isError": False}
    except (ToolError, OSError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def main() -> None:
    """Serve the project in BROWSER_TOOLS_ROOT, or in the current folder."""
    root = Path(os.environ.get("BROWSER_TOOLS_ROOT") or Path.cwd())
    serve(Studio(root), sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
