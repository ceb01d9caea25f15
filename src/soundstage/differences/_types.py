"""The record of one difference, and the causes that there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

Cause = Literal[
    "prompt edited",
    "system prompt edited",
    "tool schema changed",
    "tool list changed",
    "order swapped",
    "other model or settings",
    "tool result differs",
    "earlier reply differs",
    "reply differs",
    "extra call",
    "missing call",
    "message differs",
    "failure differs",
    "tool call differs",
    "already played",
    "other agent's call",
    "tape older than its format",
]
"""Why a request is not the recorded one, or a run not the other one. Two requests show the first eight, two replies the
ninth; the others need to know the run."""

Normaliser = Callable[[str], str]
"""Takes out of a text what changes from run to run. It is asked often for the same texts: keep its answers."""


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One place where two requests differ. As JSON: `msgspec.json.encode(difference)`.

    Args:
        cause: why.
        where: the place, such as `messages[3] user, part 1, line 12`, `tools.get_weather.parameters.city`,
            `settings.temperature`. Messages are numbered from 0 as in the request that was seen; one that only the
            recorded request has, as in that one. Parts and lines are numbered from 1.
        recorded: what was recorded, in a few words.
        seen: what was seen, likewise.
        lines: the changed lines and those around them, each after `-`, `+` or a blank; at most a screen of them.
        call: of a tool result, the call that it answers, such as `look({"city":"Oslo"})`; empty if no message has it.
    """

    cause: Cause
    where: str
    recorded: str
    seen: str
    lines: tuple[str, ...] = ()
    call: str = ""

    def __str__(self) -> str:
        return f"{self.cause}: {self.where}: recorded {self.recorded}, seen {self.seen}"


class DifferingValue(NamedTuple):
    """One place where two requests differ, with both values whole.

    Args:
        difference: the place, the cause, and both sides in words.
        recorded: a text, or another JSON value; `match.MISSING` if only the other request has one.
        seen: likewise.
    """

    difference: Difference
    recorded: Any
    seen: Any
