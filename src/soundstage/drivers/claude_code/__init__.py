"""Claude Code: the real CLI, started hermetically, prompted turn by turn."""

from soundstage.drivers.claude_code._binary import TESTED_VERSION, bundled_cli, find_cli
from soundstage.drivers.claude_code._driver import ClaudeCode
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
    "Denial",
    "HookResponse",
    "HookStarted",
    "Init",
    "PermissionDenied",
    "Result",
    "Said",
    "SessionOptions",
    "StreamMessage",
    "System",
    "TaskChanged",
    "Told",
    "ToolUse",
    "Unknown",
    "bundled_cli",
    "decode_line",
    "find_cli",
]
