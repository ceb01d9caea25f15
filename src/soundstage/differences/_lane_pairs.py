"""Lanes of two runs in pairs, and their steps in pairs: by caller and content, not by time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from operator import attrgetter
from typing import Any, Final, NamedTuple

from soundstage.differences._lanes import LaneStep, RequestLane
from soundstage.differences._sketch import RequestSketch, nearness, sketch_of
from soundstage.differences._types import Normaliser

_FAR: Final = 0.2  # lanes of one agent that are less near have nothing to do with each other
_RENAMED: Final = 0.6  # likewise, of two agents
_AGENT: Final = attrgetter("agent", "purpose")
_PURPOSE: Final = attrgetter("purpose")


class LanePair(NamedTuple):
    """A lane of each run, `None` where there is no partner, with its number and its name for people."""

    number: int
    name: str
    a: RequestLane | None
    b: RequestLane | None


class StepPair(NamedTuple):
    """A step of each run, `None` where there is no partner. `number` is that in its lane, from 1."""

    a: LaneStep | None
    b: LaneStep | None
    number: int
    moved: bool = False

    @property
    def both(self) -> bool:
        return self.a is not None and self.b is not None


def lane_pairs(a: Sequence[RequestLane], b: Sequence[RequestLane], normalise: Normaliser) -> list[LanePair]:
    """The lanes of two runs in pairs: the nearest ones of one agent and purpose, then of one purpose.

    Agents whose names are ids have other names in each run.
    """
    partners: dict[int, int] = {}
    for kind in dict.fromkeys(map(_AGENT, a)):
        _pair(a, b, partners, (_AGENT, kind), normalise, far=_FAR, alone=True)
    for kind in dict.fromkeys(map(_PURPOSE, a)):
        _pair(a, b, partners, (_PURPOSE, kind), normalise, far=_RENAMED, alone=False)
    taken = set(partners.values())
    pairs: list[tuple[RequestLane | None, RequestLane | None]] = [
        (lane, b[partners[place]] if place in partners else None) for place, lane in enumerate(a)
    ]
    pairs += [(None, lane) for place, lane in enumerate(b) if place not in taken]
    names = _names(pairs)
    return [LanePair(number, names[number], *pair) for number, pair in enumerate(pairs)]


def _pair(
    a: Sequence[RequestLane],
    b: Sequence[RequestLane],
    partners: dict[int, int],
    kind: tuple[Callable[[RequestLane], Any], Any],
    normalise: Normaliser,
    *,
    far: float,
    alone: bool,
) -> None:
    """Find partners for the lanes of one kind that have none; with `alone`, the last two are a pair in any case."""
    of, value = kind
    taken = set(partners.values())
    left = [place for place, lane in enumerate(a) if of(lane) == value and place not in partners]
    right = [place for place, lane in enumerate(b) if of(lane) == value and place not in taken]
    if alone and len(left) == len(right) == 1:
        partners[left[0]] = right[0]
        return
    found = _nearest([a[i] for i in left], [b[k] for k in right], far, normalise)
    partners.update({left[i]: right[k] for i, k in found.items()})
    if alone and found:
        _pair(a, b, partners, kind, normalise, far=1, alone=True)


def _names(pairs: Sequence[tuple[RequestLane | None, RequestLane | None]]) -> list[str]:
    """The names of pairs of lanes; several of one caller are numbered."""
    callers = []
    for one, other in pairs:
        lane = one or other
        assert lane is not None
        callers.append(lane.agent if lane.purpose == "main" else f"{lane.agent} ({lane.purpose})")
    many, count = Counter(callers), Counter[str]()
    found = []
    for name in callers:
        count[name] += 1
        found.append(name if many[name] == 1 else f"{name}, conversation {count[name]}")
    return found


def _nearest(a: list[RequestLane], b: list[RequestLane], far: float, normalise: Normaliser) -> dict[int, int]:
    ends = [
        [(_sketch(lane.steps[0], normalise), _sketch(lane.steps[-1], normalise)) for lane in side]
        for side in (a, b)
    ]
    scores = [
        (score + nearness(last, other_last), -abs(i - k), i, k)
        for i, (first, last) in enumerate(ends[0])
        for k, (other, other_last) in enumerate(ends[1])
        if (score := 10 * nearness(first, other)) > 10 * far
    ]
    found: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, i, k in sorted(scores, reverse=True):
        if i not in found and k not in taken:
            found[i] = k
            taken.add(k)
    return found


def _sketch(step: LaneStep, normalise: Normaliser) -> RequestSketch:
    return sketch_of(step.step.request, normalise=normalise)


def step_pairs(lane: LanePair) -> list[StepPair]:
    """The steps of a pair of lanes in pairs: those with the same news, and between them in order."""
    a, b = (side.steps if side is not None else [] for side in (lane.a, lane.b))
    rows = list(_aligned([step.news for step in a], [step.news for step in b]))
    gone = {a[i].news: i for i, k in rows if i is not None and k is None}
    found, moved = [], set()
    for i, k in rows:
        if i is None and k is not None and b[k].news in gone:
            place = gone.pop(b[k].news)
            moved.add(place)
            found.append(StepPair(a[place], b[k], place + 1, moved=True))
        else:
            one, other = (a[i] if i is not None else None), (b[k] if k is not None else None)
            found.append(StepPair(one, other, (i if i is not None else k or 0) + 1))
    return [pair for pair in found if pair.both or pair.b is not None or pair.number - 1 not in moved]


def _aligned(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """The places of two lists in rows: equal ones beside each other, between them in order, `None` for no partner."""
    for _, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        yield from zip_longest(range(i, j), range(k, m))
