"""A carried-out plan in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from soundstage.agents.teams._plan import Plan
from soundstage.agents.teams._quality import GateResult
from soundstage.agents.teams._schedule import TaskResult

_IMPORTANT: Final = frozenset({"search", "code", "test"})  # without these the rest is worth little


def summarise(plan: Plan, results: Sequence[TaskResult], quality: GateResult) -> str:
    """The plan, how much of it was done, what went wrong, what the agents said, what review and tests found."""
    done = sum(result.status == "completed" for result in results)
    lines = [f"Plan: {plan.text or '(no words)'}", f"{done}/{len(results)} tasks completed"]
    failed = sorted({r.task.agent for r in results if r.status == "failed"} & _IMPORTANT)
    if failed:
        lines.append(f"Warning: {', '.join(failed)} failed; the result may be incomplete")
    lines += [f"Warning: {warning}" for warning in quality.warnings]
    lines += map(_told, results)
    lines += _judged(quality)
    return "\n".join(lines)


def _told(result: TaskResult) -> str:
    what = result.output if result.status == "completed" else result.error
    return f"- {result.index} {result.task.agent} {result.status}: {what}"


def _judged(quality: GateResult) -> Iterator[str]:
    if quality.reviews:
        last = quality.reviews[-1]
        verdict = "approved" if last.approved else "not approved"
        yield f"Review: {verdict} after {quality.fixes} fixes" + (f": {last.summary}" if last.summary else "")
    if quality.qa is not None:
        yield f"QA: {'passed' if quality.qa.passed else 'not passed'}"
