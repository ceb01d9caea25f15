"""One prompt and its outcome: the CLI's messages, and views of them."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage.claude_code._agents import AgentCalls, Subagent, agent_calls, subagents
from soundstage.claude_code._commands import Expansion, expansions, forked_expansion
from soundstage.claude_code._decisions import Decision, decisions_of
from soundstage.claude_code._messages import (
    AssistantMessage,
    ControlResponse,
    Denial,
    HookResponse,
    Init,
    PermissionDenied,
    StreamMessage,
    TurnResult,
    UnknownMessage,
    UserMessage,
)
from soundstage.claude_code._plugin_decode import load_defect
from soundstage.claude_code._plugin_types import Defect
from soundstage.errors import ExpectationError
from soundstage.journal import Committed
from soundstage.match import preview
from soundstage.messages import ModelRequest, Part, Text, ToolCall, ToolResult, Usage

_KEPT_BACK: Final = ("blocked_by_hook", "stopped_by_hook")  # what can become of a prompt besides a request


class ClaudeToolUse(NamedTuple):
    """A tool that the agent called, and what it returned. `text` is `None` if nothing came back.

    `parent` is the call that started the subagent that used the tool; empty for the main agent.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    text: str | None
    is_error: bool
    parent: str


class ClaudeTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt and all that Claude Code did with it.

    Args:
        prompt: what was asked.
        messages: everything that the CLI said meanwhile, in order.
        result: the last of them.
        cost_usd: the price of this turn alone, subagents included, by the price table of the CLI.
        requests: what the model server received meanwhile, in order, of subagents too. Empty if the server
            writes into another journal.
        commits: the commits that were made meanwhile in the repository of the session's folder, by git's own log:
            not those of another repository that the agent went to.
    """

    prompt: str
    messages: tuple[StreamMessage, ...]
    result: TurnResult
    cost_usd: float = 0.0
    requests: tuple[ModelRequest, ...] = ()
    commits: tuple[Committed, ...] = ()

    @property
    def text(self) -> str:
        """The agent's final words, or what the CLI says about a failure."""
        return self.result.text

    @property
    def is_error(self) -> bool:
        """Whether the turn failed. Nothing else tells: `subtype` is `success` for a failed request too."""
        return self.result.is_error

    @property
    def subtype(self) -> str:
        """The CLI's word for how the turn ended: `success`, `error_max_turns`, ..."""
        return self.result.subtype

    @property
    def session_id(self) -> str:
        """The session, which is the conversation on the wire."""
        return self.result.session_id

    @property
    def num_turns(self) -> int:
        """The CLI's count; tool results count too."""
        return self.result.num_turns

    @property
    def seconds(self) -> float:
        """How long the turn took, by the CLI's clock."""
        return self.result.duration_ms / 1000

    @property
    def usage(self) -> Usage:
        """Tokens of this turn, subagents left out."""
        return self.result.usage

    @property
    def denials(self) -> tuple[Denial, ...]:
        """Tools that were not allowed."""
        return self.result.denials

    @property
    def init(self) -> Init | None:
        """The parts of the session in this turn; `None` for a turn without such a message."""
        return next((message for message in self.messages if isinstance(message, Init)), None)

    @property
    def expansion(self) -> Expansion | None:
        """The slash command of this turn as the model server received it; `None` if there was none.

        For a command with `context: fork` it is what the subagent received.
        """
        found = expansions(self.requests[0]) if self.requests else ()
        return found[-1] if found else forked_expansion(self.prompt, self.messages, self.requests)

    @property
    def callers(self) -> tuple[AgentCalls, ...]:
        """Who asked the model in this turn, the main agent first, each with its guidance, tools and requests."""
        return agent_calls(self.requests)

    @property
    def guidance(self) -> str:
        """The system prompt that the main agent worked under, as the model server received it."""
        return next((called.guidance for called in self.callers if not called.id), "")

    @property
    def subagents(self) -> tuple[Subagent, ...]:
        """The subagents that were started in this turn, in order, those of subagents included."""
        return subagents(self.messages, self.requests)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions of the CLI on the tools of this turn, and who decided."""
        told = (message for message in self.messages if isinstance(message, UserMessage))
        return tuple(found for message in told for found in decisions_of(message))

    def blocked_by(self, call_id: str) -> Literal["", "hook", "permission"]:
        """Who stopped a tool call: a `hook`, or the rules of `permission`.

        Empty if it ran.

        Raises:
            ExpectationError: if the turn has no such call.
        """
        if call_id not in [use.id for use in self.tool_uses]:
            calls = ", ".join(f"{use.id} ({use.name})" for use in self.tool_uses) or "none"
            raise ExpectationError("the turn has no such tool call", expected=call_id, seen=calls)
        deferred = self.result.data.get("deferred_tool_use")
        if isinstance(deferred, dict) and deferred.get("id") == call_id:
            return "hook"  # it put the tool off, and the turn ended
        asked = [message for message in self.messages if isinstance(message, PermissionDenied)]
        if any(denied.call_id == call_id and denied.decided_by == "hook" for denied in asked):
            return "hook"  # it asked for a confirmation, which nobody can give here
        found = [decision for decision in self.decisions if decision.call_id == call_id]
        return found[-1].blocked_by if found else ""

    @property
    def prompt_blocked(self) -> str:
        """Why a hook did not let the prompt through to the model; empty if none did.

        Such a turn is no error, and its result says `success`.
        """
        outcomes = (message.data.get("prompt_submit_outcome") for message in self.messages)
        blocked = [found for found in outcomes if isinstance(found, dict) and found.get("kind") in _KEPT_BACK]
        return str(blocked[0].get("reason") or "blocked") if blocked else ""

    @property
    def plugin_defects(self) -> tuple[Defect, ...]:
        """The parts of plugins that could not be loaded. A broken plugin does not fail a turn."""
        return tuple(map(load_defect, self.init.plugin_errors)) if self.init is not None else ()

    @property
    def local_outcome(self) -> str:
        """Why a slash command was not sent to the model: `failed`, `unavailable_headless`; else empty."""
        outcomes = (message.data.get("local_command_outcome") for message in self.messages)
        return next((str(found.get("kind", "")) for found in outcomes if isinstance(found, dict)), "")

    @property
    def tool_uses(self) -> tuple[ClaudeToolUse, ...]:
        """All tool calls with their results, in the order of the calls."""
        results = {
            part.call_id: part
            for message in self.messages
            if isinstance(message, UserMessage)
            for part in message.parts
            if isinstance(part, ToolResult)
        }
        return tuple(
            _tool_use(part, results.get(part.id), message.parent)
            for message in self.messages
            if isinstance(message, AssistantMessage)
            for part in message.parts
            if isinstance(part, ToolCall)
        )


def _tool_use(call: ToolCall, result: ToolResult | None, parent: str) -> ClaudeToolUse:
    return ClaudeToolUse(
        call.id,
        call.name,
        call.arguments,
        result.text if result is not None else None,
        result.is_error if result is not None else False,
        parent,
    )


def describe(message: StreamMessage) -> str:
    """A message in one line, for errors."""
    match message:
        case AssistantMessage(parts=parts):
            return "assistant: " + "; ".join(map(_part, parts))
        case UserMessage(parts=parts):
            return "user: " + "; ".join(map(_part, parts))
        case TurnResult(is_error=is_error, text=text):
            return f"result, is_error={is_error}: {preview(text)}"
        case HookResponse(hook=hook, outcome=outcome, output=output):
            return f"hook {hook}: {outcome} {preview(output)}"
        case ControlResponse(error=error):
            return f"control response: {error or 'ok'}"
        case UnknownMessage(data=data):
            return f"unknown: {preview(repr(data))}"
        case _:
            return str(message.data.get("subtype", message.data.get("type")))


def _part(part: Part) -> str:
    match part:
        case Text(text=text):
            return preview(text)
        case ToolCall(name=name, arguments_json=arguments):
            return f"calls {name} {preview(arguments)}"
        case ToolResult(text=text, is_error=is_error):
            return f"{'error' if is_error else 'result'} {preview(text)}"
        case _:
            return type(part).__name__.lower()
