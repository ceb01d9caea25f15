"""Where the runs of an eval are made. Executors hand them back; one process, that of the engine, keeps them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from soundstage.evals._gates import EvalGates
from soundstage.evals._making import EvalRunPlan, MadeRun, make_run
from soundstage.evals._suite import Suite

RunMaker = Callable[[EvalRunPlan], Awaitable[MadeRun]]
"""Makes a run by its plan, when it is called. The engine calls it as often as runs may go at a time."""


class Executor(Protocol):
    """Makes the runs of a suite somewhere."""

    @property
    def concurrency(self) -> int:
        """Runs at a time, unless somebody says another number."""
        ...

    def open(self, suite: Suite) -> AbstractAsyncContextManager[RunMaker]:
        """Start what makes the runs; it is ended with the context, whatever it does then."""
        ...


class LocalExecutor:
    """Makes runs in this process.

    Args:
        gates: of providers, shared with other evals of the same suite and event loop.
    """

    concurrency = 4

    def __init__(self, gates: EvalGates | None = None) -> None:
        self._gates = gates

    @contextlib.asynccontextmanager
    async def open(self, suite: Suite) -> AsyncIterator[RunMaker]:
        """Nothing has to be started."""
        yield functools.partial(make_run, suite, gates=self._gates or EvalGates(suite.limits))
