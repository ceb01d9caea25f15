"""Notes for the journal, from messages of the CLI. Pure."""

from __future__ import annotations

from typing import Any

from soundstage.claude_code._messages import Init, TurnResult


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
