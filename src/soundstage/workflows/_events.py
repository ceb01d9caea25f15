"""Facts about workflows. A result is a view of them (`_result`)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.journal import Event, joined_facts

Ending = Literal["complete", "partial", "failed"]


class WorkflowStarted(Event, frozen=True, kw_only=True):
    """A workflow begins, with these stages. `test` is the title of a test whose body begins instead."""

    name: str = ""
    stages: tuple[str, ...] = ()
    test: str = ""

    def __str__(self) -> str:
        return joined_facts(self.test, self.name, " → ".join(self.stages))


class StageSkipped(Event, frozen=True, kw_only=True):
    """A stage is not run. `reason` says why: its gate is shut, an earlier stage failed, another one comes first."""

    stage: str
    reason: str
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        return joined_facts(self.stage, self.reason)


class StageStarted(Event, frozen=True, kw_only=True):
    """A stage begins. `metadata` is what its author noted on it."""

    stage: str
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        return self.stage


class StageIterated(Event, frozen=True, kw_only=True):
    """A stage that repeats has run once more; `met` says whether it may end. Iterations count from 1."""

    stage: str
    iteration: int
    met: bool

    def __str__(self) -> str:
        return joined_facts(self.stage, f"iteration {self.iteration}", "predicate met" if self.met else "")


class StageFinished(Event, frozen=True, kw_only=True):
    """A stage is over. `reason` says how a repetition ended: `predicate-met` or `max-iterations`."""

    stage: str
    outcome: Ending
    reason: str = ""
    error: str = ""

    def __str__(self) -> str:
        return joined_facts(self.stage, self.outcome, self.reason, self.error)


class WorkflowFinished(Event, frozen=True, kw_only=True):
    """A workflow is over. `failed_stage` is the stage that ended it, if one did."""

    name: str = ""
    outcome: Ending
    failed_stage: str = ""
    error: str = ""

    def __str__(self) -> str:
        stage = f"stage {self.failed_stage}" if self.failed_stage else ""
        return joined_facts(self.name, self.outcome, stage, self.error)


class ReporterFailed(Event, frozen=True, kw_only=True):
    """A reporter raised, or took too long. The workflow goes on."""

    reporter: str
    error: str
