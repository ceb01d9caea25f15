"""Running a coroutine to its end on a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from soundstage.clock._clock import Clock, SystemClock, VirtualClock
from soundstage.clock._loop import VirtualLoop
from soundstage.errors import DeadlockError, InvalidStateError

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T], *, clock: Clock | None = None) -> T:
    """Run `main` to its end, like `asyncio.run`, on the time of `clock`.

    Args:
        main: the coroutine.
        clock: a new `VirtualClock` unless given.

    Raises:
        DeadlockError: on virtual time, when every task waits and nothing can wake one. What goes wrong while
            the tasks are then ended is in its notes.
        InvalidStateError: if an event loop is already running here.
        TypeError: if `main` is not a coroutine, or `clock` is neither a system nor a virtual one.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     await asyncio.sleep(3600)
        ...     return asyncio.get_running_loop().time()
        >>> run(main())
        3600.0
    """
    if not asyncio.iscoroutine(main):
        raise TypeError(f"expected a coroutine, got {type(main).__name__}: call the function, run(main())")
    try:
        return _run(main, clock if clock is not None else VirtualClock())
    finally:
        main.close()  # harmless when it has run; a refused one must not warn that nobody awaited it


def _run(main: Coroutine[Any, Any, T], clock: Clock) -> T:
    _refuse_running_loop()
    if not isinstance(clock, SystemClock | VirtualClock):
        raise TypeError(f"expected a SystemClock or a VirtualClock, got {type(clock).__name__}")
    with asyncio.Runner(loop_factory=lambda: _loop(clock)) as runner:
        try:
            return runner.run(main)
        except DeadlockError as deadlock:
            for note in runner.run(_end_all()):
                deadlock.add_note(note)
            raise


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidStateError(
        "an event loop is already running in this thread",
        hint="await the coroutine, or run the test function without `async`",
    )


def _loop(clock: SystemClock | VirtualClock) -> asyncio.AbstractEventLoop:
    if isinstance(clock, VirtualClock):
        return VirtualLoop(clock)
    loop = asyncio.new_event_loop()
    loop.clock = clock  # type: ignore[attr-defined]  # where `running_clock` looks
    return loop


async def _end_all() -> list[str]:
    """Cancel what waits for ever; say what went wrong on the way, which is often why it waited."""
    tasks = sorted(asyncio.all_tasks() - {asyncio.current_task()}, key=lambda task: task.get_name())
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    return [
        f"{task.get_name()} ended with {type(result).__name__}: {result}"
        for task, result in zip(tasks, results, strict=True)
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError)
    ]
