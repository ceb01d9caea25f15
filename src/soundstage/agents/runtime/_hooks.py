"""Commands that run before and after each tool.

A hook learns about the call from its environment (`VALARMIND_TOOL`, `VALARMIND_AGENT`, `VALARMIND_ARGS`,
`VALARMIND_SUCCESS`, and the same with `SOUNDSTAGE_`) and from its standard input, which is the arguments as
JSON. Variables that are named like secrets are not passed on. Exit code 2 of a hook before a tool blocks it,
as in Claude Code; every other way to fail is journaled (`HookFired`), and the tool runs.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from soundstage.agents.runtime._calling import OutOfTime, StopCallbacks, call_within
from soundstage.clock import Clock
from soundstage.errors import EnvironmentProblem, ToolDefinitionError
from soundstage.journal import HookFired, Journal, without_secrets
from soundstage.lifecycle import Execution, Finished
from soundstage.messages import ToolCall

HookEvent = Literal["PreToolUse", "PostToolUse"]
EVENTS: Final[tuple[HookEvent, ...]] = ("PreToolUse", "PostToolUse")
BLOCK: Final = 2  # the exit code that blocks; code.claude.com/docs/en/hooks, "Exit code output"
LIMIT: Final = 10.0  # seconds for one hook
_LONGEST: Final = 100_000  # characters; the kernel takes at most 128 KiB for one variable
_SHOWN: Final = 2000
_PREFIXES: Final = ("VALARMIND_", "SOUNDSTAGE_")


class ShellHook(msgspec.Struct, frozen=True, kw_only=True):
    """A command and when it runs.

    Args:
        event: `PreToolUse` or `PostToolUse`.
        command: what `/bin/sh` runs.
        tools: which tools, as a pattern: `*`, `write_*`.

    Raises:
        ToolDefinitionError: if there is no such event, or no command.
    """

    event: HookEvent
    command: str
    tools: str = "*"

    def __post_init__(self) -> None:
        if self.event not in EVENTS or not self.command.strip():
            raise ToolDefinitionError(
                "this is no hook",
                expected=f"a command, and an event: {' or '.join(EVENTS)}",
                seen=f"{self.command!r} on {self.event!r}",
            )


class ShellHooks:
    """The hooks of a project; give it to an `AgentLoop`.

    Args:
        hooks: in the order in which they run.
        project: the folder that they run in.
        environment: their variables, less those that are named like secrets; the process's own unless given.
        limit: seconds for one hook.

    Example:
        >>> hooks = ShellHooks([ShellHook(event="PreToolUse", command="make lint")], project=".")
        >>> hooks.project.name == Path.cwd().name
        True
    """

    def __init__(
        self,
        hooks: Iterable[ShellHook],
        *,
        project: Path | str,
        environment: Mapping[str, str] | None = None,
        limit: float = LIMIT,
    ) -> None:
        self.hooks = tuple(hooks)
        self.project = Path(project).resolve()
        self._environment = without_secrets(os.environ if environment is None else environment)
        self._limit = limit

    async def before(self, call: ToolCall, *, agent: str, journal: Journal, cause: int, within: float) -> str:
        """Run the hooks before a tool. What it returns is the reason why the tool is blocked, or nothing."""
        values = {"TOOL": call.name, "AGENT": agent, "ARGS": call.arguments_json}
        for hook in self._of("PreToolUse", call):
            done = await self._run(hook, values, call, journal, cause, within)
            if done is not None and done.code == BLOCK and not done.expired:
                return done.stderr.strip() or f"the hook {hook.command!r} blocked it"
        return ""

    async def after(
        self, call: ToolCall, *, agent: str, success: bool, journal: Journal, cause: int, within: float
    ) -> None:
        """Run the hooks after a tool."""
        values = {"TOOL": call.name, "AGENT": agent, "SUCCESS": "true" if success else "false"}
        for hook in self._of("PostToolUse", call):
            await self._run(hook, values, call, journal, cause, within)

    def _of(self, event: HookEvent, call: ToolCall) -> list[ShellHook]:
        return [
            hook for hook in self.hooks if hook.event == event and fnmatch.fnmatchcase(call.name, hook.tools)
        ]

    async def _run(
        self,
        hook: ShellHook,
        values: Mapping[str, str],
        call: ToolCall,
        journal: Journal,
        cause: int,
        within: float,
    ) -> Finished | None:
        fits = {name: value for name, value in values.items() if len(value) <= _LONGEST}
        execution = Execution(
            ("/bin/sh", "-c", hook.command),
            cwd=self.project,
            environment={
                **self._environment,
                **{f"{prefix}{name}": value for prefix in _PREFIXES for name, value in fits.items()},
            },
            stdin=call.arguments_json.encode("utf-8", "replace"),
        )
        limit = min(self._limit, max(within, 0.001))
        done, problem = await _finished(execution, limit, journal.clock)
        paired = hook.event == "PreToolUse" and bool(self._of("PostToolUse", call))
        fired = msgspec.structs.replace(
            _fired(hook, done, problem),
            call_id=call.id,
            input={"tool_name": call.name, "tool_input": call.arguments},
            paired=paired,
        )
        journal.append(fired, source="hooks", cause=cause)
        return done


async def _finished(execution: Execution, limit: float, clock: Clock) -> tuple[Finished | None, str]:
    """How it ended, or why it could not be run."""
    stops = StopCallbacks()
    stops.add(execution.stop)
    try:
        # it watches its own time; the wait around it is for a thread that does not come back
        done: Finished = await call_within(
            lambda: execution.run(limit), within=limit + LIMIT, clock=clock, stops=stops
        )
    except EnvironmentProblem as error:
        return None, f"it cannot be run: {error.seen}"
    except OutOfTime:
        return None, f"it did not end within {limit + LIMIT:g} s"
    return done, f"no end within {limit:g} s" if done.expired else ""


def _fired(hook: ShellHook, done: Finished | None, problem: str) -> HookFired:
    output = "\n".join(text for text in (problem, *(done or ("", "", ""))[1:3]) if text and text.strip())
    if done is None:
        outcome = "failed"
    elif done.expired:
        outcome = "timeout"
    elif done.code == 0:
        outcome = "success"
    else:
        outcome = "blocked" if done.code == BLOCK and hook.event == "PreToolUse" else "failed"
    return HookFired(
        hook=hook.command,
        event=hook.event,
        outcome=outcome,
        exit_code=done.code if done is not None else None,
        output=output[:_SHOWN],
    )
