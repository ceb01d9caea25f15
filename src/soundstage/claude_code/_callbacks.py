"""Hooks and permissions that are functions of the test: the CLI asks, we answer over its input.

How it works. `initialize` names a number for each hook. When one is due, the CLI sends a control request of
its own, with that number and the hook's input, and waits for the answer; the same for a tool that needs a
permission. Each request is answered in a task of its own, so that a slow function does not stop the reading.
A function that raises is answered with an error, which the CLI takes as "no opinion"; the exception is kept,
and the prompt that led to it raises it. The CLI reports nothing about these hooks in its stream, so the event
is ours.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from soundstage.claude_code._matchers import fits
from soundstage.claude_code._work import hook_fired
from soundstage.errors import ScriptError
from soundstage.journal import HookFired

HookFunction = Callable[[dict[str, Any]], Any]
"""Gets the hook's input, returns its JSON output (`deny(...)`, `{}`) or nothing; may be asynchronous."""

HOOK_EVENTS: Final = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStart"),
    *("SubagentStop", "PreCompact", "Notification", "PermissionRequest", "SessionStart", "SessionEnd"),
)


class HookCallback(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that is a function of the test.

    Args:
        event: one of `HOOK_EVENTS`.
        function: what is called.
        matcher: which tools it is for; all unless given.
        timeout: seconds after which the CLI goes on without it; its own limit unless given.
    """

    event: str
    function: HookFunction
    matcher: str = ""
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.event not in HOOK_EVENTS:
            raise ScriptError(
                "Claude Code has no such hook event",
                expected="one of " + ", ".join(HOOK_EVENTS),
                seen=repr(self.event),
            )

    @property
    def name(self) -> str:
        """As the CLI would call it: `PreToolUse:Bash`."""
        return f"{self.event}:{self.matcher}" if self.matcher else self.event


class PermissionAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The agent wants to use a tool that nobody has allowed."""

    tool: str
    arguments: dict[str, Any]
    call_id: str = ""
    reason: str = ""


PermissionFunction = Callable[[PermissionAsked], Any]
"""Gets what is asked; returns `True`, other arguments for the tool, or the reason why not, as a text."""

HookTold = Callable[[HookFired], None]


def deny(reason: str) -> dict[str, Any]:
    """Return the output of a `PreToolUse` hook that stops a tool; the model is told the reason.

    >>> deny("not on Fridays")["hookSpecificOutput"]["permissionDecision"]
    'deny'
    """
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


class Callbacks:
    """Answers what the CLI asks.

    Args:
        hooks: functions for hook events.
        permission: a function for permissions.
        send: writes a line to the CLI.
        told: called with the event of each hook that ran.
    """

    def __init__(
        self,
        hooks: Sequence[HookCallback],
        permission: PermissionFunction | None,
        *,
        send: Callable[[bytes], Awaitable[None]],
        told: HookTold,
    ) -> None:
        self._hooks = tuple(hooks)
        self._permission = permission
        self._send = send
        self._told = told
        self._tasks: set[asyncio.Task[None]] = set()
        self._raised: list[Exception] = []

    def registration(self) -> dict[str, Any]:
        """The fields of `initialize` that announce the hooks."""
        found: dict[str, list[dict[str, Any]]] = {}
        for number, hook in enumerate(self._hooks):
            entry: dict[str, Any] = {"matcher": hook.matcher or None, "hookCallbackIds": [f"hook-{number}"]}
            if hook.timeout is not None:
                entry["timeout"] = hook.timeout
            found.setdefault(hook.event, []).append(entry)
        return {"hooks": found} if found else {}

    def asked(self, line: Mapping[str, Any]) -> None:
        """Answer a control request of the CLI, in a task of its own."""
        task = asyncio.create_task(self._answer(line), name="claude-code callback")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, line: Mapping[str, Any]) -> None:
        request = line.get("request") or {}
        answer: dict[str, Any] = {"request_id": line.get("request_id")}
        try:
            answer |= {"subtype": "success", "response": await self._response(request)}
        except Exception as error:  # noqa: BLE001  (the test's own code; the prompt raises it)
            self._raised.append(error)
            answer |= {"subtype": "error", "error": f"{type(error).__name__}: {error}"}
        await self._send(msgspec.json.encode({"type": "control_response", "response": answer}) + b"\n")

    async def _response(self, request: Mapping[str, Any]) -> dict[str, Any]:
        subtype = request.get("subtype")
        if subtype == "hook_callback":
            return await self._run_hook(request)
        if subtype == "can_use_tool" and self._permission is not None:
            return await self._permit(request)
        raise ScriptError(f"Claude Code asks {subtype!r}, and nobody is there to answer")

    async def _run_hook(self, request: Mapping[str, Any]) -> dict[str, Any]:
        number = int(str(request.get("callback_id", "")).removeprefix("hook-"))
        hook = self._hooks[number]
        given = dict(request.get("input") or {})
        tell = functools.partial(
            hook_fired, hook.name, hook.event, copy.deepcopy(given), paired=self._paired(hook, given)
        )
        try:
            output = await _result(hook.function(given))
            if not isinstance(output, dict | None):
                raise ScriptError(
                    f"the function of the hook {hook.name} returned no hook output",
                    expected="a dict, such as deny('reason'), or nothing",
                    seen=repr(output),
                )
        except Exception as error:
            self._told(tell(outcome="error", output=f"{type(error).__name__}: {error}"))
            raise
        self._told(tell(outcome="success", output="" if output is None else str(output)))
        return output or {}

    def _paired(self, hook: HookCallback, given: Mapping[str, Any]) -> bool:
        """Whether there is a hook for the end of the tool use that `hook` is called before."""
        if hook.event != "PreToolUse":
            return False
        try:
            return any(
                after.event == "PostToolUse" and fits(after.event, after.matcher, given)
                for after in self._hooks
            )
        except ScriptError:  # a matcher that only the CLI can read
            return False

    async def _permit(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._permission is not None
        arguments = dict(request.get("input") or {})
        asked = PermissionAsked(
            tool=str(request.get("tool_name", "")),
            arguments=arguments,
            call_id=str(request.get("tool_use_id") or ""),
            reason=str(request.get("decision_reason") or ""),
        )
        answer = await _result(self._permission(asked))
        if isinstance(answer, str):
            return {"behavior": "deny", "message": answer}
        if answer is True or isinstance(answer, dict):
            return {"behavior": "allow", "updatedInput": answer if isinstance(answer, dict) else arguments}
        raise ScriptError(
            f"the permission function returned no decision on {asked.tool}",
            expected="True, a dict of arguments, or the reason for a no",
            seen=repr(answer),
        )

    def raise_what_failed(self) -> None:
        """Raise what a function of the test has raised since the last call."""
        raised, self._raised = self._raised, []
        if raised:
            raise raised[0]

    async def close(self) -> None:
        """End what is still being answered."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _result(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
