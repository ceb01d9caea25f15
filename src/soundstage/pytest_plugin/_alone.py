"""An asynchronous test that has no stage, such as one that makes its run with a `HostBuilder`."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any

import pytest

from soundstage.clock import SystemClock, VirtualClock, run
from soundstage.config import load_settings
from soundstage.errors import ScriptError
from soundstage.pytest_plugin._options import Options


def run_alone(item: pytest.Function, body: Coroutine[Any, Any, object]) -> None:
    """Run it on virtual time, or on the clock that its mark names.

    Raises:
        ScriptError: if the mark asks for what only the fixtures can do.
    """
    mark = item.get_closest_marker("soundstage")
    try:
        options = Options.of(mark, load_settings(item.config.rootpath, os.environ))
        beside = sorted(set(mark.kwargs if mark else ()) - {"clock"})
        if beside:
            raise ScriptError(
                f"the option {beside[0]!r} of the mark `soundstage` is about our fixtures, and this test uses none",
                hint="say it to the builder, or use a fixture such as `stage`",
            )
        clock = options.chosen_clock("virtual")
    except BaseException:
        body.close()
        raise
    run(body, clock=SystemClock() if clock == "system" else VirtualClock())
