"""Tools of providers' own, by their type: what their arguments look like, and which the provider runs itself. Pure.

A request offers such a tool without a schema. A script that calls one is held to the form that the provider's SDK gives
it, since apps read it with that. A tool that the provider runs is never the app's to run: no app is asked for it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from soundstage.messages import ToolDefinition

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_COUNT: Final = {"type": ["integer", "null"]}


def _form(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


FORMS: Final[dict[str, dict[str, Any]]] = {
    "shell": _form("commands", commands=_TEXTS, timeout_ms=_COUNT, max_output_length=_COUNT),
    "local_shell": _form(
        "command",
        command=_TEXTS,
        type={"const": "exec"},
        env={"type": "object"},
        timeout_ms=_COUNT,
        user={"type": ["string", "null"]},
        working_directory={"type": ["string", "null"]},
    ),
    "apply_patch": {
        "anyOf": [
            _form("type path diff", type={"enum": ["create_file", "update_file"]}, path=_TEXT, diff=_TEXT),
            _form("type path", type={"const": "delete_file"}, path=_TEXT),
        ]
    },
    "computer": _form(
        "actions", actions={"type": "array", "items": {"type": "object", "required": ["type"]}}
    ),
    "computer_use_preview": {"type": "object", "required": ["type"]},
}
_RUN_BY_PROVIDERS: Final = re.compile(
    r"(web_search|web_fetch|code_execution|tool_search_tool|mcp_toolset|advisor)(_.*)?"  # Anthropic, some of OpenAI
    r"|file_search|code_interpreter|image_generation|mcp|programmatic_tool_calling"  # OpenAI
    r"|google\w+|codeExecution|urlContext|fileSearch|enterpriseWebSearch|mcpServers|parallelAiSearch"  # Gemini
)


def is_run_by_provider(tool: ToolDefinition) -> bool:
    """Whether the provider runs a tool that a request offers.

    >>> is_run_by_provider(ToolDefinition(name="web_search", type="web_search_20250305"))
    True
    >>> is_run_by_provider(ToolDefinition(name="web_search"))
    False
    """
    if tool.type == "shell":
        environment = tool.schema.get("environment")
        return isinstance(environment, dict) and environment.get("type") != "local"
    if tool.type == "tool_search":
        return tool.schema.get("execution") != "client"
    return _RUN_BY_PROVIDERS.fullmatch(tool.type) is not None
