"""Calling a function that may hang, block, or end the program, within a time.

How it works. An `async` function runs as a task of its own; when its time is up it is cancelled, and given up
if it ignores that. Any other function runs in a thread of its own, which cannot be ended from outside: what it
holds (a process) is ended by the functions that it has given to `StopCallbacks`, and a thread that still does not
return is given up; it does not keep the program alive.

On virtual time the loop stands still while such a thread works, so that two runs do the same things in the
same order; its limit is then in the machine's seconds, because virtual ones do not pass.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from typing import Any, Final

from soundstage.agents.runtime._errors import ToolError
from soundstage.clock import Clock

_PATIENCE: Final = 1.0  # seconds in which a cancelled function may tidy up


class OutOfTime(Exception):  # noqa: N818  (it says what happened)
    """Raised when a call has not come to its end in time."""


class StopCallbacks:
    """Functions to call when a call has to end at once."""

    def __init__(self) -> None:
        self._functions: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._stopped = False

    def add(self, function: Callable[[], None]) -> None:
        """Have `function` called on `stop`; at once, if that is past."""
        with self._lock:
            if not self._stopped:
                self._functions.append(function)
                return
        function()

    def stop(self) -> bool:
        """Call them, once; whether there were any."""
        with self._lock:
            self._stopped = True
            functions, self._functions = self._functions, []
        for function in functions:
            function()
        return bool(functions)


async def call_within(
    function: Callable[[], Any], *, within: float, clock: Clock, stops: StopCallbacks
) -> Any:
    """Call `function` within a time limit; return its result, awaited if need be.

    Args:
        function: takes nothing.
        within: seconds.
        clock: the run's.
        stops: called when the time is up or the caller is cancelled.

    Raises:
        OutOfTime: if it takes longer.
        ToolError: if it tries to end the program, or cancels itself.
    """
    before = clock.now()
    try:
        if _is_async(function):
            return await _awaited(function(), within)
        value = await _threaded(function, within, clock, stops)
        if inspect.isawaitable(value):
            return await _awaited(value, max(within - (clock.now() - before), 0.0))
        return value
    except BaseException:
        stops.stop()
        raise


def _is_async(function: Any) -> bool:
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)


async def _awaited(value: Awaitable[Any], within: float) -> Any:
    task = asyncio.ensure_future(_guarded(value))
    try:
        done, _ = await asyncio.wait({task}, timeout=within)
    except asyncio.CancelledError:
        await give_up(task)
        raise
    if not done:
        await give_up(task)
        raise OutOfTime
    if task.cancelled():
        raise ToolError("the tool was cancelled from within")
    return task.result()


async def _guarded(value: Awaitable[Any]) -> Any:
    try:
        return await value
    except SystemExit as error:
        raise ToolError(f"the tool tried to end the program (SystemExit {error.code})") from None


async def give_up(task: asyncio.Future[Any]) -> None:
    """Cancel a task, and wait a little for its end; its result does not matter any more."""
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=_PATIENCE)
    if done and not task.cancelled():
        task.exception()  # nobody else will look at it


async def _threaded(function: Callable[[], Any], within: float, clock: Clock, stops: StopCallbacks) -> Any:
    future = in_thread(function)
    try:
        await _ended(future, within, clock)
        if not future.done():
            raise OutOfTime
        return future.result()
    finally:
        if not future.done() and stops.stop():  # it can end now; what it has started is gone when it has
            await _ended(future, _PATIENCE, clock)


async def _ended(future: Future[Any], within: float, clock: Clock) -> None:
    """Wait for a thread's end, or until the time is up."""
    if clock.virtual:
        wait({future}, timeout=within)
        return
    watched = asyncio.wrap_future(future)
    watched.add_done_callback(_looked_at)
    await asyncio.wait({watched}, timeout=within)


def _looked_at(waiting: asyncio.Future[Any]) -> None:
    if not waiting.cancelled():
        waiting.exception()  # an exception that nobody looks at would be logged


def in_thread(function: Callable[[], Any]) -> Future[Any]:
    """Run `function` in a new thread, with the caller's context variables."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(function))
        except SystemExit as error:
            future.set_exception(ToolError(f"the tool tried to end the program (SystemExit {error.code})"))
        except asyncio.CancelledError:
            future.set_exception(ToolError("the tool was cancelled from within"))
        except BaseException as error:  # noqa: BLE001  (whoever waits gets it)
            future.set_exception(error)

    threading.Thread(target=work, name="soundstage tool", daemon=True).start()
    return future
