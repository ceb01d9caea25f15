"""Arguments of statistics, checked in one place."""

from __future__ import annotations

import math

from soundstage.errors import WrongValueError


def require_counts(passed: int, runs: int) -> None:
    """Refuse counts that no runs can have.

    Raises:
        WrongValueError: for a number of passed runs that is not from 0 to the number of runs.
    """
    if runs < 0 or not 0 <= passed <= runs:
        raise WrongValueError(
            "so many runs cannot have passed",
            expected="from 0 to the number of runs",
            seen=f"{passed} of {runs}",
        )


def require_share(name: str, value: float) -> float:
    """A number between 0 and 1, both excluded.

    Raises:
        WrongValueError: for any other.
    """
    if isinstance(value, bool) or not (math.isfinite(value) and 0 < value < 1):
        raise WrongValueError(f"`{name}` is a share", expected="above 0 and below 1", seen=repr(value))
    return value


def require_some(name: str, sample: object, least: int = 1) -> None:
    """Refuse a sample that is too small to say anything.

    Raises:
        WrongValueError: for fewer than `least`.
    """
    size = len(sample)  # type: ignore[arg-type]
    if size < least:
        raise WrongValueError(f"too few {name}", expected=f"at least {least}", seen=str(size))
