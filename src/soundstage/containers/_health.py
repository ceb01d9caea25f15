"""Whether a service in a container is healthy: the check, and the state that the engine tells. Pure.

The state is read from where the engine keeps it, `State.Health.Status`, and compared as a whole: a search for the
word "healthy" in the engine's output would find it in "unhealthy", and in the state of another container.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

Status = Literal["none", "starting", "healthy", "unhealthy"]
_STATES: Final[frozenset[str]] = frozenset({"starting", "healthy", "unhealthy"})
SECOND: Final = 1_000_000_000  # the API counts in nanoseconds


class HealthCheck(NamedTuple):
    """How a service is asked whether it is well.

    Args:
        command: a program in its image, with arguments; exit code 0 means yes.
        interval: seconds between two checks.
        timeout: seconds that one may take.
        retries: how many have to fail, one after the other, for the service to count as unhealthy.
        start: seconds at the beginning in which failures do not count.
    """

    command: tuple[str, ...]
    interval: float = 5.0
    timeout: float = 3.0
    retries: int = 3
    start: float = 0.0

    def for_engine(self) -> dict[str, Any]:
        """As the API takes it. Podman 4 splits arguments with spaces in them, so those go to a shell as one text."""
        spaces = any(set(argument) & set(" \t\n") for argument in self.command)
        return {
            "test": ["CMD-SHELL", shlex.join(self.command)] if spaces else ["CMD", *self.command],
            "interval": int(self.interval * SECOND),
            "timeout": int(self.timeout * SECOND),
            "retries": self.retries,
            "start_period": int(self.start * SECOND),
        }


class Health(NamedTuple):
    """The state of a container's health, as the engine tells it."""

    status: Status
    output: str = ""
    running: bool = True
    exit_code: int | None = None

    def __str__(self) -> str:
        if not self.running:
            return f"exited with {self.exit_code}" if self.exit_code is not None else "does not run"
        return "running" if self.status == "none" else " ".join(filter(None, (self.status, self.output)))


def health_of(attributes: Mapping[str, Any]) -> Health:
    """The health in what the engine tells of a container ("inspect").

    >>> health_of({"State": {"Running": True, "Health": {"Status": "unhealthy", "Log": [{"Output": "no\\n"}]}}})
    Health(status='unhealthy', output='no', running=True, exit_code=None)
    """
    state = attributes.get("State") or {}
    health = state.get("Health") or {}
    status = str(health.get("Status") or "none").lower()
    log = health.get("Log") or []
    running = bool(state.get("Running"))
    return Health(
        status=status if status in _STATES else "none",  # type: ignore[arg-type]
        output=str(log[-1].get("Output") or "").strip() if log else "",
        running=running,
        exit_code=None if running else state.get("ExitCode"),
    )
