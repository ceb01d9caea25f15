"""From one stage of a workflow to the next."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.claude_code.semantics._verdict import SemanticResult
from soundstage.claude_code.semantics._workflows import WORKFLOWS, StageGraph
from soundstage.errors import ScriptError


class Transition(SemanticResult, frozen=True, kw_only=True):
    """Whether a workflow went where it should.

    Args:
        valid: whether the target was reached, by a step that the graph of a workflow allows.
        expected: the step, as `exploring -> planning`.
        actual: the stage that was reached.
        workflows: the workflows that have the step, reached or not.
    """

    valid: bool
    expected: str
    actual: str
    workflows: tuple[str, ...]


def transition(
    from_stage: str, to_stage: str, actual_stage: str, *, workflow: str | StageGraph | None = None
) -> Transition:
    """Compare the stage that was reached with the one that should be, and the step with the graph.

    `passed` says that the target was reached, in capitals or not; `valid` that the workflow has such a step, too. A
    skipped stage can be reached and still not be valid; a stage that no workflow knows is never valid.

    Args:
        from_stage: where it was.
        to_stage: where it should be now.
        actual_stage: where it is.
        workflow: the one that is meant, by name or as your own `StageGraph`; any of ours unless given.

    Raises:
        ScriptError: for the name of a workflow that does not exist.

    Example:
        >>> step = transition("exploring", "coding", "coding", workflow="agent-loop")
        >>> step.passed, step.valid
        (True, False)
    """
    candidates = _candidates(workflow)
    allowing = tuple(candidate.name for candidate in candidates if candidate.allows(from_stage, to_stage))
    passed = actual_stage.strip().casefold() == to_stage.strip().casefold()
    reached = f"reached {actual_stage!r}" if passed else f"expected {to_stage!r}, reached {actual_stage!r}"
    return Transition(
        passed=passed,
        details=f"{reached}; {_judged(from_stage, to_stage, candidates, allowing)}",
        valid=passed and bool(allowing),
        expected=f"{from_stage} -> {to_stage}",
        actual=actual_stage,
        workflows=allowing,
    )


def _candidates(workflow: str | StageGraph | None) -> tuple[StageGraph, ...]:
    if workflow is None:
        return tuple(WORKFLOWS.values())
    if isinstance(workflow, StageGraph):
        return (workflow,)
    if workflow not in WORKFLOWS:
        raise ScriptError("unknown workflow", expected="one of " + ", ".join(WORKFLOWS), seen=repr(workflow))
    return (WORKFLOWS[workflow],)


def _judged(start: str, end: str, candidates: Sequence[StageGraph], allowing: Sequence[str]) -> str:
    """The verdict of the graphs on a step."""
    if allowing:
        return f"{', '.join(allowing)} allows {start} -> {end}"
    known = {stage for workflow in candidates for stage in workflow.stages}
    unknown = [stage for stage in (start, end) if stage.strip().casefold() not in known]
    names = ", ".join(workflow.name for workflow in candidates)
    if unknown:
        return f"{names} has no stage {unknown[0]!r}; there are {', '.join(sorted(known))}"
    following = sorted(
        {stage for workflow in candidates for stage in workflow.stages.get(start.strip().casefold(), ())}
    )
    return f"{names} has no step {start} -> {end}; after {start} comes {' or '.join(following) or 'nothing'}"
