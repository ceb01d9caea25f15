"""Claude Code: the real CLI, started hermetically, prompted turn by turn."""

from soundstage.drivers.claude_code._binary import TESTED_VERSION, bundled_cli, find_cli
from soundstage.drivers.claude_code._commands import (
    Expansion,
    SlashCommand,
    expand_command,
    expansions,
    same_command,
)
from soundstage.drivers.claude_code._driver import ClaudeCode
from soundstage.drivers.claude_code._events import PluginManaged
from soundstage.drivers.claude_code._messages import (
    ApiRetry,
    ControlResponse,
    Denial,
    HookResponse,
    HookStarted,
    Init,
    PermissionDenied,
    Result,
    Said,
    StreamMessage,
    System,
    TaskChanged,
    Told,
    Unknown,
)
from soundstage.drivers.claude_code._options import PERMISSION_MODES, SessionOptions
from soundstage.drivers.claude_code._plugin_types import (
    DeclaredServer,
    Defect,
    Marketplace,
    Plugin,
    PluginError,
    PluginHook,
    Validation,
)
from soundstage.drivers.claude_code._plugins import Plugins
from soundstage.drivers.claude_code._session import ClaudeSession
from soundstage.drivers.claude_code._stream import decode_line
from soundstage.drivers.claude_code._turn import ClaudeTurn, ToolUse

__all__ = [
    "PERMISSION_MODES",
    "TESTED_VERSION",
    "ApiRetry",
    "ClaudeCode",
    "ClaudeSession",
    "ClaudeTurn",
    "ControlResponse",
    "DeclaredServer",
    "Defect",
    "Denial",
    "Expansion",
    "HookResponse",
    "HookStarted",
    "Init",
    "Marketplace",
    "PermissionDenied",
    "Plugin",
    "PluginError",
    "PluginHook",
    "PluginManaged",
    "Plugins",
    "Result",
    "Said",
    "SessionOptions",
    "SlashCommand",
    "StreamMessage",
    "System",
    "TaskChanged",
    "Told",
    "ToolUse",
    "Unknown",
    "Validation",
    "bundled_cli",
    "decode_line",
    "expand_command",
    "expansions",
    "find_cli",
    "same_command",
]
