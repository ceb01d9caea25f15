"""A run as the store has it, with all that may tell failing runs from passing ones: steps, tools, arguments, agents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from soundstage.evals._events import Grade
from soundstage.evals._report import ScoredRun
from soundstage.judges import RunJudged
from soundstage.live import ModelThrottled
from soundstage.runs import StoredRun
from soundstage.trace import Trace, build_trace

_LONGEST: Final = 100  # characters of a feature, which is a line of a report


def read_run(stored: StoredRun) -> ScoredRun:
    """A run as the store has it, so that one that was resumed and one that was just made are read the same way."""
    record, records = stored.record, stored.journal()
    trace = build_trace(records)
    judged = [one.event for one in records if isinstance(one.event, RunJudged)]
    costs = [one.cost for one in judged]
    return ScoredRun(
        case=record.labels["case"],
        number=int(record.labels["number"]),
        outcome="passed" if record.outcome == "passed" else "failed",
        run=record.id,
        grades=tuple(one.event for one in records if isinstance(one.event, Grade)),
        seconds=record.seconds,
        tokens=record.tokens or 0,
        cost=record.cost,
        judge_tokens=sum(one.usage.total_tokens for one in judged),
        judge_cost=None if None in costs else math.fsum(cost or 0.0 for cost in costs),
        reason=record.reason,
        unpriced=trace.cost().reason if record.cost is None else "",
        uncounted=sum(step.failure is None and not step.usage.total_tokens for step in trace.steps),
        throttled=sum(isinstance(one.event, ModelThrottled) for one in records),
        features=tuple(sorted({feature[:_LONGEST] for feature in features_of(trace)})),
    )


def features_of(trace: Trace) -> Iterator[str]:
    """The features of a run, in words for a report; one that stands in a run twice may come twice.

    What was called and with what, what failed, what came more than once, what came right after what, and who was at
    work. So a step that is missing, or done in another order, is a feature too.
    """
    for use in trace.tools:
        yield f"the tool {use.name}"
        if use.is_error:
            yield f"the tool {use.name} fails" + (f": {use.error_class}" if use.error_class else "")
        for name, value in use.arguments.items():
            yield f"{use.name} with {name} = {value!r}"
    names = [use.name for use in trace.tools]
    yield from (f"the tool {name} more than once" for name, count in Counter(names).items() if count > 1)
    yield from (f"{second} right after {first}" for first, second in pairwise(names))
    agents = [run.agent for run in trace.runs]
    yield from (f"the agent {agent}" for agent in agents)
    yield from (f"the agent {second} right after {first}" for first, second in pairwise(agents))
    yield from (f"a step ends with {step.failure.reason}" for step in trace.steps if step.failure is not None)
    yield f"{len(trace.main_steps)} steps"
