"""Notes for the journal, from messages of the CLI. Pure."""

from __future__ import annotations

from typing import Any, Final

from soundstage.claude_code._messages import Init, TurnResult
from soundstage.journal import AbortReason, RunAborted

_ABORTS: Final[dict[str, AbortReason]] = {"error_max_budget_usd": "budget", "error_max_turns": "budget"}
_TIMED_OUT: Final = "Request timed out"  # the words of CLI 2.1.330 for its own limit of time, API_TIMEOUT_MS


def note_init(message: Init) -> dict[str, Any]:
    """Return the parts of a session, without ids and paths that differ from run to run."""
    noted = {
        "version": message.version,
        "model": message.model,
        "permission_mode": message.permission_mode,
        "tools": list(message.tools),
        "agents": list(message.agents),
        "commands": list(message.commands),
        "mcp_servers": [
            {key: server.get(key) for key in ("name", "status")} for server in message.mcp_servers
        ],
        "plugins": [str(plugin.get("name", "")) for plugin in message.plugins],
    }
    if message.plugin_errors:
        noted["plugin_errors"] = list(message.plugin_errors)
    return noted


def note_result(message: TurnResult) -> dict[str, Any]:
    """How a turn ended."""
    noted: dict[str, Any] = {
        "is_error": message.is_error,
        "subtype": message.subtype,
        "num_turns": message.num_turns,
        "total_cost_usd": message.total_cost_usd,
        "terminal_reason": message.terminal_reason,
    }
    if message.api_error_status is not None:
        noted["api_error_status"] = message.api_error_status
    if message.denials:
        noted["denials"] = [denial.tool for denial in message.denials]
    if message.origin:
        noted["origin"] = message.origin
    return noted


def abort_of(message: TurnResult) -> RunAborted | None:
    """Why the CLI ended a turn before it was done: a limit of its own, or an interrupt; `None` if it did not."""
    reason = _ABORTS.get(message.subtype)
    if reason is None and message.terminal_reason.startswith("aborted"):
        reason = "interrupted"
    if reason is None and message.is_error and message.text.startswith(_TIMED_OUT):
        reason = "session-timeout"
    return RunAborted(reason=reason, detail=message.text or message.subtype) if reason else None
