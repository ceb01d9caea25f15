"""Shared by the OpenAI formats: error answers and the words of refusals.

Source: the provider's guide to error codes, and answers of its servers to faulty requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import Opaque, Part, Text, ToolDefinition, ToolResult, Usage
from soundstage.wire._codec import AnswerStamp, ErrorAnswer
from soundstage.wire._sse import encode_json

TYPES: Final = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "permission_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
CODES: Final = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
CODES_OF_TYPES: Final = {"insufficient_quota": "insufficient_quota"}  # they win over the status
KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}


WRONG_VALUE: Final = "Invalid value for '{name}': expected {wanted}."


def error_object(error: ProviderError | RequestRejected) -> dict[str, Any]:
    """The `error` object of an answer or of a stream."""
    usual = TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "server_error")
    if isinstance(error, RequestRejected):
        param, code = error.param or None, error.code or None
    else:
        param, code = None, error.code or CODES_OF_TYPES.get(error.kind) or CODES.get(error.status)
    return {"error": {"message": error.message, "type": error.kind or usual, "param": param, "code": code}}


def fault(error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
    """The error answer."""
    headers = {"content-type": "application/json", "x-request-id": f"req_{stamp.id}"}
    if isinstance(error, ProviderError):
        headers |= error.headers
    return ErrorAnswer(error.status, headers, encode_json(error_object(error)))


def missing(param: str) -> RequestRejected:
    """The refusal of a request that lacks `param`."""
    return RequestRejected(
        f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter"
    )


def wrong_type(param: str, expected: str, value: Any) -> RequestRejected:
    """The refusal of a value of a wrong type; `expected` with its article."""
    return RequestRejected(
        f"Invalid type for '{param}': expected {expected}, but got {KINDS[type(value)]} instead.",
        param=param,
        code="invalid_type",
    )


def not_one_of(value: Any, allowed: Sequence[str], param: str) -> RequestRejected:
    """The refusal of a value that is none of `allowed`."""
    quoted = [f"'{name}'" for name in allowed]
    listed = " and ".join(quoted) if len(quoted) < 3 else f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
    shown = value if isinstance(value, str) else ""
    return RequestRejected(
        f"Invalid value: '{shown}'. Supported values are: {listed}.", param=param, code="invalid_value"
    )


def required_text(given: dict[str, Any], name: str, where: str) -> str:
    """The text under `name` of the object at `where`.

    Raises:
        RequestRejected: if it is missing, or not text.
    """
    value = given.get(name)
    if value is None:
        raise missing(f"{where}.{name}")
    if not isinstance(value, str):
        raise wrong_type(f"{where}.{name}", "a string", value)
    return value


def optional_text(given: dict[str, Any], name: str, where: str) -> str:
    """The text under `name`; empty if there is none.

    Raises:
        RequestRejected: if it is not text.
    """
    return "" if given.get(name) is None else required_text(given, name, where)


def optional_object(given: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    """The object under `name`; empty if there is none.

    Raises:
        RequestRejected: if it is another kind of value.
    """
    value = given.get(name)
    if value is not None and not isinstance(value, dict):
        raise wrong_type(f"{where}.{name}", "an object", value)
    return value or {}


def flag(given: dict[str, Any], name: str) -> bool:
    """The boolean under `name` of a request; False if there is none.

    Raises:
        RequestRejected: if it is another kind of value.
    """
    value = given.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong_type(name, "a boolean", value)
    return value or False


def tool_result(call_id: str, content: Sequence[Part], name: str = "") -> ToolResult:
    """The result of a tool out of the parts of its message."""
    return ToolResult(
        call_id=call_id,
        text="\n".join(part.text for part in content if isinstance(part, Text)),
        name=name,
        extra=tuple(part.data for part in content if isinstance(part, Opaque)),
    )


def custom_tools(tools: Sequence[ToolDefinition]) -> frozenset[str]:
    """The names of the tools that take free text instead of JSON."""
    return frozenset(tool.name for tool in tools if tool.type == "custom")


def input_tokens(usage: Usage) -> int:
    """All tokens that went in; this provider's count includes the cached ones."""
    return usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
