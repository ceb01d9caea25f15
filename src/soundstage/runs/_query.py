"""Questions to an index, and in which states it can be. Free of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from soundstage.runs._record import OUTCOMES, STATUSES, require_known

STALE: Final = -1  # seen by an index that has to look again
MISSING: Final = "there was none"


class IndexDamagedError(Exception):
    """Raised when the index has to be made anew: its file is broken, or its tables are of another version."""


class RunQuery(NamedTuple):
    """Which runs are asked for; what is empty does not matter.

    Args:
        test: id of the test, whole.
        driver: who ran them.
        status: one of `STATUSES`.
        outcome: one of `OUTCOMES`.
        labels: all of these.
        since: that began then or later.
        before: that began earlier.
        limit: so many at most, the newest first; 0 for all.
    """

    test: str = ""
    driver: str = ""
    status: str = ""
    outcome: str = ""
    labels: Mapping[str, str] = {}
    since: datetime | None = None
    before: datetime | None = None
    limit: int = 0

    def require_words(self) -> None:
        """Refuse words that no run can have.

        Raises:
            WrongValueError: for a status or an outcome that does not exist.
        """
        for field, known in (("status", STATUSES), ("outcome", OUTCOMES)):
            if getattr(self, field):
                require_known(field, getattr(self, field), known)
