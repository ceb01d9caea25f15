"""Running the tool that a model asks for: five checks in order, the call, and a result whatever happens.

A bad call is no exception: the model reads what was wrong and may do better. The order of the checks is
fixed, so that an agent learns nothing about arguments of tools that it may not use.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.agents.runtime._calling import OutOfTime, StopCallbacks, call_within
from soundstage.agents.runtime._contract import AgentDefinition, AgentTask
from soundstage.agents.runtime._errors import ToolError
from soundstage.agents.runtime._hooks import ShellHooks
from soundstage.agents.runtime._permissions import PermissionMode
from soundstage.agents.runtime._text import as_text, error_text, shorten
from soundstage.agents.runtime._tool import Tool, ToolContext, ToolRegistry
from soundstage.clock import Deadline
from soundstage.errors import ToolDefinitionError, did_you_mean
from soundstage.journal import FileContent, Journal, ToolCalled, ToolReturned, file_changed, readable
from soundstage.match import preview
from soundstage.messages import ToolCall, ToolResult
from soundstage.models import working_on
from soundstage.tools import argument_problems

TIMEOUT: Final = 120.0  # seconds for one call of a tool without a limit of its own


class ToolExecution(NamedTuple):
    """The result of a call: the text for the model, the position of its `ToolCalled`, if it got that far, and
    whether it ends the task."""

    result: ToolResult
    position: int | None = None
    ends: bool = False


class _Call(NamedTuple):
    """One call on its way through the checks."""

    call: ToolCall
    agent: AgentDefinition
    task: AgentTask
    deadline: Deadline
    position: int


class ToolExecutor:
    """Runs tools for agents.

    The checks, in order: is there such a tool; may the agent use it; does the permission mode let it happen;
    do the arguments fit the schema; does no hook block it. Then the tool runs, within its time. Everything
    that goes wrong is a result that begins with `ERROR:`.

    Args:
        tools: the tools that there are.
        journal: where `ToolCalled`, `ToolReturned` and `FileChanged` go.
        mode: whether to ask before tools that write or execute.
        hooks: commands before and after each tool.
        timeout: seconds for one call of a tool without a limit of its own.
    """

    def __init__(
        self,
        tools: ToolRegistry,
        journal: Journal,
        *,
        mode: PermissionMode | None = None,
        hooks: ShellHooks | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        if not 0 < timeout < float("inf"):
            raise ToolDefinitionError("a tool needs a time limit", expected="over 0 s", seen=repr(timeout))
        self.tools = tools
        self.journal = journal
        self._mode = mode if mode is not None else PermissionMode()
        self._hooks = hooks
        self._timeout = timeout

    async def execute(
        self,
        call: ToolCall,
        agent: AgentDefinition,
        task: AgentTask,
        *,
        within: float,
        cause: int | None = None,
    ) -> ToolExecution:
        """Run one call.

        Args:
            call: what the model asks for.
            agent: who asks.
            task: what it is doing.
            within: seconds that are left for the task.
            cause: position of the event that led to the call; the reply that asked.

        Raises:
            asyncio.CancelledError: when the task is aborted; the tool has been stopped.
        """
        if call.raw:
            return ToolExecution(
                _failed(call, f"the arguments are not a JSON object: {preview(call.raw, 200)}")
            )
        called = ToolCalled(
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
            agent=agent.slug,
            conversation=task.conversation,
        )
        position = self.journal.append(called, source=agent.slug, cause=cause)
        token = working_on.set(position)
        result = _failed(call, "the call was aborted")
        try:
            step = _Call(call, agent, task, Deadline(self.journal.clock, max(within, 0.001)), position)
            result = await self._result(step)
        finally:
            working_on.reset(token)
            returned = ToolReturned(call_id=call.id, text=result.text, is_error=result.is_error)
            self.journal.append(returned, source=agent.slug, cause=position)
        return ToolExecution(result, position, ends=not result.is_error and self.tools[call.name].ends)

    async def _result(self, step: _Call) -> ToolResult:
        try:
            tool = self._allowed(step)
            refused = await self._mode.refusal(step.agent, tool, step.call)
            if refused:
                raise ToolError(refused)
            arguments = _arguments(tool, step.call)
            await self._before(step)
        except Exception as error:  # noqa: BLE001  (the model reads it)
            return _failed(step.call, _words(error))
        try:
            value = await self._run(tool, arguments, step)
            result = _done(step.call, shorten(as_text(value)))
        except Exception as error:  # noqa: BLE001  (whatever a tool raises, the model reads it)
            result = _failed(step.call, _words(error))
        await self._after(step, success=not result.is_error)
        return result

    def _allowed(self, step: _Call) -> Tool:
        """The tool, if it exists and the agent may use it."""
        name, agent = step.call.name, step.agent
        if name not in self.tools:
            offered = ", ".join(agent.tools) or "none"
            hint = did_you_mean(name, agent.tools)
            raise ToolError(f"Unknown tool: {name}. The tools are: {offered}" + (f"; {hint}" if hint else ""))
        tool = self.tools[name]
        for permission in sorted(tool.permissions - agent.permissions):
            raise ToolError(f"Permission denied: {name} requires '{permission}'")
        if name not in agent.tools:
            raise ToolError(f"Permission denied: {name} is not among the tools of {agent.slug}")
        return tool

    async def _before(self, step: _Call) -> None:
        if self._hooks is not None:
            reason = await self._hooks.before(
                step.call,
                agent=step.agent.slug,
                journal=self.journal,
                cause=step.position,
                within=step.deadline.left,
            )
            if reason:
                raise ToolError(f"Blocked by a hook: {readable(reason)}")

    async def _after(self, step: _Call, *, success: bool) -> None:
        if self._hooks is not None:
            await self._hooks.after(
                step.call,
                agent=step.agent.slug,
                success=success,
                journal=self.journal,
                cause=step.position,
                within=step.deadline.left,
            )

    async def _run(self, tool: Tool, arguments: dict[str, Any], step: _Call) -> Any:
        limit = self._timeout if tool.timeout is None else tool.timeout
        within = max(min(limit, step.deadline.left), 0.001)
        stops = StopCallbacks()
        if tool.context:
            arguments[tool.context] = self._context(step, within, stops)
        function = functools.partial(tool.call, **arguments)
        try:
            return await call_within(function, within=within, clock=self.journal.clock, stops=stops)
        except OutOfTime:
            raise ToolError(f"{tool.name} did not return within {within:g} s") from None

    def _context(self, step: _Call, within: float, stops: StopCallbacks) -> ToolContext:
        def changed(path: str, before: FileContent, after: FileContent) -> None:
            event = file_changed(self.journal.contents, path, before, after)
            if event is not None:
                self.journal.append(event, source=step.agent.slug, cause=step.position)

        return ToolContext(
            agent=step.agent,
            task=step.task,
            call=step.call,
            clock=self.journal.clock,
            within=within,
            changed=changed,
            on_stop=stops.add,
        )


def _arguments(tool: Tool, call: ToolCall) -> dict[str, Any]:
    problems = argument_problems(tool.schema, call.arguments)
    if problems:
        raise ToolError(f"{tool.name} cannot be called like this: {'; '.join(problems)}")
    try:
        return dict(tool.convert(call.arguments))
    except msgspec.ValidationError as error:
        raise ToolError(f"{tool.name} cannot be called like this: {error}") from None


def _words(error: Exception) -> str:
    """An exception as the model reads it; only those that tools raise on purpose speak for themselves."""
    try:
        text = readable(str(error))
    except Exception:  # noqa: BLE001  (an exception of the tool's own, with a `__str__` that fails)
        text = ""
    if isinstance(error, ToolError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _failed(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, text=error_text(text), is_error=True)


def _done(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, text=text)
