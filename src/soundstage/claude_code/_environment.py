"""The hermetic environment of the Claude Code CLI. Pure, but for a look at the folders above a workspace.

Everything here was observed with CLI 2.1.330: each variable has a reason, and what it changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.errors import EnvironmentProblem


class Setting(NamedTuple):
    """A variable, its value, and why it is set."""

    name: str
    value: str
    reason: str


SETTINGS: Final = (
    Setting("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1", "no request but those to the model"),
    Setting("DISABLE_AUTOUPDATER", "1", "the CLI stays the version that it is"),
    Setting("ENABLE_TOOL_SEARCH", "false", "all tools are in the request, not only their names"),
    Setting("MCP_CONNECTION_NONBLOCKING", "0", "MCP servers are ready before the first turn, not 2 s later"),
    Setting("CLAUDE_CODE_MAX_RETRIES", "0", "a scripted failure is seen at once, not after 175 s"),
    Setting("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1", "subagents run in order, so requests do too"),
    Setting("CLAUDE_CODE_ATTRIBUTION_HEADER", "0", "the system prompt has no part that changes at random"),
)

API_KEY: Final = "sk-test"
"""The key that the CLI sends; the scripted server takes any."""

USER_ID: Final = "5" * 64
"""The device id in every request; drawn at random by the CLI unless its configuration names one."""

_MEMORIES: Final = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")


def claude_environment(
    base_url: str,
    temporary: Path,
    *,
    permission_mode: str,
    root: bool,
    mcp_timeout: float | None = None,
) -> dict[str, str]:
    """The variables that the CLI gets besides those of every isolated program.

    Args:
        base_url: where the Messages server is.
        temporary: its folder for temporary files; else it writes below /tmp whatever TMPDIR says.
        permission_mode: how it asks for permission.
        root: whether it will run as root, where it refuses `bypassPermissions` outside of a sandbox.
        mcp_timeout: seconds that an MCP server may take to start.
    """
    variables = {setting.name: setting.value for setting in SETTINGS}
    variables |= {
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": API_KEY,
        "CLAUDE_CODE_TMPDIR": str(temporary),
    }
    if root and permission_mode == "bypassPermissions":
        variables["IS_SANDBOX"] = "1"
    if mcp_timeout is not None:
        variables["MCP_TIMEOUT"] = str(round(mcp_timeout * 1000))
    return variables


def configuration() -> str:
    """The text of `.claude.json` in the throw-away home."""
    return json.dumps({"userID": USER_ID})


def refuse_stray_memories(workspace: Path) -> None:
    """Check that no instruction file lies above the workspace: the CLI puts all of them into its prompt.

    Raises:
        EnvironmentProblem: if there is one; the run would depend on the machine.
    """
    found = [path for folder in workspace.parents for name in _MEMORIES if (path := folder / name).exists()]
    if found:
        raise EnvironmentProblem(
            "instructions from outside the workspace would get into the prompt",
            expected=f"no {', '.join(_MEMORIES)} above {workspace}",
            seen="\n".join(map(str, found)),
            hint="put the workspace elsewhere, for example below the temporary folder",
        )
