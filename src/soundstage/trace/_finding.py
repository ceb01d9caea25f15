"""Findings: the results of checks, and how one becomes an error."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from soundstage.errors import WHOLE_TRACE, ExpectationError
from soundstage.trace._format import excerpt
from soundstage.trace._trace import Trace

P = ParamSpec("P")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check. It is true when the expectation held.

    Args:
        passed: whether it held.
        message: one sentence, whether it held or not.
        expected: what should have been there.
        seen: what was there.
        hint: the next step, if there is an obvious one.
        diff: expected and seen side by side, around the first difference; empty when there is none.
        at: position in the journal of the first event that is not as expected, if there is one.
        found: what a world's expectation has found, such as the line or the message.
    """

    passed: bool
    message: str
    expected: str = ""
    seen: str = ""
    hint: str = ""
    diff: str = ""
    at: int | None = None
    found: Any = None

    def __bool__(self) -> bool:
        return self.passed


def demand(trace: Trace, finding: Finding) -> None:
    """Raise the finding if it is a failure.

    Raises:
        ExpectationError: with the difference and the trace around it.
    """
    __tracebackhide__ = True
    if finding.passed:
        return
    raise ExpectationError(
        finding.message,
        expected=finding.expected,
        seen=finding.diff or finding.seen,
        around="in the trace:\n" + excerpt(trace, finding.at),
        at=finding.at,
        hint=finding.hint or WHOLE_TRACE,
    )


def asserting(check: Callable[Concatenate[Trace, P], Finding]) -> Callable[Concatenate[Trace, P], None]:
    """The assertion that belongs to a check of a trace; see `assertion_of`."""
    return assertion_of(check, demand)


def assertion_of(
    check: Callable[Concatenate[S, P], Finding], demanded: Callable[[S, Finding], None]
) -> Callable[Concatenate[S, P], None]:
    """The assertion that belongs to a check: the same arguments, and an error instead of a finding.

    Args:
        check: called `check_...`.
        demanded: raises a finding that is a failure; it gets the subject of the check, too.
    """

    @functools.wraps(check)
    def assertion(subject: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        __tracebackhide__ = True
        demanded(subject, check(subject, *args, **kwargs))

    name = check.__name__.replace("check_", "assert_")
    assertion.__name__ = assertion.__qualname__ = name
    assertion.__annotations__ = {**check.__annotations__, "return": None}
    first, _, rest = (check.__doc__ or "").partition("\n")
    assertion.__doc__ = f"Assert: {first[:1].lower()}{first[1:]} See `{check.__name__}`.\n{rest}"
    return assertion


def checking(expect: Callable[P, Awaitable[object]]) -> Callable[P, Awaitable[Finding]]:
    """The check that belongs to an asynchronous expectation of a world: the same arguments, and a finding.

    Errors that say that the test is wrong are raised all the same.
    """

    @functools.wraps(expect)
    async def check(*args: P.args, **kwargs: P.kwargs) -> Finding:
        try:
            return _held(expect, await expect(*args, **kwargs))
        except ExpectationError as error:
            return _missed(error)

    return _renamed(check, expect)


def checking_now(expect: Callable[P, object]) -> Callable[P, Finding]:
    """The check that belongs to an expectation that does not wait; see `checking`."""

    @functools.wraps(expect)
    def check(*args: P.args, **kwargs: P.kwargs) -> Finding:
        try:
            return _held(expect, expect(*args, **kwargs))
        except ExpectationError as error:
            return _missed(error)

    return _renamed(check, expect)


def _held(expect: Callable[..., object], found: object) -> Finding:
    return Finding(passed=True, message=f"{expect.__name__} holds", found=found)


def _missed(error: ExpectationError) -> Finding:
    return Finding(
        passed=False,
        message=error.summary,
        expected=error.expected,
        seen=error.seen,
        hint=error.hint,
        at=error.at,
    )


def _renamed(check: F, expect: Callable[..., object]) -> F:
    name = name_of_check(expect.__name__)
    check.__name__ = name
    check.__qualname__ = expect.__qualname__.removesuffix(expect.__name__) + name
    check.__annotations__ = {**expect.__annotations__, "return": Finding}
    check.__doc__ = (
        f"`{expect.__name__}` with the same arguments that returns a `Finding` and raises no expectation."
    )
    return check


def name_of_check(expectation: str) -> str:
    """The name of the check of an expectation: `expect_nothing` has `check_nothing`."""
    return "check" + expectation.removeprefix("expect").removeprefix("assert")
