"""Differences of two runs beside their requests: messages of worlds, failures, calls of tools that no model asked for.

Each has a place of its own (a channel, a kind of failure, an agent), and within that an order; which place came first
does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from soundstage.differences._run_types import StepDiff
from soundstage.differences._types import Cause, Difference, Normaliser
from soundstage.match import preview
from soundstage.trace import Trace


class _Fact(NamedTuple):
    """Something that happened: where it belongs, its position, its text, and the cause if it differs."""

    place: str
    position: int
    text: str
    cause: Cause


def outside_of(a: Trace, b: Trace, normalise: Normaliser) -> list[StepDiff]:
    """The differences in what is no request. After a difference of one place, others in it follow."""
    sides = [list(_facts(trace)) for trace in (a, b)]
    places = dict.fromkeys(fact.place for side in sides for fact in side)
    found: list[StepDiff] = []
    for place in places:
        own = [[fact for fact in side if fact.place == place] for side in sides]
        found += _apart(place, own[0], own[1], normalise)
    return found


def _facts(trace: Trace) -> Iterator[_Fact]:
    for line in trace.messages:
        arrow = "to" if line.direction == "in" else "from"
        where = " ".join(filter(None, (f"messages {arrow} the app,", line.source, line.channel)))
        yield _Fact(where.rstrip(","), line.position, f"{line.sender}: {line.text}", "message differs")
    for failure in trace.failures:
        if failure.what != "model":  # these are in their steps
            yield _Fact(f"failures, {failure.what}", failure.position, failure.message, "failure differs")
    asked = {id(use) for step in trace.steps for use in step.tools}
    for use in trace.tools:
        if id(use) not in asked:
            text = f"{use.name}({use.raw or json.dumps(use.arguments, ensure_ascii=False)}) = {use.result}"
            yield _Fact(f"tools, {use.agent}", use.asked_at, text, "tool call differs")


def _apart(place: str, a: list[_Fact], b: list[_Fact], normalise: Normaliser) -> Iterator[StepDiff]:
    texts = [[normalise(fact.text) for fact in side] for side in (a, b)]
    aligned = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    follows = False
    for operation, i, j, k, m in aligned.get_opcodes():
        if operation == "equal":
            continue
        for number in range(max(j - i, m - k)):
            one = a[i + number] if i + number < j else None
            other = b[k + number] if k + number < m else None
            known = one or other
            assert known is not None
            words = [preview(side.text) if side is not None else "nothing" for side in (one, other)]
            difference = Difference(cause=known.cause, where=place, recorded=words[0], seen=words[1])
            yield StepDiff(
                lane=place,
                step=0,
                a=one.position if one is not None else 0,
                b=other.position if other is not None else 0,
                follows=follows,
                found=(difference,),
            )
            follows = True
