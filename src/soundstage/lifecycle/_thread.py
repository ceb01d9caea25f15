"""An event loop in a thread of its own, so that blocking code can talk to a running server.

A test that uses a blocking SDK client cannot also run the server's loop. `LoopThread` runs it beside the
test; `call` hands a coroutine over and blocks until it is done.

How closing works. A call is accepted and the end is announced under one lock, so the loop learns of every
accepted call before it learns of the end. It then cancels all tasks that are left, waits for them, and
closes; a caller that still waits gets an error. A task that ignores its cancellation is left behind after
`CLOSE_WITHIN` seconds, in a thread that does not keep the process alive.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, Final, Self, TypeVar

from soundstage.errors import EnvironmentProblem, InvalidStateError

T = TypeVar("T")
CLOSE_WITHIN: Final = 10.0


class LoopThread:
    """A running event loop in a background thread; a context manager, for one use.

    Example:
        >>> async def add(a, b):
        ...     return a + b
        >>> with LoopThread() as beside:
        ...     beside.call(add(1, 2))
        3
    """

    def __init__(self, name: str = "soundstage") -> None:
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._open = False

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._stay())

    async def _stay(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._end.wait()

    def __enter__(self) -> Self:
        if self._thread.ident is not None:
            raise InvalidStateError("this loop thread has been used before", hint="make a new LoopThread()")
        self._thread.start()
        self._ready.wait()
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open = False
            assert self._loop is not None
            assert self._end is not None
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(CLOSE_WITHIN)
        if self._thread.is_alive():
            raise EnvironmentProblem(
                f"the thread {self._thread.name!r} did not end within {CLOSE_WITHIN:g} s",
                seen="a task in it ignores that it has been cancelled",
                hint="let the task re-raise asyncio.CancelledError",
            )

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the loop, wait for its result, or raise what it raises.

        Raises:
            InvalidStateError: before the thread has been entered, after it has been closed or while it is
                closing, and in the thread itself, which would wait for itself.
        """
        future = self._submit(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            if self._open:
                raise
            raise InvalidStateError("the loop thread was closed during this call") from None
        finally:
            future.cancel()  # nothing to cancel, unless the wait was interrupted

    def _submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        with self._lock:
            inside = threading.current_thread() is self._thread
            if self._open and self._loop is not None and not inside:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        if inside:
            raise InvalidStateError(
                "a call from the loop's own thread would wait for itself", hint="use await"
            )
        raise InvalidStateError(
            "the loop thread is not running",
            seen="it has been closed" if self._thread.ident is not None else "it has not been entered",
            hint="call inside `with LoopThread() as thread:`",
        )
