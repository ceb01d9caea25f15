"""OpenAI Responses: calls of tools that are neither functions nor custom tools, and the names of namespaces.

The provider has tools of its own that the app executes: `shell`, `local_shell`, `apply_patch`, `computer` and
`tool_search`. A call of one is an item of its own type, with the arguments in an object of that item, and its result
another. Here they become tool calls and results like all others: a script calls `shell` with `{"commands": ["ls"]}`.

The tools of a namespace are called by their own name, and the item names the namespace beside it. Elsewhere such a tool
has one name, `mcp__calc__add`, as other clients of MCP servers build it.

Source: the item types of the provider's SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.messages import ToolCall, ToolDefinition, ToolResult

__all__ = [
    "CALLS",
    "ITEM_HEAD",
    "BuiltInCallForm",
    "CallForm",
    "beside_call",
    "built_in_item",
    "built_in_output",
    "calls_of",
    "is_call",
    "joined",
    "read_call",
    "read_output",
]

JOIN: Final = "__"


class BuiltInCallForm(NamedTuple):
    """The form of a call of a built-in tool."""

    kind: str  # the item's type
    prefix: str  # of its id
    holds: str = ""  # the field with the arguments; without one they are fields of the item
    inner: Mapping[str, Any] = {}  # what stands beside the arguments
    outer: Mapping[str, Any] = {}  # what stands beside that field
    halves: bool = True  # whether an item can be incomplete


CALLS: Final[dict[str, BuiltInCallForm]] = {  # by the type of the tool
    "shell": BuiltInCallForm(
        "shell_call", "sh", "action", {"timeout_ms": None, "max_output_length": None}, {"environment": None}
    ),
    "local_shell": BuiltInCallForm("local_shell_call", "lsh", "action", {"type": "exec", "env": {}}),
    "apply_patch": BuiltInCallForm("apply_patch_call", "apc", "operation", halves=False),
    "computer": BuiltInCallForm("computer_call", "cu", "", {}, {"pending_safety_checks": []}),
    "computer_use_preview": BuiltInCallForm(
        "computer_call", "cu", "action", {}, {"pending_safety_checks": []}
    ),
    "tool_search": BuiltInCallForm("tool_search_call", "tsc", "arguments", {}, {"execution": "client"}),
}
ITEM_HEAD: Final = frozenset({"id", "type", "call_id", "status", "created_by", "caller"})


class CallForm(NamedTuple):
    """The kind of item that a call is, and the name of its tool there."""

    kind: str
    name: str
    namespace: str = ""
    tool: str = ""  # the type of a built-in tool


def calls_of(tools: Sequence[ToolDefinition]) -> Callable[[str], CallForm]:
    """The forms of calls of the offered tools, by the name of the tool."""
    known = {tool.name: _called(tool) for tool in tools}
    return lambda name: known.get(name) or CallForm("function_call", name)


def _called(tool: ToolDefinition) -> CallForm:
    if tool.type in CALLS:
        return CallForm(CALLS[tool.type].kind, tool.name, tool=tool.type)
    kind = "custom_tool_call" if tool.type == "custom" else "function_call"
    return CallForm(kind, tool.name.removeprefix(joined(tool.namespace, "")), tool.namespace)


def joined(namespace: str, name: str) -> str:
    """The one name of a tool in a namespace.

    >>> joined("mcp__calc", "add"), joined("mcp__calc__", "add"), joined("", "add")
    ('mcp__calc__add', 'mcp__calc__add', 'add')
    """
    return f"{namespace.removesuffix(JOIN)}{JOIN}{name}" if namespace else name


def built_in_item(
    tool: str, item_id: str, call_id: str, arguments: Mapping[str, Any], status: str
) -> dict[str, Any]:
    """The item for a call of a built-in tool.

    Args:
        tool: its type.
        item_id: the item's id.
        call_id: the call's id.
        arguments: of the call.
        status: of the item.
    """
    shape = CALLS[tool]
    held: dict[str, Any] = {**shape.inner, **arguments}
    shown = status if shape.halves or status != "incomplete" else "completed"
    head = {"id": item_id, "type": shape.kind, "call_id": call_id, "status": shown, **shape.outer}
    return {**head, shape.holds: held} if shape.holds else {**head, **held}


def is_call(given: Mapping[str, Any]) -> bool:
    """Whether an item is a call of a built-in tool that the app executes, and not the provider itself."""
    if given.get("type") == "tool_search_call":
        return given.get("execution") == "client" and given.get("call_id") is not None
    place = given.get("environment") or {}
    return any(form.kind == given.get("type") for form in CALLS.values()) and place.get("type") in (
        None,
        "local",
    )


def beside_call(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the item of a call that stand beside the arguments, such as safety checks that are pending."""
    form = next(form for form in CALLS.values() if form.kind == given["type"])
    taken = form.holds or ("action" if isinstance(given.get("action"), dict) else "")
    names = [name for name in given if name not in ITEM_HEAD and name != taken] if taken else form.outer
    return {name: given[name] for name in names if given.get(name) != form.outer.get(name)}


def read_call(given: Mapping[str, Any]) -> ToolCall:
    """The call in an item of a built-in tool. What the item says without being asked is left out."""
    tool, shape = next((tool, shape) for tool, shape in CALLS.items() if shape.kind == given["type"])
    held = given.get(shape.holds) if shape.holds else None
    if shape.kind == "computer_call":
        preview = isinstance(given.get("action"), dict)
        tool, held = (
            ("computer_use_preview", given["action"]) if preview else ("computer", _rest(given, shape))
        )
    arguments = held if isinstance(held, dict) else {}
    kept = {name: value for name, value in arguments.items() if shape.inner.get(name, ITEM_HEAD) != value}
    return ToolCall(id=str(given.get("call_id") or given.get("id") or ""), name=tool, arguments=kept)


def _rest(given: Mapping[str, Any], shape: BuiltInCallForm) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in ITEM_HEAD and name not in shape.outer}


def read_output(given: Mapping[str, Any]) -> ToolResult:
    """The result in an item that answers a call of a built-in tool."""
    output = given.get("output")
    call_id = str(given.get("call_id") or given.get("id") or "")
    failed = given.get("status") in ("failed", "incomplete")
    if isinstance(output, list):  # of a shell: what each command has written, and how it ended
        pieces = [piece for piece in output if isinstance(piece, dict)]
        texts = [str(piece.get(name)) for piece in pieces for name in ("stdout", "stderr") if piece.get(name)]
        failed = failed or any(_has_failed(piece.get("outcome")) for piece in pieces)
        return ToolResult(call_id=call_id, text="\n".join(texts), is_error=failed, extra=tuple(output))
    if isinstance(output, str):
        return ToolResult(call_id=call_id, text=output, is_error=failed)
    rest = output if output is not None else given.get("tools")
    text = (
        msgspec.json.encode(rest).decode()
        if given.get("type") == "tool_search_output"
        else str(given.get("status") or "")
    )
    return ToolResult(call_id=call_id, text=text, is_error=failed, extra=() if rest is None else (rest,))


def built_in_output(tool: str, result: ToolResult) -> dict[str, Any]:
    """The item that answers a call of a built-in tool; what `read_output` reads.

    Args:
        tool: its type.
        result: of the call; content that is not text as the item had it.
    """
    kind = f"{tool}_output" if tool == "tool_search" else f"{CALLS[tool].kind}_output"
    head = {"type": kind, "call_id": result.call_id}
    given = result.extra[0] if result.extra else None
    if tool == "shell":
        outcome = {"type": "exit", "exit_code": int(result.is_error)}
        alone = {"stdout": result.text, "stderr": "", "outcome": outcome}
        return {**head, "output": list(result.extra) or [alone]}
    if tool == "tool_search":
        return {**head, "execution": "client", "status": "completed", "tools": given or []}
    if tool in ("computer", "computer_use_preview"):
        return {**head, "output": given}
    status = "failed" if result.is_error else "completed"
    named = {"id": result.call_id} if tool == "local_shell" else {}
    return {**head, **named, "status": status, "output": result.text}


def _has_failed(outcome: Any) -> bool:
    return isinstance(outcome, dict) and (
        outcome.get("type") == "timeout" or outcome.get("exit_code", 0) != 0
    )
