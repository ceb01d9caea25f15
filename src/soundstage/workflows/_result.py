"""The result of a workflow: a view of its journal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from soundstage.journal import Event, Journal, Record
from soundstage.messages import Usage
from soundstage.runs import ContentSource
from soundstage.runs.result import FileEntry, RunResult, build_result
from soundstage.trace import Cost
from soundstage.workflows._events import (
    Ending,
    StageFinished,
    StageIterated,
    StageSkipped,
    StageStarted,
    WorkflowFinished,
    WorkflowStarted,
)

StageStatus = Literal["running", "complete", "partial", "failed", "skipped"]


class StageResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that a stage has come to.

    Args:
        name: of the stage.
        status: `skipped` if it was not run; `partial` if a run of it was cut off or facts of it are missing.
        reason: why it was skipped, or how its repetition ended: `predicate-met`, `max-iterations`.
        error: why it failed.
        result: of all that happened in it: files, tool calls, tokens, cost.
        iterations: the results of its runs one by one, if it repeats.
        metadata: what its author noted on it.
    """

    name: str
    status: StageStatus = "running"
    reason: str = ""
    error: str = ""
    result: RunResult = RunResult()
    iterations: tuple[RunResult, ...] = ()
    metadata: dict[str, Any] = {}

    @property
    def max_iterations_reached(self) -> bool:
        """Whether its repetition ended at the limit, and not because the predicate was met."""
        return self.reason == "max-iterations"


class WorkflowResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that a workflow has come to. `build_workflow` reads it out of a journal.

    Args:
        name: of the workflow; the title of a test whose body it is.
        status: `failed` if a stage failed; `partial` if a stage is; else `complete`.
        stages: in order, those that were skipped too.
        failed_stage: the stage that ended it; empty if none did.
        error: why it failed.
        result: of all stages together.

    Example:
        ::

            result = await workflow(Stage("plan", prompt="..."), Stage("build", prompt="..."))
            assert result.status == "complete", result.error
            assert [file.path for file in result.files] == ["plan.md", "app.py"]
    """

    name: str = ""
    status: Ending = "complete"
    stages: tuple[StageResult, ...] = ()
    failed_stage: str = ""
    error: str = ""
    result: RunResult = RunResult()

    def stage(self, name: str) -> StageResult:
        """The result of a stage.

        Raises:
            LookupError: if there is none of this name.
        """
        found = next((one for one in self.stages if one.name == name), None)
        if found is None:
            raise LookupError(f"no stage {name!r}; there are {', '.join(one.name for one in self.stages)}")
        return found

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """The files that all stages changed, one entry for each path."""
        return self.result.files

    @property
    def usage(self) -> Usage:
        """The tokens of all stages."""
        return self.result.usage

    @property
    def cost(self) -> Cost | None:
        """The cost of all stages."""
        return self.result.cost

    @property
    def duration(self) -> float:
        """Seconds from the begin of the first stage to the end of the last one."""
        return self.result.duration

    @property
    def output(self) -> str:
        """The last text that was said."""
        return self.result.output


def build_workflow(records: Sequence[Record], *, objects: ContentSource | None = None) -> WorkflowResult:
    """The result of the last workflow in some records. Pure.

    Args:
        records: in the order of the journal.
        objects: has the files before and after changes, as `build_result` takes it.

    Raises:
        LookupError: if no workflow begins in them.
    """
    begin = next((i for i in reversed(range(len(records))) if _is(WorkflowStarted, records[i])), None)
    if begin is None:
        raise LookupError("no workflow begins in these records: there is no WorkflowStarted")
    end = next((i for i in range(begin, len(records)) if _is(WorkflowFinished, records[i])), len(records))
    return _workflow_of(records[begin : end + 1], objects)


def _is(kind: type[Event], record: Record) -> bool:
    return isinstance(record.event, kind)


def workflow_in(journal: Journal, first: int, last: int = 0) -> WorkflowResult:
    """The result of the workflow between two positions of a journal, both included; so far, without the second."""
    return _workflow_of(_part(journal, first, last), journal.contents)


def stage_in(journal: Journal, first: int, last: int = 0) -> StageResult:
    """The result of the stage between two positions of a journal, both included; so far, without the second."""
    return _stage_of(_part(journal, first, last), journal.contents)


def _part(journal: Journal, first: int, last: int) -> list[Record]:
    return journal.read(first - 1)[: last - first + 1 if last else None]


def _workflow_of(records: Sequence[Record], objects: ContentSource | None) -> WorkflowResult:
    started, last = records[0].event, records[-1].event
    assert isinstance(started, WorkflowStarted)
    end = last if isinstance(last, WorkflowFinished) else WorkflowFinished(outcome="partial")
    stages = tuple(_stages(records, objects))
    return WorkflowResult(
        name=started.test or started.name,
        status=end.outcome,
        stages=stages,
        failed_stage=end.failed_stage,
        error=end.error,
        result=_together(build_result(records, objects=objects), [stage.result for stage in stages]),
    )


def _together(whole: RunResult, parts: Sequence[RunResult]) -> RunResult:
    """A result whose tokens and cost are the sums of its parts: one agent counts itself, another one does not."""
    costs = [part.cost for part in parts if part.cost is not None]
    if not parts:
        return whole
    reasons = dict.fromkeys(cost.reason for cost in costs if cost.amount is None)
    by_model: dict[str, float] = {}
    for cost in costs:
        for model, amount in cost.by_model.items():
            by_model[model] = by_model.get(model, 0.0) + amount
    total = Cost(
        amount=None if reasons else math.fsum(cost.amount or 0.0 for cost in costs),
        reason="; ".join(reasons),
        by_model=by_model,
        uncounted=sum(cost.uncounted for cost in costs),
    )
    usage = sum((part.usage for part in parts), Usage())
    return msgspec.structs.replace(whole, usage=usage, cost=total if costs else None)


def _stages(records: Sequence[Record], objects: ContentSource | None) -> Iterator[StageResult]:
    begin: int | None = None
    for index, record in enumerate(records):
        event = record.event
        if isinstance(event, StageSkipped):
            yield StageResult(
                name=event.stage, status="skipped", reason=event.reason, metadata=event.metadata
            )
        elif isinstance(event, StageStarted):
            begin = index
        elif isinstance(event, StageFinished) and begin is not None:
            yield _stage_of(records[begin : index + 1], objects)
            begin = None
    if begin is not None:
        yield _stage_of(records[begin:], objects)


def _stage_of(records: Sequence[Record], objects: ContentSource | None) -> StageResult:
    started, last = records[0].event, records[-1].event
    assert isinstance(started, StageStarted)
    end = last if isinstance(last, StageFinished) else None
    return StageResult(
        name=started.stage,
        status=end.outcome if end is not None else "running",
        reason=end.reason if end is not None else "",
        error=end.error if end is not None else "",
        result=build_result(records, objects=objects),
        iterations=tuple(_iterations(records, objects)),
        metadata=started.metadata,
    )


def _iterations(records: Sequence[Record], objects: ContentSource | None) -> Iterator[RunResult]:
    begin = 0
    for index, record in enumerate(records):
        if isinstance(record.event, StageIterated):
            yield build_result(records[begin : index + 1], objects=objects)
            begin = index + 1
