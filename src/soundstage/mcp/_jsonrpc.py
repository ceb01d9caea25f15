"""JSON-RPC 2.0 as MCP uses it: bytes to messages and back. Pure.

Source: https://www.jsonrpc.org/specification and
https://modelcontextprotocol.io/specification/2025-11-25/basic
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from soundstage.match import preview

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
UNSUPPORTED_VERSION: Final = -32022

Id = str | int
Json = dict[str, Any]


class RpcError(Exception):
    """Raised where a request is answered with a JSON-RPC error instead of a result.

    Args:
        code: the number of the error, such as -32602 for bad parameters.
        message: what went wrong, in one sentence.
        data: more about it, as JSON.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> Json:
        """The `error` of an answer."""
        found: Json = {"code": self.code, "message": self.message}
        return found if self.data is None else {**found, "data": self.data}


class Request(NamedTuple):
    """The peer wants an answer."""

    id: Id
    method: str
    params: Json


class Notification(NamedTuple):
    """The peer tells something."""

    method: str
    params: Json


class RpcAnswer(NamedTuple):
    """The peer answers a request of ours."""

    id: Id | None
    result: Any = None
    error: Json | None = None


class RpcRefused(NamedTuple):
    """Raised for text that is no message of the protocol; `id` is that of the request, as far as it can be known."""

    code: int
    reason: str
    text: str
    id: Id | None = None


Message = Request | Notification | RpcAnswer | RpcRefused


def parse(data: bytes) -> Message:
    """The message in `data`, which is one JSON text."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return RpcRefused(PARSE_ERROR, f"Parse error: {error}", _shown(data))
    reason = _wrong(found)
    if reason:
        known = found.get("id") if isinstance(found, dict) else None
        return RpcRefused(INVALID_REQUEST, f"Invalid Request: {reason}", _shown(data), _id(known))
    params = found.get("params", {})
    if "method" not in found:
        return RpcAnswer(_id(found.get("id")), found.get("result"), found.get("error"))
    if "id" not in found:
        return Notification(found["method"], params)
    return Request(found["id"], found["method"], params)


def _wrong(found: Any) -> str:
    """The reason why `found` is no message; empty if it is one."""
    if isinstance(found, list):
        return "batches are not part of this protocol"
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return 'a message is an object with "jsonrpc": "2.0"'
    if "method" not in found:
        return _wrong_answer(found)
    if not isinstance(found["method"], str):
        return "the method is a string"
    if not isinstance(found.get("params", {}), dict):
        return "the params are an object"
    if "id" in found and _id(found["id"]) is None:
        return "the id of a request is a string or an integer"
    return ""


def _wrong_answer(found: Json) -> str:
    if ("result" in found) == ("error" in found):
        return "a message has a method, or a result, or an error"
    if "error" in found and not isinstance(found["error"], dict):
        return "the error is an object"
    return ""


def _id(value: Any) -> Id | None:
    return value if isinstance(value, str) or type(value) is int else None


def _shown(data: bytes) -> str:
    return preview(data[:800].decode("utf-8", "replace"), 200)


def result_bytes(identity: Id, result: Json) -> bytes:
    """An answer with a result."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": identity, "result": result})


def error_bytes(identity: Id | None, error: Json) -> bytes:
    """An answer with an error."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": identity, "error": error})


def request_bytes(identity: Id, method: str, params: Json) -> bytes:
    """A request."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})


def notification_bytes(method: str, params: Json | None = None) -> bytes:
    """A notification."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})
