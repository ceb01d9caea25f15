"""Events of services in containers, besides the start, the lines and the exit of every program."""

from __future__ import annotations

from soundstage.journal import Event


class HealthChanged(Event, frozen=True, kw_only=True):
    """A service in a container has become healthy, or is so no more."""

    service: str
    status: str
    output: str = ""

    def __str__(self) -> str:
        return f"{self.service} is {self.status}"
