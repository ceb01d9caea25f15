"""The steps of an ending: all of them are taken, whatever each comes to.

A step that raises is kept for the end; an interruption (a cancellation, Ctrl-C) cuts short the step that waits, never
the steps after it. How the run ends is decided when all is over.

The test's own error wins, but for one kind: an expectation that was not met because something had failed in the
background. Then that failure is what the run ends with, and a note tells what the test had waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from soundstage.clock import Clock
from soundstage.errors import ExpectationError
from soundstage.host._frames import ended_with, in_one_line, joined_frames, told
from soundstage.lifecycle import UNCLEAN, Daemon, DeferredInterrupts, raise_together


class RunEnding:
    """The end of one run.

    Args:
        clock: whose seconds its waits take.
        failed: what had failed in the background when the body of the test was over.

    Attributes:
        problems: what went wrong, in order; an interruption is none.
    """

    def __init__(self, clock: Clock, failed: Sequence[BaseException] = ()) -> None:
        self._failed = failed
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
        """The error that the run ends with: the test's own, the interruption, or what went wrong.

        Where several things went wrong, the first of them.
        """
        led = self._led_to(error)
        return led[0] if led else error or self.interrupted or next(iter(self.problems), None)

    def _led_to(self, error: BaseException | None) -> list[BaseException]:
        """The failures of the background because of which an expectation of the test was not met."""
        if self.interrupted is not None or not _is_unmet(error):
            return []
        return [problem for problem in self.problems if any(problem is one for one in self._failed)]

    def raise_for(self, error: BaseException | None) -> None:
        """Raise what the run ends with; on the test's own error, which is raised already, note the rest.

        Args:
            error: what the body of the test has raised.
        """
        led = self._led_to(error)
        if error is not None and led:
            _raise_instead(led, error, _others(self.problems, led), "the run")
        main = error if error is not None else self.interrupted
        if main is not None:
            _note(main, self.problems, "the run")
        if error is None:
            self._interrupts.finish()
            raise_together(self.problems)
        elif isinstance(self.interrupted, KeyboardInterrupt):
            raise self.interrupted from error


def told_beside(error: BaseException | None, problems: Sequence[BaseException]) -> None:
    """Raise what went wrong in parts around a body; on the body's own error, if there is one, it is noted instead.

    A failure that an expectation of the body names as the reason why it was not met is raised in its place.
    """
    if error is None:
        raise_together(problems)
        return
    led = [problem for problem in problems if _is_unmet(error) and in_one_line(problem) in str(error)]
    if led:
        _raise_instead(led, error, _others(problems, led), "a fixture")
    _note(error, problems, "a fixture")


def _is_unmet(error: BaseException | None) -> bool:
    """Whether an error is an expectation that has not told its cause."""
    return isinstance(error, ExpectationError) and error.__cause__ is None


def _raise_instead(
    led: Sequence[BaseException], error: BaseException, others: Sequence[BaseException], what: str
) -> NoReturn:
    """Raise failures in the place of an expectation that was not met because of them, from where the test waited."""
    failure = led[0] if len(led) == 1 else BaseExceptionGroup(UNCLEAN, led)
    context = None if failure.__context__ is error else failure.__context__
    failure.add_note(ended_with(error, in_one_line(led[0])))
    _note(failure, others, what)
    failure.__traceback__ = joined_frames(error, failure)
    try:
        raise failure
    finally:
        failure.__context__ = context  # its own: the expectation did not lead to it


def _note(main: BaseException, problems: Sequence[BaseException], what: str) -> None:
    for problem in problems:
        if problem is not main:
            if problem.__context__ is main:
                problem.__context__ = None  # each is told by itself
            main.add_note(f"and while {what} was being ended:\n{told(problem)}")


def _others(problems: Sequence[BaseException], led: Sequence[BaseException]) -> list[BaseException]:
    return [problem for problem in problems if not any(problem is one for one in led)]


def failures_of(daemons: Sequence[Daemon]) -> list[BaseException]:
    """The failures of the background so far."""
    return [failure for daemon in daemons for failure in daemon.failures]
