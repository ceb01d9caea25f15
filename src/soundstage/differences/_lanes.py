"""Lanes: the requests of a run by who asks and what they go on with.

An agent, a conversation and a purpose name a caller, but apps without such names ask many things at once. So within a
caller a request goes on with the lane whose last request and reply it shares most messages with. One that shares
nothing begins a lane; if there are replies in its history, its beginning was dropped, and it goes on with the caller's
last lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from soundstage.differences._form import message_prints
from soundstage.differences._types import Normaliser
from soundstage.trace import Step

_Key = tuple[str, str, str]


class LaneStep(NamedTuple):
    """A step of a lane.

    Args:
        step: the step.
        prints: those of its messages.
        said: those of its messages and its reply.
        known: places of messages that the step before in the lane had, its reply included.
    """

    step: Step
    prints: tuple[str, ...]
    said: tuple[str, ...]
    known: frozenset[int]

    @property
    def news(self) -> str:
        """The messages that came since the step before, as one text that is equal for equal messages."""
        return ",".join(mark for place, mark in enumerate(self.prints) if place not in self.known)


class RequestLane(NamedTuple):
    """The requests that go on with each other, in order; at least one."""

    agent: str
    purpose: str
    conversation: str
    steps: list[LaneStep]


def lanes_of(steps: Iterable[Step], normalise: Normaliser | None = None) -> list[RequestLane]:
    """The lanes of a run, in the order of their first steps.

    Args:
        steps: in the order of the journal.
        normalise: takes out of every text what changes from run to run.
    """
    lanes: list[RequestLane] = []
    callers: dict[_Key, list[RequestLane]] = {}
    for step in steps:
        own = callers.setdefault((step.agent, step.purpose, step.conversation), [])
        prints, said = _prints(step, normalise)
        lane = _continued(own, step, prints)
        if lane is None:
            lane = RequestLane(step.agent, step.purpose, step.conversation, [])
            lanes.append(lane)
        else:
            own.remove(lane)
        own.append(lane)  # the latest is the last
        known = _known(lane.steps[-1].said if lane.steps else (), prints)
        lane.steps.append(LaneStep(step, prints, said, known))
    return lanes


def _prints(step: Step, normalise: Normaliser | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    request = step.request
    reply = (step.response.message(),) if step.response is not None else ()
    with_reply = msgspec.structs.replace(request, messages=(*request.messages, *reply))
    said = message_prints(with_reply, normalise=normalise)
    return said[: len(request.messages)], said


def _continued(lanes: list[RequestLane], step: Step, prints: tuple[str, ...]) -> RequestLane | None:
    """The lane that a request goes on with; of several that are as good, the latest."""
    messages = step.request.messages
    own = {mark for mark, message in zip(prints, messages, strict=True) if message.role != "system"}
    best: RequestLane | None = None
    most = 0
    for lane in lanes:
        shared = len(own.intersection(lane.steps[-1].said))
        if shared and shared >= most:
            best, most = lane, shared
    if best is None and lanes and any(message.role == "assistant" for message in messages):
        return lanes[-1]
    return best


def _known(before: tuple[str, ...], prints: tuple[str, ...]) -> frozenset[int]:
    left = Counter(before)
    known = set()
    for place, mark in enumerate(prints):
        if left[mark]:
            left[mark] -= 1
            known.add(place)
    return frozenset(known)
