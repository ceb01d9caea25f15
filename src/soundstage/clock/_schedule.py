"""Schedules: the order in which ready tasks run.

How it works. asyncio runs ready tasks in the order in which they became ready. One and the same interleaving comes up
in every run, and a bug of another one is never seen. A schedule is drawn from a
seed: at each step of the loop one of the ready tasks is chosen, it runs to its next wait, and the others stay
where they are until the next step. So every interleaving that asyncio's rules allow has a chance, and the same
seed gives the same one again.

Only steps of tasks are chosen from. Other callbacks (a future that tells who waits for it, a timer that fires)
keep asyncio's order, which libraries rely on. Time does not move as long as a task is ready.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[int | None] = ContextVar("soundstage_schedule", default=None)


def current_schedule() -> int | None:
    """The seed of the schedule under which virtual loops made here run; asyncio's own order if there is none."""
    return _current.get()


@contextmanager
def scheduled(seed: int | None) -> Iterator[None]:
    """Run everything within under the schedule of a seed.

    Example:
        >>> import asyncio
        >>> from soundstage.clock import run
        >>> async def order():
        ...     log = []
        ...     async def step(name):
        ...         log.append(name)
        ...     await asyncio.gather(*(step(name) for name in "abc"))
        ...     return "".join(log)
        >>> with scheduled(4):
        ...     run(order()) == run(order())
        True
    """
    token = _current.set(seed)
    try:
        yield
    finally:
        _current.reset(token)


class Schedule:
    """Chooses which of the ready tasks goes on.

    Args:
        seed: where the choices come from.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  (a schedule is no secret)
        self._held: list[asyncio.Handle] = []

    def choose(self, ready: deque[asyncio.Handle]) -> None:
        """Leave one of the tasks in `ready`, and hold the others back for later steps."""
        tasks = [*self._held, *(handle for handle in ready if _is_step(handle))]
        if not tasks:
            return
        chosen = tasks.pop(self._random.randrange(len(tasks)))
        others = [handle for handle in ready if not _is_step(handle)]
        self._held = tasks
        ready.clear()
        ready.extend([*others, chosen])


def _is_step(handle: asyncio.Handle) -> bool:
    """Whether it makes a task go on."""
    callback = getattr(handle, "_callback", None)
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)
