"""The steps of an ending: all of them are taken, whatever each comes to.

A step that raises is kept for the end; an interruption (a cancellation, Ctrl-C) cuts short the step that waits, never
the steps after it. How the run ends is decided when all is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from soundstage.clock import Clock
from soundstage.errors import ExpectationError
from soundstage.host._frames import told
from soundstage.lifecycle import UNCLEAN, Daemon, DeferredInterrupts, raise_together


class RunEnding:
    """The end of one run.

    Attributes:
        problems: what went wrong, in order; an interruption is none.
    """

    def __init__(self, clock: Clock) -> None:
        self._interrupts = DeferredInterrupts(clock)
        self.problems: list[BaseException] = []

    @property
    def interrupted(self) -> BaseException | None:
        """The interruption that came on the way, if one did."""
        return self._interrupts.interrupted

    def take(self, step: Callable[[], object]) -> None:
        """Take a step that does not wait."""
        try:
            step()
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001  (kept: raised when all is over)
            self._keep(error)

    async def wait(self, step: Callable[[], Awaitable[object]]) -> None:
        """Take a step that waits."""
        try:
            await step()
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001  (kept: raised when all is over)
            self._keep(error)

    def _keep(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
            self._interrupts.keep(error)
        elif isinstance(error, BaseExceptionGroup) and error.message == UNCLEAN:
            self.problems += error.exceptions
        else:
            self.problems.append(error)

    def outcome(self, error: BaseException | None) -> BaseException | None:
        """The error that the run ends with: the test's own, the interruption, or what went wrong."""
        return error or self.interrupted or next(iter(self.problems), None)

    def raise_for(self, error: BaseException | None, failed: Sequence[BaseException] = ()) -> None:
        """Raise what the run ends with; on the test's own error, which is raised already, note the rest.

        Args:
            error: what the body of the test has raised.
            failed: what had failed in the background by then; an expectation was not met because of it.
        """
        main = error if error is not None else self.interrupted
        if isinstance(error, ExpectationError) and error.__cause__ is None and failed:
            error.__cause__ = _on_its_own(failed[0], error)
        if main is not None:
            for problem in self.problems:
                if problem is not main.__cause__:
                    main.add_note(f"and while the run was being ended:\n{told(_on_its_own(problem, main))}")
        if error is None:
            self._interrupts.finish()
            raise_together(self.problems)
        elif isinstance(self.interrupted, KeyboardInterrupt):
            raise self.interrupted from error


def _on_its_own(problem: BaseException, beside: BaseException) -> BaseException:
    """A problem without the error beside it as its context: each is told by itself."""
    if problem.__context__ is beside:
        problem.__context__ = None
    return problem


def told_beside(error: BaseException | None, problems: Sequence[BaseException]) -> None:
    """Raise what went wrong in parts around a body; on the body's own error, if there is one, it is noted instead.

    An expectation that was not met may have one of them as its cause.
    """
    if error is None:
        raise_together(problems)
        return
    for problem in problems:
        if isinstance(error, ExpectationError) and error.__cause__ is None:
            error.__cause__ = _on_its_own(problem, error)
        elif problem is not error:
            error.add_note(f"and while a fixture was being ended:\n{told(_on_its_own(problem, error))}")


def failures_of(daemons: Sequence[Daemon]) -> list[BaseException]:
    """The failures of the background so far."""
    return [failure for daemon in daemons for failure in daemon.failures]
