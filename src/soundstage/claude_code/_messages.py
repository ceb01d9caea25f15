"""The messages of the Claude Code CLI on standard output, as frozen records.

The CLI's field names are internal to it. These are the ones that 2.1.330 sends; a conformance test with the
real CLI names every one that we rely on. Each record keeps the whole line in `data`, so that fields without a
name here can be used too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from soundstage.messages import Part, Usage


class StreamMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all messages. `data` is the line as it came."""

    data: dict[str, Any]

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "data")
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown)})"


class Init(StreamMessage, frozen=True, kw_only=True):
    """A turn begins; what the session consists of. It comes again with every turn."""

    session_id: str
    version: str
    model: str
    permission_mode: str
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[dict[str, Any], ...] = ()
    plugins: tuple[dict[str, Any], ...] = ()
    plugin_errors: tuple[dict[str, Any], ...] = ()


class AssistantMessage(StreamMessage, frozen=True, kw_only=True):
    """A message of the model: text and tool calls. `parent` is the tool call that started its subagent.

    `error` is set when the CLI speaks in the model's place, to report a failed request.
    """

    parts: tuple[Part, ...]
    model: str = ""
    parent: str = ""
    error: str = ""


class UserMessage(StreamMessage, frozen=True, kw_only=True):
    """A message to the model: results of tools, or text that the CLI adds.

    `decisions` are the CLI's own records of what was allowed and why.
    """

    parts: tuple[Part, ...]
    parent: str = ""
    decisions: tuple[dict[str, Any], ...] = ()


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the agent was not allowed to use."""

    tool: str
    call_id: str
    arguments: dict[str, Any] = {}


class TurnResult(StreamMessage, frozen=True, kw_only=True):
    """A turn is over. Only `is_error` tells a failure: `subtype` is `success` for a failed request too.

    `total_cost_usd` counts the whole session; `usage` counts this turn without subagents. `origin` is empty
    for an answer to a prompt, and names what else made the agent speak: `task-notification`.
    """

    is_error: bool
    subtype: str
    session_id: str
    text: str = ""
    num_turns: int = 0
    duration_ms: float = 0
    total_cost_usd: float = 0
    usage: Usage = Usage()
    denials: tuple[Denial, ...] = ()
    terminal_reason: str = ""
    api_error_status: int | None = None
    origin: str = ""


class HookStarted(StreamMessage, frozen=True, kw_only=True):
    """A hook begins."""

    hook_id: str
    hook: str
    event: str


class HookResponse(StreamMessage, frozen=True, kw_only=True):
    """A hook is done. `outcome` is `success`, `error` or `cancelled`."""

    hook_id: str
    hook: str
    event: str
    outcome: str
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    output: str = ""


class TaskChanged(StreamMessage, frozen=True, kw_only=True):
    """A subagent or a background task. `change` is `started`, `progress`, `updated` or `notification`."""

    change: str
    task_id: str
    call_id: str = ""
    agent: str = ""
    status: str = ""


class PermissionDenied(StreamMessage, frozen=True, kw_only=True):
    """A tool was not allowed to run. `decided_by` is the kind of reason: `mode`, `hook`...; empty for none."""

    tool: str
    call_id: str
    reason: str = ""
    decided_by: str = ""


class ApiRetry(StreamMessage, frozen=True, kw_only=True):
    """A request failed and will be sent again."""

    attempt: int
    status: int | None = None
    delay_ms: float = 0


class SystemMessage(StreamMessage, frozen=True, kw_only=True):
    """Any other remark of the CLI."""

    subtype: str


class ControlResponse(StreamMessage, frozen=True, kw_only=True):
    """The answer to a control request. `error` is empty when it succeeded."""

    request_id: str
    error: str = ""
    response: dict[str, Any] = {}


class UnknownMessage(StreamMessage, frozen=True, kw_only=True):
    """A line that we do not know, or a known one without a field that it must have: `problem` says which.

    A line that is not a JSON object is in `data` under `line`.
    """

    type: str
    problem: str = ""
