"""The agent loop: asks the model, runs the tools that it wants, until it has an answer or must stop.

How it ends. The turns are taken in a task of their own, and `run` waits for it, for at most the time that the
task has. `abort` and the deadline cancel that inner task and leave a mark that says why, so that the outcome
says it too; a cancellation from outside reaches `run`, which ends the inner task and lets it go on. Whatever
swallows a cancellation inside finds the mark at the next turn or tool, and is not waited for. A model that
fails is data: the outcome says so. What the author got wrong (a script without an answer, a `trim` that
raises) is journaled as a failure of the agent and then raised.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from soundstage.agents.runtime._calling import give_up
from soundstage.agents.runtime._contract import AgentDefinition, AgentOutcome, AgentTask
from soundstage.agents.runtime._errors import TaskError
from soundstage.agents.runtime._executor import TIMEOUT, ToolExecutor
from soundstage.agents.runtime._hooks import ShellHooks
from soundstage.agents.runtime._permissions import PermissionMode
from soundstage.agents.runtime._registry import AgentRegistry
from soundstage.clock import Deadline, IdSource, running_clock
from soundstage.errors import InvalidStateError, ModelError
from soundstage.journal import AgentFinished, AgentStarted, FileChanged, Journal, ModelResponded
from soundstage.messages import (
    Caller,
    Message,
    ModelRequest,
    ModelResponse,
    Part,
    ToolCall,
    Usage,
    assistant,
    reminder,
    system,
    tool,
    user,
)
from soundstage.models import JournaledModel, Model, Wrapper, complete, script_of, working_on

CONTINUE: Final = "Your answer was cut off. Continue exactly where it stopped, without repeating anything."
_OVER_MAXIMUM: Final = 3  # a task may ask for this many times the agent's maximum

Reason = Literal["stop", "max_turns", "timeout", "aborted", "error"]
Assemble = Callable[[AgentDefinition, AgentTask], str]
Trim = Callable[[tuple[Message, ...]], tuple[Message, ...]]


class _Ending(NamedTuple):
    reason: Reason
    error: str = ""


_ABORTED: Final = _Ending("aborted", "Agent error: the task was aborted")
_BROKEN: Final = {
    "error": _Ending("error", "Agent error: the answer broke off before the model had finished"),
    "content_filter": _Ending("error", "Agent error: the provider's filter stopped the answer"),
}


def own_prompt(definition: AgentDefinition, _: AgentTask) -> str:
    """The system prompt that an `AgentLoop` uses unless it is given another: the agent's own."""
    return definition.prompt


def untrimmed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The history as an `AgentLoop` sends it unless it is given a `trim`: all of it."""
    return messages


class AgentLoop:
    """Runs agents against any model, scripted or live.

    Args:
        model: what answers. If it is not journaled yet, its traffic goes into `journal`.
        agents: the agents, with their tools.
        journal: the record of the run; one in memory unless given.
        ids: where ids of tool calls come from if a model gives none.
        default_model: the name of the model to ask for; an agent's suffix is added to it.
        mode: whether to ask before tools that write or execute.
        hooks: commands before and after each tool.
        tool_timeout: seconds for one call of a tool without a limit of its own.
        assemble: makes the system prompt of a task.
        trim: shortens the messages of a request, system message included, before it is sent.
        limit_name: what the provider calls the limit of one answer (`max_output_tokens` of a definition).

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.models import Script, ScriptedModel
        >>> script = Script()
        >>> _ = script.on(user="hello").reply("hi")
        >>> async def main():
        ...     agents = AgentRegistry([AgentDefinition(slug="greeter")])
        ...     loop = AgentLoop(ScriptedModel(script), agents)
        ...     return await loop.run(AgentTask(id="1", agent="greeter", prompt="hello"))
        >>> run(main()).output
        'hi'
    """

    def __init__(
        self,
        model: Model,
        agents: AgentRegistry,
        *,
        journal: Journal | None = None,
        ids: IdSource | None = None,
        default_model: str = "",
        mode: PermissionMode | None = None,
        hooks: ShellHooks | None = None,
        tool_timeout: float = TIMEOUT,
        assemble: Assemble = own_prompt,
        trim: Trim = untrimmed,
        limit_name: str = "max_tokens",
    ) -> None:
        self.agents = agents
        self.journal = journal if journal is not None else Journal(clock=running_clock())
        self.model: Model = model if _journaled(model, self.journal) else JournaledModel(model, self.journal)
        self.ids = ids if ids is not None else IdSource()
        self.default_model = default_model
        self.executor = ToolExecutor(agents.tools, self.journal, mode=mode, hooks=hooks, timeout=tool_timeout)
        self.assemble = assemble
        self.trim = trim
        self.limit_name = limit_name
        if (script := script_of(self.model)) is not None:
            tools = [name for agent in agents.values() for name in agent.tools]
            script.bind("the registry", agents=agents, tools=tools)
        self._at_work: list[_Work] = []

    async def run(self, task: AgentTask) -> AgentOutcome:
        """Do the task; see `TaskRunner`.

        Raises:
            UnknownAgentError: if there is no such agent.
            TaskError: if the task says nothing, or its timeout is none.
            ScriptError: if the script or tape behind the model has no answer.
            InvalidStateError: if the journal keeps another time than the event loop, so that limits would pass at once.
            asyncio.CancelledError: when it is aborted from outside.
        """
        if running_clock().virtual is not self.journal.clock.virtual:
            raise InvalidStateError(
                "this agent loop keeps another time than the event loop on which it runs",
                expected="a journal on the clock of the run",
                hint="make the AgentLoop, or its Journal, in the coroutine that you run",
            )
        work = _Work(self, self.agents[task.agent], task)
        self._at_work.append(work)
        try:
            return await work.run()
        finally:
            self._at_work.remove(work)

    def abort(self, task: str) -> bool:
        """End a task that is being done: its outcome is `aborted`. False if there is no such task.

        Args:
            task: the task's id.
        """
        found = [work for work in self._at_work if work.task.id == task]
        for work in found:
            work.abort()
        return bool(found)


class _Work:
    """One task of one agent, from start to end."""

    def __init__(self, loop: AgentLoop, agent: AgentDefinition, task: AgentTask) -> None:
        self.task = task
        self._loop = loop
        self._agent = agent
        self._journal = loop.journal
        self._opening = _opening(agent, task)
        self._deadline = Deadline(loop.journal.clock, _limit(agent, task))
        self._prompt = ""
        self._added: list[Message] = []
        self._said: list[str] = []
        self._calls: list[ToolCall] = []
        self._called_at: set[int] = set()
        self._usage = Usage()
        self._turns = 0
        self._started = 0
        self._answered_at: int | None = None
        self._turns_taken: asyncio.Task[_Ending] | None = None
        self._over: _Ending | None = None  # set when it is ended from outside

    def abort(self) -> None:
        if self._turns_taken is not None and self._over is None:
            self._over = _ABORTED
            self._turns_taken.cancel("aborted")

    async def run(self) -> AgentOutcome:
        task = self.task
        started = AgentStarted(
            agent=self._agent.slug, conversation=task.conversation, parent=task.parent, task=task.id
        )
        self._started = self._journal.append(started, source=self._agent.slug, cause=working_on.get())
        token = working_on.set(self._started)
        try:
            return self._finish(await self._bounded())
        except asyncio.CancelledError:
            self._finish(_ABORTED)
            raise
        except Exception as error:
            self._finish(_Ending("error", f"Agent error: {type(error).__name__}: {error}"))
            raise
        finally:
            working_on.reset(token)

    async def _bounded(self) -> _Ending:
        """Take the turns within the task's time, until they are over or aborted."""
        turns = self._turns_taken = asyncio.create_task(self._take_turns(), name=f"agent {self._agent.slug}")
        try:
            await asyncio.wait({turns}, timeout=self._deadline.timeout)
        except asyncio.CancelledError:
            self._over = _ABORTED
            await give_up(turns)
            raise
        if not turns.done():
            self._over = self._timed_out()
            await give_up(turns)
        if self._over is not None:
            return self._over
        if turns.cancelled():
            return _Ending("error", "Agent error: the model or a tool cancelled the task from within")
        try:
            return turns.result()
        except ModelError as error:
            return _Ending("error", f"Agent error: {error}")

    def _timed_out(self) -> _Ending:
        return _Ending("timeout", f"Agent error: no end within {self._deadline.within:g} s")

    async def _take_turns(self) -> _Ending:
        self._prompt = self._loop.assemble(self._agent, self.task)
        for _ in range(self._agent.max_turns):
            response = await self._ask()
            ending = await self._use_tools(response) if response.tool_calls else self._answered(response)
            if ending is not None:
                return ending
        return _Ending("max_turns", f"Max turns reached ({self._agent.max_turns})")

    async def _ask(self) -> ModelResponse:
        self._go_on()
        self._turns += 1
        before = len(self._journal)
        response = await complete(self._loop.model, self._request())
        self._usage += response.usage
        self._answered_at = self._position_of(response, before)
        working_on.set(self._answered_at or self._started)
        return _with_ids(response, self._loop.ids)

    def _go_on(self) -> None:
        """Stop here if the work is over, though something has swallowed the cancellation."""
        if self._over is not None:
            raise asyncio.CancelledError(self._over.reason)

    def _position_of(self, response: ModelResponse, after: int) -> int | None:
        """Where the reply is; other agents may have got theirs in the meantime."""
        for record in reversed(self._journal.read(after, ModelResponded)):
            if record.event.response == response:  # type: ignore[attr-defined]
                return record.position
        return None

    def _request(self) -> ModelRequest:
        agent, loop = self._agent, self._loop
        head = (system(self._prompt),) if self._prompt else ()
        limit = agent.max_output_tokens
        return ModelRequest(
            model=loop.default_model + agent.model_suffix if loop.default_model else "",
            messages=loop.trim((*head, *self._opening, *self._added)),
            tools=tuple(one.definition for one in loop.agents.tools_of(agent.slug)),
            settings={} if limit is None else {loop.limit_name: limit},
            caller=Caller(
                agent=agent.slug,
                conversation=self.task.conversation,
                within=self.task.within,
                parent=self.task.parent,
                phase=self.task.phase,
            ),
        )

    async def _use_tools(self, response: ModelResponse) -> _Ending | None:
        """Run the calls, all of them; None if the model is to see the results."""
        self._added.append(response.message())
        over = False
        for call in response.tool_calls:
            self._go_on()
            self._calls.append(call)
            done = await self._loop.executor.execute(
                call, self._agent, self.task, within=self._deadline.left, cause=self._answered_at
            )
            if done.position is not None:
                self._called_at.add(done.position)
            result = done.result
            self._added.append(tool(call.id, result.text, is_error=result.is_error, name=call.name))
            over = over or done.ends
        if over and response.text:
            self._said.append(response.text)
        return _Ending("stop") if over else None

    def _answered(self, response: ModelResponse) -> _Ending | None:
        """Take up an answer without tool calls; None if the model is to go on."""
        if response.text:
            self._said.append(response.text)
        if response.finish == "length":
            if response.text:
                self._added.append(assistant(response.text))
            self._added.append(user(reminder(CONTINUE)))
            return None
        if response.parts:
            self._added.append(response.message())
        return None if response.finish == "pause" else _BROKEN.get(response.finish, _Ending("stop"))

    def _finish(self, ending: _Ending) -> AgentOutcome:
        success = ending.reason == "stop"
        output = "".join(self._said)
        finished = AgentFinished(
            agent=self._agent.slug,
            task_id=self.task.id,
            conversation=self.task.conversation,
            outcome="success" if success else "aborted" if ending.reason == "aborted" else "failure",
            text=output if success else ending.error,
        )
        self._journal.append(finished, source=self._agent.slug, cause=self._started)
        return AgentOutcome(
            task=self.task.id,
            agent=self._agent.slug,
            success=success,
            output=output,
            error=ending.error,
            reason=ending.reason,
            turns=self._turns,
            tool_calls=tuple(self._calls),
            messages=tuple(self._added),
            files=self._files(),
            usage=self._usage,
        )

    def _files(self) -> tuple[str, ...]:
        changes = self._journal.read(self._started, FileChanged) if self._called_at else []
        paths = [record.event.path for record in changes if record.cause in self._called_at]  # type: ignore[attr-defined]
        return tuple(dict.fromkeys(paths))


def _opening(agent: AgentDefinition, task: AgentTask) -> tuple[Message, ...]:
    """The messages before the first answer: the history, then results of other tasks and the prompt."""
    blocks = [reminder(f"## {name}\n\n{text}") for name, text in task.context.items()]
    said = "\n\n".join([*blocks, *([task.prompt] if task.prompt else [])])
    opening = (*task.history, user(said)) if said else task.history
    if not opening:
        raise TaskError(
            f"the task {task.id!r} says nothing to {agent.slug}",
            expected="a prompt, a context or a history",
            hint="AgentTask(prompt=...)",
        )
    return opening


def _limit(agent: AgentDefinition, task: AgentTask) -> float:
    """Seconds for the task: what it asks for, or the agent's own, up to three times the agent's maximum."""
    asked = agent.timeout if task.timeout is None else task.timeout
    if not asked > 0 or math.isnan(asked):
        raise TaskError(
            f"the task {task.id!r} has no time", expected="a timeout of more than 0 s", seen=repr(asked)
        )
    return min(asked, _OVER_MAXIMUM * agent.max_timeout)


def _with_ids(response: ModelResponse, ids: IdSource) -> ModelResponse:
    """The reply with an id for each tool call; some servers give none."""
    if all(call.id for call in response.tool_calls):
        return response
    parts: list[Part] = [
        ToolCall(id=ids.draw("call_"), name=part.name, arguments=part.arguments, raw=part.raw)
        if isinstance(part, ToolCall) and not part.id
        else part
        for part in response.parts
    ]
    return ModelResponse(
        parts=tuple(parts),
        finish=response.finish,
        usage=response.usage,
        model=response.model,
        headers=response.headers,
        served_by=response.served_by,
    )


def _journaled(model: Model, journal: Journal) -> bool:
    """Whether what passes through the model goes into this journal already."""
    while isinstance(model, Wrapper):
        if isinstance(model, JournaledModel) and model.journal is journal:
            return True
        model = model.inner
    return False
