"""Deferred interruptions: an ending runs through, and raises the interruption afterwards.

Whoever ends a run may be interrupted on the way: by a deadline around it, by Ctrl-C, by a second one. What is ended
(processes, sockets, files) would outlive the run, so an ending goes on and raises the interruption when it is through.

How it works. An interruption of an asynchronous ending arrives as an exception at one of its waits: `CancelledError`,
or `KeyboardInterrupt` out of a step. `DeferredInterrupts` keeps it and goes on with that wait. An event loop that is
given up (a second Ctrl-C) cancels every task once, also those of the ending: so work that has to be done
is given as a function, and is begun anew when it was cancelled before its first step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from soundstage.clock import Clock

UNCLEAN: Final = "the run did not end cleanly"


def raise_together(problems: Sequence[BaseException]) -> None:
    """Raise what went wrong in the background: one error as itself, several as one group.

    What led to an error stays as it is, also if the test has an error of its own by now.
    """
    flat: list[BaseException] = []
    for problem in problems:
        if isinstance(problem, BaseExceptionGroup) and problem.message == UNCLEAN:
            flat += problem.exceptions
        else:
            flat.append(problem)
    if not flat:
        return
    error = flat[0] if len(flat) == 1 else BaseExceptionGroup(UNCLEAN, flat)
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context


class DeferredInterrupts:
    """Waits that keep interruptions for later.

    Attributes:
        interrupted: the first interruption, if there was one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.interrupted: BaseException | None = None

    def keep(self, interruption: BaseException) -> None:
        """Remember an interruption; a later one is another of the same kind."""
        if self.interrupted is None or isinstance(interruption, KeyboardInterrupt):
            self.interrupted = interruption

    async def wait(self, task: asyncio.Future[Any], within: float | None = None) -> bool:
        """Wait until `task` is done, or so many seconds; whether it is done."""
        end = None if within is None else self._clock.now() + within
        while not task.done():
            left = None if end is None else max(end - self._clock.now(), 0.0)
            try:
                await asyncio.wait([task], timeout=left)
            except asyncio.CancelledError as interruption:
                self.keep(interruption)
            if left == 0.0:
                break
        return task.done()

    async def do(self, work: Callable[[], Coroutine[Any, Any, Any]], name: str) -> BaseException | None:
        """Do some work in a task of its own, to its end; what it raised."""
        begun = False

        async def noted() -> None:
            nonlocal begun
            begun = True
            await work()

        while True:
            task = asyncio.create_task(noted(), name=name)
            await self.wait(task)
            if begun or not task.cancelled():
                return asyncio.CancelledError() if task.cancelled() else task.exception()

    def finish(self) -> None:
        """Raise the interruption that was kept."""
        if self.interrupted is not None:
            raise self.interrupted
