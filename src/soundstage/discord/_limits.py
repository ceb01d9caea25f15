"""Rate limits that a test asks for.

Source: https://discord.com/developers/docs/topics/rate-limits
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Final, NamedTuple

# What every answer says of its limits: far more than a test needs, so that no client slows itself down.
PLENTY: Final = {
    "x-ratelimit-limit": "1000",
    "x-ratelimit-remaining": "999",
    "x-ratelimit-reset-after": "1.000",
}


class Limit(NamedTuple):
    """The next `left` requests of a route are refused; without a route, the next ones whatever they are."""

    route: str | None
    left: int
    retry_after: float

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        return {
            "message": "You are being rate limited.",
            "retry_after": self.retry_after,
            "global": self.route is None,
        }


class Limits:
    """The limits that are in force."""

    def __init__(self) -> None:
        self._limits: list[Limit] = []

    def add(self, limit: Limit) -> None:
        """Put a limit into force."""
        self._limits.append(limit)

    def take(self, route: str) -> Limit | None:
        """The limit that this request meets, if any; it is used up by one."""
        for place, limit in enumerate(self._limits):
            if limit.route in (None, route):
                self._limits[place] = limit._replace(left=limit.left - 1)
                if limit.left <= 1:
                    del self._limits[place]
                return limit
        return None


def refusal_headers(limit: Limit, route: str) -> dict[str, str]:
    """The headers of a 429. `via` tells clients that Discord itself answers, and no proxy before it."""
    headers = {
        "retry-after": f"{limit.retry_after:g}",
        "via": "1.1 soundstage",
        "x-ratelimit-scope": "user" if limit.route else "global",
    }
    if limit.route is None:
        return headers | {"x-ratelimit-global": "true"}
    return headers | {
        "x-ratelimit-bucket": bucket(route),
        "x-ratelimit-limit": "1",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset-after": f"{limit.retry_after:g}",
    }


@functools.cache
def bucket(route: str) -> str:
    """The name of the bucket that a route counts in."""
    return hashlib.sha256(route.encode()).hexdigest()[:32]
