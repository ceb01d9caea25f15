"""The runner of a test: `run_agent`."""

from __future__ import annotations

import inspect
import os
from typing import Any, Final

import pytest

from soundstage.config import Settings, load_settings
from soundstage.host import Setup
from soundstage.runs.result import RunResult
from soundstage.runs.runner._prompt import Prompt
from soundstage.runs.runner._runner import AgentRunner
from soundstage.runs.runner._targets import AgentTarget

_OURS: Final = ("target", "journal", "settings", "test")  # which the fixture gives itself
OPTIONS: Final = frozenset(inspect.signature(AgentRunner).parameters).difference(_OURS)


class RunAgent:
    """Runs agents on the journal of a test: `result = await run_agent(target, "fix the bug", budget=Budget(turns=5))`.

    Args:
        stage: of the test, with its journal and its workspace.
        settings: files and environment.
        test: its id, for stores.
    """

    def __init__(self, stage: Setup, settings: Settings, test: str) -> None:
        self._stage = stage
        self._settings = settings
        self._test = test

    @classmethod
    def of(cls, item: pytest.Item, stage: Setup) -> RunAgent:
        """For a test."""
        return cls(stage, load_settings(item.config.rootpath, os.environ), item.nodeid)

    def runner(self, target: AgentTarget, **options: Any) -> AgentRunner:
        """A runner for several runs of a target, with the options of `AgentRunner` and the workspace of the test."""
        options.setdefault("workspace", self._stage.made_workspace)
        return AgentRunner(
            target, journal=self._stage.journal, settings=self._settings, test=self._test, **options
        )

    async def __call__(self, target: AgentTarget, prompt: Prompt, **given: Any) -> RunResult:
        """Run a target on a prompt, and return the result; see `AgentRunner.run`.

        Args:
            target: what is driven.
            prompt: a text, or an async iterable of its pieces.
            **given: options of `AgentRunner`, such as `budget` and `watchers`; everything else is of the configuration.
        """
        options = {name: given.pop(name) for name in OPTIONS & set(given)}
        return await self.runner(target, **options).run(prompt, **given)
