"""Scenarios of the demo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from soundstage.host import Host, HostBuilder


def _nothing() -> str:
    return ""


class DemoScenario(NamedTuple):
    """One scenario.

    Args:
        title: one line for the table.
        about: what it shows, a sentence.
        setup: says what the run consists of.
        body: drives it and asserts.
        missing: says what has to be installed before it can run, and how; nothing if all is there.
    """

    title: str
    about: str
    setup: Callable[[HostBuilder], HostBuilder]
    body: Callable[[Host], Awaitable[None]]
    missing: Callable[[], str] = _nothing
