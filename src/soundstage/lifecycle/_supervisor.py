"""Starts daemons in order, stops them in reverse, and loses no exception on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from soundstage.clock import Clock, Deadline
from soundstage.errors import EnvironmentProblem, WaitTimeout
from soundstage.lifecycle._daemon import Daemon

START_WITHIN = 30.0
STOP_WITHIN = 10.0


class Supervisor:
    """Owns the daemons of a run.

    Args:
        daemons: in the order in which to start them.
        clock: whose seconds the limits are.
        start_within: seconds for all to be ready.
        stop_within: seconds for all to stop.
    """

    def __init__(
        self,
        daemons: Sequence[Daemon],
        *,
        clock: Clock,
        start_within: float = START_WITHIN,
        stop_within: float = STOP_WITHIN,
    ) -> None:
        self.daemons = tuple(daemons)
        self._clock = clock
        self._start_within = start_within
        self._stop_within = stop_within
        self._started: list[Daemon] = []

    def states(self) -> str:
        """One line a daemon: its name and status."""
        return "\n".join(f"{daemon.name}: {daemon.status.value}" for daemon in self.daemons) or "no daemons"

    async def start(self) -> None:
        """Start all. If one fails, those before it are stopped and the failure is raised.

        Raises:
            WaitTimeout: if they are not ready in time.
            EnvironmentProblem: or whatever a daemon raises.
        """
        deadline = Deadline(self._clock, self._start_within)
        for daemon in self.daemons:
            try:
                async with asyncio.timeout(deadline.left):
                    await daemon.start()
            except TimeoutError as error:
                await self._roll_back(daemon, error)
                raise WaitTimeout(
                    f"the daemon {daemon.name!r} was not ready within {self._start_within:g} s",
                    seen=self.states(),
                    hint="look at its events in the journal, or give it more time",
                ) from error
            except BaseException as error:
                await self._roll_back(daemon, error)
                raise
            self._started.append(daemon)

    async def _roll_back(self, failed: Daemon, error: BaseException) -> None:
        stopped = [daemon.name for daemon in reversed(self._started)]
        error.add_note(f"while starting {failed.name!r}; stopped again: {', '.join(stopped) or 'nothing'}")
        for problem in await self._stop_all():
            error.add_note(f"and while stopping: {problem!r}")

    async def stop(self) -> None:
        """Stop all that were started, in reverse order; raise all that went wrong as one group."""
        problems = await self._stop_all()
        if problems:
            raise BaseExceptionGroup("the run did not end cleanly", problems)

    async def _stop_all(self) -> list[BaseException]:
        deadline = Deadline(self._clock, self._stop_within)
        problems: list[BaseException] = []
        while self._started:
            daemon = self._started.pop()
            try:
                async with asyncio.timeout(deadline.left):
                    await daemon.stop()
            except TimeoutError:
                problems.append(
                    EnvironmentProblem(
                        f"the daemon {daemon.name!r} did not stop within {self._stop_within:g} s",
                        seen=self.states(),
                        hint="it may wait for input that nobody sends",
                    )
                )
            except Exception as error:  # noqa: BLE001  (every one is kept and raised by `stop`)
                problems.append(error)
        return problems
