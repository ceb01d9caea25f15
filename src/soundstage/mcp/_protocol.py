"""Versions and methods of MCP, as tables. Pure.

Source: https://modelcontextprotocol.io/specification/2025-11-25
"""

from __future__ import annotations

from typing import Final

VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST: Final = VERSIONS[-1]

LISTS: Final = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""Methods that list something, and the key of what they list."""

CHANGED: Final = {
    "tools": "notifications/tools/list_changed",
    "resources": "notifications/resources/list_changed",
    "prompts": "notifications/prompts/list_changed",
}
"""The notification that a server sends when one of its lists has changed."""

CALL: Final = "tools/call"
INITIALIZED: Final = "notifications/initialized"
CANCELLED: Final = "notifications/cancelled"


def agreed(wanted: object) -> str:
    """The version that a server answers with: the client's, if it is known, else the latest."""
    return wanted if isinstance(wanted, str) and wanted in VERSIONS else LATEST
