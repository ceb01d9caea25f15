"""The sweep of a test."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from soundstage.errors import ScriptError, did_you_mean
from soundstage.faults._in_process import SweptAgent, sweep
from soundstage.faults._source import ModelSource
from soundstage.faults._table import Sweep
from soundstage.models import Script

OPTIONS: Final = ("kinds", "seed", "allow", "within", "more")


class FaultSweeper:
    """Sweeps agents of one test over its script; the fixture `faults` is one.

    Args:
        source: the script of a good run, or a function that gives a model for each run.
        test: the id of the test, for the command that runs one case again.
        only: the one case to run; all, if empty.
        options: those of the mark.

    Raises:
        ScriptError: for an option that there is not.

    Example:
        ::

            @pytest.mark.faults(seed=7, kinds=("500", "stall"))
            def test_the_agent_takes_faults(script, faults):
                script.on(user="hello").reply("hi")
                faults(agent)
    """

    def __init__(
        self, source: Script | ModelSource, test: str, only: str, options: Mapping[str, Any]
    ) -> None:
        for name in options:
            if name not in OPTIONS:
                raise ScriptError(
                    f"the mark `faults` has no option {name!r}",
                    expected=", ".join(("source", *OPTIONS)),
                    hint=did_you_mean(name, ("source", *OPTIONS)),
                )
        self._source = source
        self._options = dict(options)
        self._only = only
        self._again = f"pytest '{test}' --soundstage-fault CASE"

    def __call__(self, agent: SweptAgent) -> Sweep:
        """Sweep `agent`, an asynchronous function that gets a model. Returns the table.

        Raises:
            ExpectationError: with the table, if a run came to what is not allowed.
            AppError: if the good run fails.
        """
        if not inspect.iscoroutinefunction(agent):
            raise ScriptError(
                "a sweep runs an asynchronous function that takes a model",
                seen=repr(agent),
                hint="write: async def agent(model): ...",
            )
        swept = sweep(agent, self._source, only=self._only, again=self._again, **self._options)
        swept.require_no_findings()
        return swept
