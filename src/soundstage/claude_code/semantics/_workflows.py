"""Workflows as graphs of stages. The CLI knows no stages: a stage is what the last command of a plugin began."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from soundstage.errors import ScriptError

IDLE: Final = "idle"


class StageGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of a plugin's workflow.

    Args:
        name: the plugin's name.
        stages: each stage with those that may follow it.
        commands: each command, without the plugin's name, with the stage that it begins.
        initial: the stage before the first command.

    Raises:
        ScriptError: if an edge or a command leads to a stage that is not in `stages`.

    Example:
        >>> WORKFLOWS["agent-loop"].stage_after(["/agent-loop:explore", "/agent-loop:plan"])
        'planning'
    """

    name: str
    stages: Mapping[str, tuple[str, ...]]
    commands: Mapping[str, str]
    initial: str = IDLE

    def __post_init__(self) -> None:
        targets = {stage for following in self.stages.values() for stage in following}
        unknown = sorted({*targets, *self.commands.values(), self.initial} - set(self.stages))
        if unknown:
            raise ScriptError(
                f"the workflow {self.name!r} leads to a stage that it does not have",
                expected="one of " + ", ".join(self.stages),
                seen=", ".join(unknown),
            )

    def allows(self, start: str, end: str) -> bool:
        """Whether one stage may follow another; unknown ones never do. Capitals do not count."""
        return _key(end) in self.stages.get(_key(start), ())

    def stage_after(self, commands: list[str] | tuple[str, ...]) -> str:
        """The stage after some commands, as they were typed: that of the last one that belongs to this workflow."""
        stage = self.initial
        for command in commands:
            plugin, _, name = command.strip().removeprefix("/").partition(" ")[0].rpartition(":")
            if plugin in ("", self.name):
                stage = self.commands.get(name, stage)
        return stage


def _key(stage: str) -> str:
    return stage.strip().casefold()


AGENT_LOOP: Final = StageGraph(
    name="agent-loop",
    stages={
        "idle": ("exploring",),
        "exploring": ("planning",),
        "planning": ("coding", "exploring"),
        "coding": ("complete", "planning"),
        "complete": ("exploring", "idle"),
    },
    commands={"explore": "exploring", "plan": "planning", "code": "coding", "commit": "complete"},
)

EPTI: Final = StageGraph(
    name="epti",
    stages={
        "idle": ("writing-tests",),
        "writing-tests": ("verifying-failure",),
        "verifying-failure": ("committing-tests", "writing-tests"),
        "committing-tests": ("implementing",),
        "implementing": ("iterating", "committing-code"),
        "iterating": ("iterating", "committing-code"),
        "committing-code": ("complete", "writing-tests"),
        "complete": ("writing-tests", "idle"),
    },
    commands={
        "write-tests": "writing-tests",
        "verify-fail": "verifying-failure",
        "commit-tests": "committing-tests",
        "implement": "implementing",
        "iterate": "iterating",
        "commit-code": "committing-code",
    },
)

VISUAL_ITERATION: Final = StageGraph(
    name="visual-iteration",
    stages={
        "idle": ("loading-mock", "capturing"),
        "loading-mock": ("implementing", "capturing"),
        "implementing": ("capturing",),
        "capturing": ("analyzing",),
        "analyzing": ("feedback-provided", "refining", "polished", "committing"),
        "feedback-provided": ("refining",),
        "refining": ("refining", "capturing", "analyzing", "polished", "committing"),
        "polished": ("committing",),
        "committing": ("complete", "loading-mock"),
        "complete": ("loading-mock", "capturing", "idle"),
    },
    commands={
        "load-mock": "loading-mock",
        "implement-design": "implementing",
        "screenshot": "capturing",
        "compare": "analyzing",
        "iterate": "refining",
        "visual-commit": "committing",
    },
)

WORKFLOWS: Final[Mapping[str, StageGraph]] = {
    workflow.name: workflow for workflow in (AGENT_LOOP, EPTI, VISUAL_ITERATION)
}
"""The workflows of our own plugins, by name."""
