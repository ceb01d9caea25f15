"""Carrying out a plan: every task as soon as what it needs is there, side by side.

Tasks without open dependencies start at once, in the order of the plan. When one is done, those that waited only for
it start; when one fails, those that need it are skipped, and so on down the line, while all others go on. A failure
is a result. What is no failure of an agent (a script or harness that is wrong, an abort) ends everything: the tasks
that run are cancelled and waited for, and the error comes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from soundstage.agents.runtime import AgentOutcome
from soundstage.agents.teams._plan import Graph, Plan, PlannedTask, graph_of
from soundstage.errors import HarnessError, ScriptError

RunTask = Callable[[int, Mapping[str, str]], Awaitable[AgentOutcome]]
Status = Literal["completed", "failed", "skipped"]


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one task of a plan.

    Args:
        index: its place in the plan, from 0.
        task: the task.
        status: `skipped` if something that it needs has failed.
        outcome: what the agent reported, unless it was skipped.
        error: why it failed, or was skipped.
    """

    index: int
    task: PlannedTask
    status: Status
    outcome: AgentOutcome | None = None
    error: str = ""

    @property
    def output(self) -> str:
        """The agent's words."""
        return self.outcome.output if self.outcome is not None else ""


async def carry_out(plan: Plan, run: RunTask) -> tuple[TaskResult, ...]:
    """Run all tasks of a checked plan.

    Args:
        plan: the plan.
        run: runs the task of an index; it gets the results of what the task needs as `<agent>_<index>_result`.
    """
    return await _Schedule(plan, run).results()


class _Schedule:
    """One plan on its way."""

    def __init__(self, plan: Plan, run: RunTask) -> None:
        self._plan = plan
        self._run = run
        self._graph: Graph = graph_of(plan)
        self._missing = [len(needs) for needs in self._graph.needs]
        self._done: dict[int, TaskResult] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._finished: asyncio.Queue[TaskResult | BaseException] = asyncio.Queue()

    async def results(self) -> tuple[TaskResult, ...]:
        try:
            for index, missing in enumerate(self._missing):
                if not missing:
                    self._start(index)
            while len(self._done) < len(self._plan.tasks):
                finished = await self._finished.get()
                if isinstance(finished, BaseException):
                    raise finished
                self._settle(finished)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        return tuple(self._done[index] for index in range(len(self._plan.tasks)))

    def _start(self, index: int) -> None:
        task = asyncio.create_task(self._one(index), name=f"task {index}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _one(self, index: int) -> None:
        try:
            outcome = await self._run(index, self._context(index))
        except (HarnessError, ScriptError, asyncio.CancelledError) as error:
            self._finished.put_nowait(error)
        except Exception as error:  # noqa: BLE001  (an agent's failure is a result)
            self._finished.put_nowait(self._failed(index, f"{type(error).__name__}: {error}"))
        else:
            error_text = "" if outcome.success else outcome.error or outcome.reason
            self._finished.put_nowait(
                TaskResult(
                    index=index,
                    task=self._plan.tasks[index],
                    status="completed" if outcome.success else "failed",
                    outcome=outcome,
                    error=error_text,
                )
            )

    def _failed(self, index: int, error: str) -> TaskResult:
        return TaskResult(index=index, task=self._plan.tasks[index], status="failed", error=error)

    def _context(self, index: int) -> dict[str, str]:
        needs = (self._done[need] for need in sorted(self._graph.needs[index]))
        return {f"{result.task.agent}_{result.index}_result": result.output for result in needs}

    def _settle(self, result: TaskResult) -> None:
        """Keep a result; start what it makes possible, skip what it makes impossible."""
        pending = [result]
        while pending:
            settled = pending.pop()
            if settled.index in self._done:
                continue
            self._done[settled.index] = settled
            for other in self._graph.needed_by[settled.index]:
                if settled.status == "completed":
                    self._missing[other] -= 1
                    if self._missing[other] == 0:
                        self._start(other)
                elif other not in self._done:
                    pending.append(self._skipped(other, settled))

    def _skipped(self, index: int, because: TaskResult) -> TaskResult:
        what = "failed" if because.status == "failed" else "was skipped"
        error = f"it needs task {because.index} ({because.task.agent}), which {what}"
        return TaskResult(index=index, task=self._plan.tasks[index], status="skipped", error=error)
