"""The events that OpenTelemetry adds to a journal."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.journal import Event


class SpanReceived(Event, frozen=True, kw_only=True):
    """A span as it came, whatever it is about. What it means follows as events of its own, once its trace is complete.

    Args:
        trace: 32 hexadecimal digits.
        span: 16 hexadecimal digits.
        parent: the span around it; empty for the root.
        name: as the instrumentation calls it.
        kind: `internal`, `server`, `client`, `producer` or `consumer`.
        began: nanoseconds of Unix time.
        ended: nanoseconds of Unix time.
        status: `error` if what it stands for failed.
        message: why.
        service: the resource's `service.name`.
        scope: the instrumentation.
        attributes: JSON values; long texts are cut here, not in the events that follow.
        events: what happened within: `{"name": .., "at": nanoseconds, "attributes": {..}}`.
    """

    trace: str
    span: str
    parent: str = ""
    name: str = ""
    kind: str = "internal"
    began: int = 0
    ended: int = 0
    status: Literal["unset", "ok", "error"] = "unset"
    message: str = ""
    service: str = ""
    scope: str = ""
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    events: tuple[dict[str, Any], ...] = ()

    def __str__(self) -> str:
        failed = f", {self.message or 'failed'}" if self.status == "error" else ""
        return f"span {self.name!r} of {(self.ended - self.began) / 1e9:.3f} s{failed}"


class SpanMatched(Event, frozen=True, kw_only=True):
    """A span tells what the journal has already, so it is not counted again.

    The record's cause is the request or reply that it tells of. Where there is none, the span stands for an
    agent whose requests are all there.
    """

    trace: str
    span: str
    what: Literal["model", "tool", "agent", "handoff"]

    def __str__(self) -> str:
        return f"span {self.span} tells of a {self.what} that is known already"
