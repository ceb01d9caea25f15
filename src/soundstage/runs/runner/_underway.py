"""One run under way: the target at work, and whoever may stop it.

How it works. The target works in a task of its own, attempt by attempt. Beside it, one task follows the journal and
adds up what the run takes, and another one tells the watchers. Whoever wants the run to stop says so once (`stop`); the
first reason counts and goes on record. The run itself waits for three things: the end of the work, a stop, the end of
its time. Then it ends, in this order: the work is cancelled, which ends what the target has started; a target that ran
before is stopped, if the run was aborted; the watchers hear of it. Each of these steps has a limit of time, so a target
that cannot be stopped is told by a warning and holds nobody up. A cancellation from outside is a stop like any other,
and is passed on when all this is done; a second one does not cut it short.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, Final, Literal, NamedTuple

from soundstage.clock import Clock
from soundstage.errors import SoundstageError
from soundstage.journal import AbortReason, Event, Journal, ModelFailed, ModelResponded, RunAborted
from soundstage.lifecycle import GRACE
from soundstage.runs._events import AttemptFailed, RunClosed, RunOpened
from soundstage.runs.runner._budget import Budget, Meter
from soundstage.runs.runner._config import RunConfig
from soundstage.runs.runner._errors import BudgetExceededError, RunAbortedError
from soundstage.runs.runner._prompt import PromptPieces
from soundstage.runs.runner._retry import Retry, failed_for_a_moment, is_transient
from soundstage.runs.runner._targets import (
    AgentReply,
    RunContext,
    TargetPeer,
    name_of,
    opened,
    peer_of,
)
from soundstage.runs.runner._watching import Watcher, Watchers
from soundstage.trace import Prices
from soundstage.worlds import Workspace

ENDS_WITHIN: Final = 4 * GRACE  # seconds that each step of the end may take: programs get their grace twice
SOURCE: Final = "runner"  # of our events in the journal


class RunPlan(NamedTuple):
    """All that is known of a run before it begins."""

    id: str
    target: Any
    peer: TargetPeer | None
    prompt: str | PromptPieces
    config: RunConfig
    journal: Journal
    clock: Clock
    budget: Budget
    prices: Prices
    watchers: tuple[Watcher, ...]
    retry: Retry
    workspace: Workspace | None


class StoppedRun(NamedTuple):
    """Why a run was ended before its time."""

    reason: AbortReason
    detail: str
    error: BaseException | None


class RunUnderway:
    """One run.

    Attributes:
        begun: the position of the journal after which it begins.
        reply: the answer of the target; `None` if there is none.
        error: the last error of the target, or the cancellation of the run.
        stopped: why it was ended before its time.
        warnings: what is to be known besides.
    """

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._journal = plan.journal
        self.begun = self._measured = len(plan.journal)
        self.error: BaseException | None = None
        self.stopped: StoppedRun | None = None
        self._stopping = asyncio.Event()
        self._meter = Meter(plan.budget, plan.prices)
        self._watchers = Watchers(plan.watchers, plan.journal, self.begun, self._stop_for_watcher)
        self.reply: AgentReply | None = None
        self.warnings: list[str] = []
        self._ran_before = plan.peer if plan.peer is not None and plan.peer.runs else None
        opened_by = RunOpened(run=plan.id, target=name_of(plan.target), sources=plan.config.sources)
        self._journal.append(opened_by, source=SOURCE)

    # --- who may stop it

    def stop(self, reason: AbortReason, detail: str, error: BaseException | None = None) -> None:
        """Have the run stopped; the first reason counts."""
        if self.stopped is None:
            self.stopped = StoppedRun(reason, detail, error)
            self._stopping.set()
            self.note(RunAborted(reason=reason, detail=detail))

    def note(self, event: Event) -> bool:
        """Put something about the end on record. A full disk or a closed journal must not hold it up."""
        try:
            self._journal.append(event, source=SOURCE)
        except SoundstageError as problem:
            warning = f"the journal has no word of the end: {_first_line(problem)}"
            self.warnings += [] if warning in self.warnings else [warning]
            return False
        return True

    def _hear_abort(self) -> None:
        """Take the word of a target that has aborted the run itself: a budget or a limit of its own."""
        told = self._journal.read(self.begun, (RunAborted,))
        if self.stopped is None and told:
            event: RunAborted = told[0].event  # type: ignore[assignment]
            self.stopped = StoppedRun(event.reason, event.detail, None)

    def _stop_for_watcher(self, detail: str, error: Exception | None) -> None:
        self.stop("watcher", detail, error)

    def stop_for_budget(self, error: SoundstageError) -> None:
        """Have the run stopped because of its budget, or because nobody can say what it costs."""
        self.stop("budget", error.detail if isinstance(error, RunAbortedError) else error.summary, error)

    def _measure(self) -> None:
        """Add up what has come to the journal."""
        for record in self._journal.read(self._measured):
            self._measured = record.position
            try:
                exceeded: SoundstageError | None = self._meter.take(record)
            except SoundstageError as error:
                exceeded = error  # no price is known
            if exceeded is not None:
                self.stop_for_budget(exceeded)
                return

    async def _keep_measuring(self) -> None:
        async for _ in self._journal.tail(self.begun):
            self._measure()

    # --- the run

    async def drive(self) -> None:
        """Run to the end, whatever it is. Its attributes say what went wrong."""
        if self.stopped is not None:
            return
        work = asyncio.create_task(self._work(), name="run: work")
        beside = [
            asyncio.create_task(self._keep_measuring(), name="run: budget"),
            asyncio.create_task(self._watchers.follow(), name="run: watchers"),
        ]
        try:
            await self._until_over(work)
            self._hear_abort()
        except asyncio.CancelledError as error:
            self.error = error
            self.stop("interrupted", "the run was cancelled")
        finally:
            self.error = await _uninterrupted(self._end(work, beside)) or self.error

    async def _until_over(self, work: asyncio.Task[None]) -> None:
        plan = self._plan
        limit = min(plan.config.timeout, math.inf if plan.budget.time is None else plan.budget.time)
        stopping = asyncio.create_task(self._stopping.wait(), name="run: stop")
        try:
            done, _ = await asyncio.wait({work, stopping}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if done:
            self._measure()
            if work.done() and work.cancelled():
                self.stop("interrupted", f"{name_of(plan.target)} was cancelled, and not by this run")
        elif plan.budget.time is not None and plan.budget.time <= plan.config.timeout:
            self.stop_for_budget(BudgetExceededError("time", limit, limit))
        else:
            self.stop("timeout", f"it took over {limit:g} s")

    async def _work(self) -> None:
        """The attempts, and then the watchers, until they know all that has happened."""
        try:
            self.reply = await self._attempts()
        except TimeoutError as error:
            self.stop("session-timeout", _first_line(error), error)
            return
        except Exception as error:  # noqa: BLE001  (it is raised when the result is there)
            self.error = error
        finally:
            if isinstance(self._plan.prompt, PromptPieces):
                await self._plan.prompt.close()
        await self._watchers.tell()

    async def _attempts(self) -> AgentReply:
        plan = self._plan
        async with AsyncExitStack() as whole:
            given = await whole.enter_async_context(opened(plan.peer)) if plan.peer is not None else None
            for attempt in count(1):
                try:
                    return await self._attempt(given, attempt)
                except Exception as error:
                    if attempt == plan.retry.attempts or _taken(plan.prompt) or not is_transient(error):
                        if isinstance(error, _MomentaryError):
                            return error.reply
                        raise
                    await self._wait_after(attempt, error)
        raise AssertionError("unreachable")

    async def _wait_after(self, attempt: int, error: Exception) -> None:
        wait = self._plan.retry.delay(attempt)
        failed = AttemptFailed(attempt=attempt, error=_first_line(error), wait=wait)
        self._journal.append(failed, source=SOURCE)
        self.warnings.append(str(failed))
        await self._plan.clock.sleep(wait)

    async def _attempt(self, given: TargetPeer | None, attempt: int) -> AgentReply:
        plan, after = self._plan, len(self._journal)
        context = RunContext(plan.journal, plan.clock, plan.config, attempt)
        if given is not None:
            reply = await given.ask(plan.prompt, context)
        else:
            made = peer_of(plan.target(plan.config), made_by=name_of(plan.target))
            assert made is not None
            async with opened(made) as peer:
                reply = await peer.ask(plan.prompt, context)
        if reply.is_error:
            self._raise_momentary(reply, after)
        return reply

    def _raise_momentary(self, reply: AgentReply, after: int) -> None:
        """A failed turn may be another one next time, if the model had failed for a moment, and said no more."""
        if self._journal.read(after, (RunAborted,)):
            return  # it has ended by a limit of its own, which another attempt has, too
        told = self._journal.read(after, (ModelFailed, ModelResponded))
        last = told[-1].event if told else None
        if isinstance(last, ModelFailed) and failed_for_a_moment(last):
            raise _MomentaryError(str(last), reply)

    # --- its end

    def closing(self) -> RunClosed:
        """The last word about it."""
        plan, reply, error = self._plan, self.reply, self.error
        outcome: Literal["answered", "failed", "aborted"] = "answered"
        reason = ""
        if self.stopped is not None:
            outcome = "aborted"
        elif error is not None:
            outcome, reason = "failed", f"{type(error).__name__}: {_first_line(error)}"
        elif reply is None or reply.is_error:
            outcome, reason = "failed", (reply.text if reply else "") or "the target reported a failure"
        return RunClosed(
            run=plan.id,
            outcome=outcome,
            output=reply.text if reply is not None else "",
            reason=reason,
            warnings=tuple(self.warnings),
        )

    async def _end(self, work: asyncio.Task[None], beside: list[asyncio.Task[None]]) -> None:
        if not await _gone(work):
            self.warnings.append(f"{name_of(self._plan.target)} does not stop, and may still be at work")
        if self.stopped is not None and self._ran_before is not None:
            await self._stop_target(self._ran_before)
        self._record_changes()  # when the target does no more
        for task in beside:
            await _gone(task)
        if self.stopped is not None:
            await self._watchers.tell_the_end(ENDS_WITHIN)
        self.warnings += self._meter.gaps

    def _record_changes(self) -> None:
        """Record what has changed in the workspace. One that cannot be read is told, and so is a full disk."""
        try:
            if self._plan.workspace is not None:
                self._plan.workspace.record_changes()
        except (OSError, SoundstageError) as error:
            self.warnings.append(
                f"files that were changed are missing: {type(error).__name__}: {_first_line(error)}"
            )

    async def _stop_target(self, peer: TargetPeer) -> None:
        """Stop a target that ran before. An error of it is told, and so is one that does not stop."""
        try:
            async with asyncio.timeout(ENDS_WITHIN):
                await peer.stop()
        except Exception as error:  # noqa: BLE001  (the run ends for another reason, which is the one to be told)
            self.warnings.append(
                f"{name_of(peer.target)} was to be stopped: {type(error).__name__}: {_first_line(error)}"
            )


class _MomentaryError(ConnectionError):
    """A turn failed because the model had failed for a moment."""

    def __init__(self, told: str, reply: AgentReply) -> None:
        super().__init__(told)
        self.reply = reply


def _taken(prompt: str | PromptPieces) -> bool:
    """Whether a prompt is gone: its pieces come once."""
    return isinstance(prompt, PromptPieces) and prompt.taken > 0


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


async def _gone(task: asyncio.Task[None]) -> bool:
    """Cancel a task and wait for its end; twice, for one that does not listen the first time."""
    for _ in range(2):
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=ENDS_WITHIN)
    return task.done()


async def _uninterrupted(last_steps: Coroutine[Any, Any, None]) -> asyncio.CancelledError | None:
    """Do the last steps whoever cancels meanwhile. Returns the cancellation, which is to be passed on."""
    task = asyncio.create_task(last_steps, name="run: end")
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    return cancelled
