"""What an assertion found, and how a finding becomes an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec

import msgspec

from soundstage.errors import WHOLE_TRACE, ExpectationError
from soundstage.trace._format import excerpt
from soundstage.trace._trace import Trace

P = ParamSpec("P")


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
    """

    passed: bool
    message: str
    expected: str = ""
    seen: str = ""
    hint: str = ""
    diff: str = ""
    at: int | None = None

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
    """The assertion that belongs to a check: the same arguments, and an error instead of a finding."""

    @functools.wraps(check)
    def assertion(trace: Trace, /, *args: P.args, **kwargs: P.kwargs) -> None:
        __tracebackhide__ = True
        demand(trace, check(trace, *args, **kwargs))

    name = check.__name__.replace("check_", "assert_")
    assertion.__name__ = assertion.__qualname__ = name
    assertion.__annotations__ = {**check.__annotations__, "return": None}
    first, _, rest = (check.__doc__ or "").partition("\n")
    assertion.__doc__ = f"Assert: {first[:1].lower()}{first[1:]} See `{check.__name__}`.\n{rest}"
    return assertion
