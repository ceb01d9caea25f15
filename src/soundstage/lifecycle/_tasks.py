"""Tasks that the code of a daemon starts, such as those of an app: none of them fails unseen.

asyncio tells a log of a task whose exception nobody took, when it collects the task. A test passes meanwhile. So a
daemon knows the tasks that are made in its coroutine, and in those tasks: while it runs, the task factory of its loop
asks a context variable whose they are. A task that has failed is kept until the daemon stops, because the app may
still take the exception (await the task, ask for its result, let a group wait for it); asyncio knows whether anybody
has. A task that was cancelled is fine, whatever it came to: the app has given it up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, Final, Self

_FEW: Final = 16


class StartedTasks:
    """The tasks that the code of one daemon starts. `adopt` is called for each, in whatever context it runs."""

    def __init__(self) -> None:
        self._failed: list[asyncio.Task[Any]] = []
        self._many = _FEW
        self._factory: _Telling | None = None

    def begin(self) -> None:
        """From now on, tasks of this loop are asked whose they are."""
        self._factory = _Telling.of(asyncio.get_running_loop())

    def own(self) -> None:
        """Count what the running task starts as the daemon's."""
        _whose.set(self)

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Look at a task when it is done."""
        task.add_done_callback(self._look)

    def _look(self, task: asyncio.Task[Any]) -> None:
        if not is_untaken(task):
            return
        self._failed.append(task)
        if len(self._failed) > self._many:  # most have been taken by now
            self._failed = [each for each in self._failed if is_untaken(each)]
            self._many = 2 * len(self._failed) + _FEW

    @property
    def untaken(self) -> list[BaseException]:
        """The exceptions that nobody has taken so far; asking takes none."""
        errors: dict[int, BaseException] = {}
        for task in filter(is_untaken, self._failed):
            error = task._exception  # noqa: SLF001
            if error is not None:
                errors[id(error)] = error
        return list(errors.values())

    def end(self) -> list[BaseException]:
        """Take the exceptions that nobody has taken, each with a note that names its task."""
        if self._factory is not None:
            self._factory.leave()
        found: dict[int, BaseException] = {}
        for task in filter(is_untaken, self._failed):
            error = task.exception()
            if error is not None and found.setdefault(id(error), error) is error:
                error.add_note(
                    f"in the task {task.get_name()!r}, which nobody awaited; "
                    "await it, or start it in an asyncio.TaskGroup"
                )
        self._failed = []
        return list(found.values())


_whose: ContextVar[StartedTasks | None] = ContextVar("whose_tasks", default=None)


def is_untaken(task: asyncio.Task[Any]) -> bool:
    """Whether a task that is done has failed by itself, and nobody has taken its exception yet.

    asyncio has no public word for the second: to ask a task for its exception is to take it.
    """
    return bool(task._log_traceback) and not task.cancelling()  # noqa: SLF001


class _Telling:
    """A task factory that tells the daemon whose code makes a task; one for a loop, while daemons on it run."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._before: Any = loop.get_task_factory()
        self._users = 0

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Self:
        """The one of a loop, with one more user."""
        there: Any = loop.get_task_factory()
        factory = there if isinstance(there, cls) else cls(loop)
        factory.enter()
        return factory

    def enter(self) -> None:
        """One user more."""
        asked: Any = self  # typeshed wants a function of two arguments with names
        self._users += 1
        self._loop.set_task_factory(asked)

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        make = self._before or _make
        task: asyncio.Task[Any] = make(loop, coroutine, **options)
        if (whose := _whose.get()) is not None:  # of the code that makes it, whatever context the task gets
            whose.adopt(task)
        return task

    def leave(self) -> None:
        """One user less; after the last one the loop has the factory that it had before, unless it got another."""
        self._users -= 1
        there: Any = self._loop.get_task_factory()
        if not self._users and there is self:
            self._loop.set_task_factory(self._before)


def _make(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
) -> asyncio.Task[Any]:
    return asyncio.Task(coroutine, loop=loop, **options)
