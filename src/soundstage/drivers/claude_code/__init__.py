"""Claude Code: the real CLI, started hermetically, prompted turn by turn."""

from soundstage.drivers.claude_code._agents import AgentCalls, Subagent, guidance_of
from soundstage.drivers.claude_code._binary import TESTED_VERSION, bundled_cli, find_cli
from soundstage.drivers.claude_code._callbacks import (
    HOOK_EVENTS,
    HookCallback,
    PermissionAsked,
    deny,
)
from soundstage.drivers.claude_code._commands import (
    Expansion,
    SlashCommand,
    expansions,
    same_command,
)
from soundstage.drivers.claude_code._commits import MadeCommit
from soundstage.drivers.claude_code._decisions import Decision
from soundstage.drivers.claude_code._driver import ClaudeCode
from soundstage.drivers.claude_code._events import (
    PluginManaged,
    SubagentFinished,
    SubagentStarted,
    TranscriptKept,
)
from soundstage.drivers.claude_code._expansion import (
    CommandPiece,
    argument_names,
    command_pieces,
    expand_command,
    quoted_front_matter,
)
from soundstage.drivers.claude_code._hook_runs import Hooks
from soundstage.drivers.claude_code._hook_verdict import (
    DECISIONS,
    OUTPUT_FIELDS,
    PERMISSIONS,
    SPECIFIC_EVENTS,
    HookRun,
    judge,
)
from soundstage.drivers.claude_code._hooks import hook_argv, hook_limit, settings_hooks
from soundstage.drivers.claude_code._matchers import PatternError, fits, javascript, matches
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
from soundstage.drivers.claude_code._session import ClaudeSession, McpServer
from soundstage.drivers.claude_code._stream import decode_line
from soundstage.drivers.claude_code._transcript import (
    HistoryTurn,
    SubagentTranscript,
    Transcript,
    TranscriptEntry,
)
from soundstage.drivers.claude_code._turn import ClaudeTurn, ToolUse

__all__ = [
    "DECISIONS",
    "HOOK_EVENTS",
    "OUTPUT_FIELDS",
    "PERMISSIONS",
    "PERMISSION_MODES",
    "SPECIFIC_EVENTS",
    "TESTED_VERSION",
    "AgentCalls",
    "ApiRetry",
    "ClaudeCode",
    "ClaudeSession",
    "ClaudeTurn",
    "CommandPiece",
    "ControlResponse",
    "Decision",
    "DeclaredServer",
    "Defect",
    "Denial",
    "Expansion",
    "HistoryTurn",
    "HookCallback",
    "HookResponse",
    "HookRun",
    "HookStarted",
    "Hooks",
    "Init",
    "MadeCommit",
    "Marketplace",
    "McpServer",
    "PatternError",
    "PermissionAsked",
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
    "Subagent",
    "SubagentFinished",
    "SubagentStarted",
    "SubagentTranscript",
    "System",
    "TaskChanged",
    "Told",
    "ToolUse",
    "Transcript",
    "TranscriptEntry",
    "TranscriptKept",
    "Unknown",
    "Validation",
    "argument_names",
    "bundled_cli",
    "command_pieces",
    "decode_line",
    "deny",
    "expand_command",
    "expansions",
    "find_cli",
    "fits",
    "guidance_of",
    "hook_argv",
    "hook_limit",
    "javascript",
    "judge",
    "matches",
    "quoted_front_matter",
    "same_command",
    "settings_hooks",
]
