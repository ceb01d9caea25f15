"""Which errors are worth another try, and when. Pure."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from soundstage.errors import ConnectionCut, EgressRefused, ProviderError, WrongValueError
from soundstage.journal import ModelFailed

TRANSIENT_STATUSES: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers of a provider that may be others in a second: too many requests, overloaded, out of order."""


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often a run is tried. The wait doubles after each attempt, on the run's clock.

    Worth another try are: a `ProviderError` or a failed turn with one of `TRANSIENT_STATUSES`, a `ConnectionCut`, and
    a `ConnectionError` other than the refusal of a way out. Everything else stays as it is, so no second try hides it.

    Args:
        attempts: so many in all; 1 tries once.
        base: seconds before the second one.

    Raises:
        WrongValueError: for less than one attempt, or a wait that is no number of seconds.

    Example:
        >>> [Retry(base=0.5).delay(failed) for failed in (1, 2, 3)]
        [0.5, 1.0, 2.0]
    """

    attempts: int = 3
    base: float = 1.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise WrongValueError("a run is tried once at least", seen=f"attempts={self.attempts}")
        if not (math.isfinite(self.base) and self.base >= 0):
            raise WrongValueError("a wait is a number of seconds from 0", seen=f"base={self.base}")

    def delay(self, failed: int) -> float:
        """Seconds to wait after so many failed attempts."""
        return float(self.base * 2 ** (failed - 1))


def is_transient(error: BaseException) -> bool:
    """Whether an error may be gone with another try.

    Example:
        >>> is_transient(ProviderError("busy", status=529)), is_transient(ProviderError("no", status=400))
        (True, False)
    """
    if isinstance(error, ProviderError):
        return error.status in TRANSIENT_STATUSES
    return isinstance(error, ConnectionCut | ConnectionError) and not isinstance(error, EgressRefused)


def failed_for_a_moment(failed: ModelFailed) -> bool:
    """Whether the journal tells of a failure of the model that may be gone with another try."""
    return failed.reason == "cut" or (failed.reason == "error" and failed.status in TRANSIENT_STATUSES)
