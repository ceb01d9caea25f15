"""The steps of an ending: all of them are taken, whatever each comes to.

A step that raises is kept for the end; an interruption (a cancellation, Ctrl-C) cuts short the step that waits, never
the steps after it. How the run ends is decided when all is over.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable

from soundstage.clock import Clock
from soundstage.lifecycle import UNCLEAN, Patience, raise_together


class Ending:
    """The end of one run.

    Attributes:
        problems: what went wrong, in order; an interruption is none.
    """

    def __init__(self, clock: Clock) -> None:
        self._patience = Patience(clock)
        self.problems: list[BaseException] = []

    @property
    def interrupted(self) -> BaseException | None:
        """The interruption that came on the way, if one did."""
        return self._patience.interrupted

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
            self._patience.keep(error)
        elif isinstance(error, BaseExceptionGroup) and error.message == UNCLEAN:
            self.problems += error.exceptions
        else:
            self.problems.append(error)

    def outcome(self, error: BaseException | None) -> BaseException | None:
        """The error that the run ends with: the test's own, the interruption, or what went wrong."""
        return error or self.interrupted or next(iter(self.problems), None)

    def raise_for(self, error: BaseException | None) -> None:
        """Raise what the run ends with; on the test's own error, which is raised already, note the rest.

        Args:
            error: what the body of the test has raised.
        """
        main = error if error is not None else self.interrupted
        if main is not None:
            for problem in self.problems:
                main.add_note(_told(problem))
        if error is None:
            self._patience.finish()
            raise_together(self.problems)
        elif isinstance(self.interrupted, KeyboardInterrupt):
            raise self.interrupted from error


def _told(failure: BaseException) -> str:
    return "and while the run was being ended:\n" + "".join(traceback.format_exception(failure))
