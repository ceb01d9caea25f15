"""An event loop on virtual time.

How it works. asyncio's loop asks its selector to wait until the next timer is due. Our selector never waits:
it looks once whether something is ready, and if not, moves the virtual clock by the time it was asked to
wait. So a timer fires as soon as every task is blocked. Timers fire in the order of their virtual time, and
those of the same moment in the order in which they were set (asyncio leaves that open: there the moments of
two timers hardly ever coincide, here they do all the time).

Two things may still come from outside. A job in a thread (`run_in_executor`, `to_thread`) is real work: while
one is under way the selector waits for it, and virtual time stands still. Sockets and processes have a time
of their own, which would make the run irreproducible; opening one is refused, past the loop (`_network`) too.

When no timer, no thread and no ready task is left, nothing can ever happen again: that is a deadlock, and it
is raised with the list of waiting tasks instead of hanging. A timer that is due in infinite time counts as no
timer. A program that polls while it waits in vain would make time jump for ever; that ends in the same error
after `max_jumps` of the clock.

Whoever ends a run asks what is still to come: `idle` returns when every other task waits, just before the clock would
jump, and `pending` lists the timers with the tasks that have set them.

Under a schedule (`_schedule`) the order of ready tasks is drawn from a seed instead of being asyncio's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
import selectors
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import Context
from itertools import count
from typing import Any, Final, NamedTuple, NoReturn

from soundstage.clock._clock import VirtualClock
from soundstage.clock._network import forbid, no_network, report_try, without_network
from soundstage.clock._schedule import Schedule, current_schedule
from soundstage.clock._tasks import where
from soundstage.errors import DeadlockError

_NANOSECOND: Final = 1e-9


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that jumps over waiting time instead of spending it."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock
        self._jumps = 0
        self.threads = 0
        self.when_idle: list[asyncio.Future[None]] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []  # tasks are ready; whatever comes from outside is looked at before time moves
        ready = super().select(0)
        if ready:
            return ready
        if self.threads:
            return super().select(None)
        if self._told_idle():
            return []
        if timeout is None:
            raise _deadlock("every task waits, and no timer, thread or message can wake one")
        self._jumps += 1
        if self._jumps > self._clock.max_jumps:
            self._jumps = 0  # the tasks that are ended now get as many again
            raise _deadlock(f"the clock has jumped {self._clock.max_jumps} times and the run has not ended")
        self._clock.advance(timeout)
        return []

    def _told_idle(self) -> bool:
        """Wake those who wait for everybody else to wait; whether there are any."""
        waiting, self.when_idle = self.when_idle, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        return bool(waiting)


def _deadlock(summary: str) -> DeadlockError:
    waiting = sorted(where(task) for task in asyncio.all_tasks(asyncio.get_running_loop()))
    return DeadlockError(
        summary,
        seen="\n".join(waiting) or "no task at all",
        hint="give the wait a `within=`, or send what the app waits for",
    )


class _Timer(asyncio.TimerHandle):
    """A timer with a number: of two for the same moment, the one that was set first fires first."""

    __slots__ = ("number", "task")
    number: int
    task: asyncio.Task[Any] | None

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _Timer):
            return NotImplemented
        return (self.when(), self.number) < (other.when(), other.number)


class PendingTimer(NamedTuple):
    """A timer that will fire.

    Args:
        at: when.
        task: what has set it, if a task has.
        context: the context variables of what has set it.
    """

    at: float
    task: asyncio.Task[Any] | None
    context: Context


class _ExecutorJob(Executor):
    """Hands a job over to the real executor and keeps its future, which outlives a cancelled wait."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.future: Future[Any] | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.future = self._executor.submit(without_network, fn, *args, **kwargs)
        return self.future


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with the time of a `VirtualClock`. No sockets, no processes."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._jumping = _JumpingSelector(clock)
        self._numbers = count()
        self._pool: ThreadPoolExecutor | None = None
        seed = clock.schedule if clock.schedule is not None else current_schedule()
        self._schedule = None if seed is None else Schedule(seed)
        super().__init__(self._jumping)
        if self._schedule is not None:
            self._run_once = self._run_scheduled  # in the instance: without a schedule it costs nothing

    def _run_scheduled(self) -> None:
        """One step of the loop, for one of the ready tasks."""
        assert self._schedule is not None
        self._schedule.choose(self._ready)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]

    def run_forever(self) -> None:
        """As asyncio does it; what reaches the network past the loop is refused, too."""
        with no_network():
            super().run_forever()

    def time(self) -> float:
        """The virtual time."""
        return self.clock.now()

    @property
    def _clock_resolution(self) -> float:
        """asyncio's own slack when it asks whether a timer is due.

        It must be more than nothing, and after a hundred days the usual nanosecond is: it would be lost in
        the addition, and a timer never be due.
        """
        return max(_NANOSECOND, math.ulp(self.clock.now()))

    @_clock_resolution.setter
    def _clock_resolution(self, _: float) -> None:
        """Ignore the resolution of the machine's clock, which asyncio sets."""

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """As asyncio does it, with a timer that keeps its place among those of the same moment."""
        self._check_closed()  # type: ignore[attr-defined]
        timer = _Timer(when, callback, args, self, context)
        timer.number = next(self._numbers)
        timer.task = asyncio.current_task(self)
        if when == math.inf:
            return timer
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001  (asyncio's own mark)
        return timer

    async def idle(self) -> None:
        """Return when every other task waits and no thread works: what comes next is a timer, or nothing."""
        future: asyncio.Future[None] = self.create_future()
        self._jumping.when_idle.append(future)
        await future

    def pending(self) -> list[PendingTimer]:
        """The timers that will fire, in any order."""
        timers: list[_Timer] = self._scheduled  # type: ignore[attr-defined]
        return [
            PendingTimer(timer.when(), timer.task, timer._context)  # type: ignore[attr-defined]  # noqa: SLF001
            for timer in timers
            if not timer.cancelled()
        ]

    def set_default_executor(self, executor: ThreadPoolExecutor) -> None:  # type: ignore[override]
        """The threads for `to_thread`."""
        self._pool = executor
        super().set_default_executor(executor)

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run `func` in a thread; virtual time stands still until it is done, whoever waits for it or not."""
        counted = _ExecutorJob(executor if executor is not None else self._threads())
        waiting = super().run_in_executor(counted, func, *args)
        assert counted.future is not None
        self._jumping.threads += 1
        counted.future.add_done_callback(self._job_done)  # asyncio's own comes first, with the result
        return waiting

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self.set_default_executor(ThreadPoolExecutor(thread_name_prefix="soundstage"))
        assert self._pool is not None
        return self._pool

    def _job_done(self, _: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed and counts no more
            self.call_soon_threadsafe(self._thread_ended)

    def _thread_ended(self) -> None:
        self._jumping.threads -= 1

    async def shutdown_default_executor(self, *args: Any) -> None:
        """As asyncio does it: in a thread, so time stands still meanwhile."""
        self._jumping.threads += 1
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._jumping.threads -= 1


# method -> what it would do
_COROUTINES: Final = {
    "connect_accepted_socket": "serve a socket",
    "connect_read_pipe": "read from a pipe",
    "connect_write_pipe": "write to a pipe",
    "create_connection": "open a connection",
    "create_datagram_endpoint": "open a datagram socket",
    "create_server": "listen on a port",
    "create_unix_connection": "open a connection",
    "create_unix_server": "listen on a socket",
    "getaddrinfo": "look up a host",
    "getnameinfo": "look up an address",
    "sock_accept": "serve a socket",
    "sock_connect": "open a connection",
    "sock_recv": "read from a socket",
    "sock_sendall": "write to a socket",
    "subprocess_exec": "start a process",
    "subprocess_shell": "start a shell",
}
_FUNCTIONS: Final = {
    "add_reader": "wait for a file or a socket",
    "add_writer": "wait for a file or a socket",
}


# how it reaches a host -> where its arguments begin that say which
_REACHES: Final = {
    "create_connection": ("tcp", 1),
    "create_datagram_endpoint": ("udp", 2),
    "getaddrinfo": ("dns", 0),
    "getnameinfo": ("dns", 0),
    "sock_connect": ("tcp", 1),
}


def _report(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Tell the run which host somebody tried to reach."""
    if name not in _REACHES:
        return
    method, begin = _REACHES[name]
    given = args[begin:] or (
        kwargs.get("remote_addr") or kwargs.get("address") or (kwargs.get("host"), kwargs.get("port"))
    )
    host, port = (given[0] if isinstance(given[0], tuple) else (*given, 0))[:2]
    if host is not None:
        report_try(method, host, port)


def _refused_coroutine(name: str, doing: str) -> Callable[..., Any]:
    async def refuse(_: VirtualLoop, *args: Any, **kwargs: Any) -> NoReturn:
        _report(name, args, kwargs)
        forbid(name, doing, args, kwargs)

    return refuse


def _refused_function(name: str, doing: str) -> Callable[..., Any]:
    def refuse(_: VirtualLoop, *args: Any, **kwargs: Any) -> NoReturn:
        forbid(name, doing, args, kwargs)

    return refuse


for _name, _doing in _COROUTINES.items():
    setattr(VirtualLoop, _name, _refused_coroutine(_name, _doing))
for _name, _doing in _FUNCTIONS.items():
    setattr(VirtualLoop, _name, _refused_function(_name, _doing))
