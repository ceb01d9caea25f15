"""The fixture of pytest."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.terminal import Terminal


@pytest.fixture
def terminal(stage: Setup) -> Callable[..., Awaitable[Terminal]]:
    """Starts any program on a terminal of its own: `screen = await terminal([...], columns=80, rows=24)`."""
    from soundstage.terminal import Terminal

    return functools.partial(stage.start_program, Terminal)
