"""An event loop on virtual time.

How it works. asyncio's loop asks its selector to wait until the next timer is due. Our selector never waits:
it looks once whether something is ready, and if not, moves the virtual clock by the time it was asked to
wait. So a timer fires as soon as every task is blocked, and timers fire in the order of their virtual time.

Two things may still come from outside. A job in a thread (`run_in_executor`, `to_thread`) is real work: while
one is under way the selector waits for it, and virtual time stands still. Sockets and processes have a time
of their own, which would make the run irreproducible; opening one is refused.

When no timer, no thread and no ready task is left, nothing can ever happen again: that is a deadlock, and it
is raised with the list of waiting tasks instead of hanging.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

from soundstage.clock._clock import Clock, SystemClock, VirtualClock
from soundstage.errors import DeadlockError, NetworkForbiddenError

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that jumps over waiting time instead of spending it."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.threads:
            return super().select(None)
        if timeout is None:
            raise _deadlock()
        self._clock.advance(timeout)
        return []


def _deadlock() -> DeadlockError:
    waiting = sorted(_describe(task) for task in asyncio.all_tasks(asyncio.get_running_loop()))
    return DeadlockError(
        "every task waits, and no timer, thread or message can wake one",
        seen="\n".join(waiting) or "no task at all",
        hint="give the wait a `within=`, or send what the app waits for",
    )


def _describe(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    where = f"{frames[0].f_code.co_filename}:{frames[0].f_lineno}" if frames else "not started"
    return f"{task.get_name()} waits at {where}"


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with the time of a `VirtualClock`. No sockets, no processes."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._jumping = _JumpingSelector(clock)
        super().__init__(self._jumping)

    def time(self) -> float:
        """The virtual time."""
        return self.clock.now()

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> asyncio.Future[Any]:
        """Run `func` in a thread; virtual time stands still until it is done."""
        future = super().run_in_executor(executor, func, *args)
        self._jumping.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _: asyncio.Future[Any]) -> None:
        self._jumping.threads -= 1

    def _forbidden(self, what: str) -> NoReturn:
        raise NetworkForbiddenError(
            f"this run is on virtual time and tried to {what}",
            expected="an app that talks to its model and its worlds in process",
            hint="pass the model to the app, or run the test on the machine's time: clock=SystemClock()",
        )

    async def create_connection(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        self._forbidden(f"connect to {kwargs.get('host', args[1:3])}")

    async def create_server(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._forbidden("listen on a port")

    async def create_datagram_endpoint(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._forbidden("open a datagram socket")

    async def sock_connect(self, sock: Any, address: Any) -> NoReturn:
        """Refused."""
        self._forbidden(f"connect to {address}")

    async def getaddrinfo(self, host: Any, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._forbidden(f"look up {host}")

    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._forbidden("start a process")

    async def subprocess_shell(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]
        """Refused."""
        self._forbidden("start a shell")


def run(main: Coroutine[Any, Any, T], *, clock: Clock | None = None) -> T:
    """Run `main` to its end, like `asyncio.run`, on the time of `clock`.

    Args:
        main: the coroutine.
        clock: a new `VirtualClock` unless given.

    Raises:
        DeadlockError: on virtual time, when every task waits and nothing can wake one.

    Example:
        >>> async def main():
        ...     await asyncio.sleep(3600)
        ...     return asyncio.get_running_loop().time()
        >>> run(main())
        3600.0
    """
    chosen = clock if clock is not None else VirtualClock()
    if isinstance(chosen, VirtualClock):
        virtual = chosen
        with asyncio.Runner(loop_factory=lambda: VirtualLoop(virtual)) as runner:
            return runner.run(main)
    if not isinstance(chosen, SystemClock):
        raise TypeError(f"expected a SystemClock or a VirtualClock, got {type(chosen).__name__}")
    return asyncio.run(main)
