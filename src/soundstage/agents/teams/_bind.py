"""A team tells the script behind its model whom and what it has, so that misspelt names in rules are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundstage.agents.runtime import TaskRunner
from soundstage.models import script_of


def bind_script(runner: TaskRunner, slugs: Sequence[str], *, phases: Sequence[str] | None = None) -> Any:
    """The script that answers the agents of `runner`, if there is one; it knows them from now on."""
    script = script_of(getattr(runner, "model", None))
    if script is not None:
        script.bind("the team", agents=slugs, phases=phases)
    return script
