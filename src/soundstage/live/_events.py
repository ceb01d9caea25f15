"""Facts about providers that are asked for real."""

from __future__ import annotations

from soundstage.journal import Event


class ModelThrottled(Event, frozen=True, kw_only=True):
    """A provider was too busy for a request, which is sent again.

    Args:
        status: 429 or 529.
        message: the provider's words.
        wait: seconds until it may be asked again.
        attempt: from 1, the one that was turned away.
    """

    status: int
    message: str = ""
    wait: float = 0.0
    attempt: int = 1

    def __str__(self) -> str:
        return f"{self.status}, attempt {self.attempt}, again in {self.wait:g} s: {self.message}"
