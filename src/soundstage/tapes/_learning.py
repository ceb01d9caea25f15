"""Masks that are learnt from two runs of a program: what its requests differ in although nothing has changed. Pure.

How it works. Each request of the second run has the recorded one that it stands for. The first place at which a pair
differs gets a mask; both are compared again with that mask, until nothing differs that could be masked. So each mask
is made of texts as the masks before it leave them, and they work in this order.

A mask must hide only what differed. One that finds the same text in both runs, or in a request that did not differ, is
not taken; then the narrow one of the place is tried, which has the words before it. What is left is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.differences import Difference, DifferingValue, Normaliser, differing_values, digest_of
from soundstage.match import MISSING
from soundstage.messages import ModelRequest
from soundstage.tapes._proposals import ORDER, WORDS, Place, places_of
from soundstage.tapes._surroundings import Mask, without_settings

MOST: Final = 40  # masks of a tape; a program in which more differs has to be looked at
Masked = Callable[[Sequence[Mask]], Normaliser]
"""Makes the normaliser of a replay with more masks."""


class AskedTwice(NamedTuple):
    """A request of the second run, and the recorded one that it stands for.

    Args:
        number: which request of the run it was, from 1.
        agent: who asked; empty for the main agent.
        recorded: the request of the first run.
        seen: that of the second.
    """

    number: int
    agent: str
    recorded: ModelRequest
    seen: ModelRequest


class Sighting(NamedTuple):
    """A place at which the requests of two runs differ.

    Args:
        number: which request of the run it was first seen in.
        agent: who asked.
        difference: the part of the request.
        place: what stood there in both runs, and its kind.
    """

    number: int
    agent: str
    difference: Difference
    place: Place

    def __str__(self) -> str:
        who = f" of the agent {self.agent}" if self.agent else ""
        return f"request {self.number}{who}, {self.difference.where}: {self.place.first!r}, then {self.place.then!r}"


class Learned(NamedTuple):
    """The masks for what differs between two runs, each with where it was seen, and what got none."""

    masks: tuple[tuple[Mask, Sighting], ...] = ()
    left: tuple[Sighting, ...] = ()


def learn(pairs: Sequence[AskedTwice], same: Iterable[ModelRequest], masked: Masked) -> Learned:
    """Masks for what differs between the requests of two runs.

    Args:
        pairs: the requests that differ.
        same: recorded requests that did not.
        masked: makes the normaliser of a replay with more masks.
    """
    return _Learner(pairs, tuple(same), masked).learned()


class _Learner:
    def __init__(self, pairs: Sequence[AskedTwice], same: Sequence[ModelRequest], masked: Masked) -> None:
        self._pairs = pairs
        self._same = same
        self._masked = masked
        self._found: list[tuple[Mask, Sighting]] = []

    @property
    def _masks(self) -> tuple[Mask, ...]:
        return tuple(mask for mask, _ in self._found)

    def learned(self) -> Learned:
        left: dict[tuple[str, str, str], Sighting] = {}
        for pair in self._pairs:
            while self._took_one(pair):
                pass
        for pair in self._pairs:  # a mask of a later pair may cover what was left of an earlier one
            for sighting in self._sightings(pair):
                left.setdefault((sighting.place.first, sighting.place.then, sighting.place.kind), sighting)
        return Learned(tuple(self._found), tuple(left.values()))

    def _took_one(self, pair: AskedTwice) -> bool:
        """Whether something of a pair could be masked."""
        if len(self._found) >= MOST:
            return False
        for sighting in self._sightings(pair):
            mask = next((mask for mask in sighting.place.masks if self._hides_no_more(mask)), None)
            if mask is not None:
                self._found.append((_told(mask, sighting), sighting))
                return True
        return False

    def _sightings(self, pair: AskedTwice) -> Iterator[Sighting]:
        for value in _differing(pair, self._masks, self._masked(self._masks)):
            for place in _places(value):
                yield Sighting(pair.number, pair.agent, value.difference, place)

    def _hides_no_more(self, mask: Mask) -> bool:
        """Whether a mask finds nothing that both runs had."""
        if mask.place:
            return True
        if mask.pattern in (known.pattern for known in self._masks):
            return False  # it does not cover this place
        find, normal = re.compile(mask.pattern), self._masked(self._masks)
        before, now = (
            _finds(find, normal, requests)
            for requests in ((pair.recorded for pair in self._pairs), (pair.seen for pair in self._pairs))
        )
        return not (before & now) and not _finds(find, normal, self._same)


def _differing(pair: AskedTwice, masks: Sequence[Mask], normal: Normaliser) -> tuple[DifferingValue, ...]:
    recorded, seen = (without_settings(one, masks) for one in (pair.recorded, pair.seen))
    seen = msgspec.structs.replace(seen, format=recorded.format, stream=recorded.stream)
    return differing_values(recorded, seen, normalise=normal)


def _places(value: DifferingValue) -> Iterator[Place]:
    one, other, where = value.recorded, value.seen, value.difference.where
    if isinstance(one, str) and isinstance(other, str):
        yield from places_of(one, other)
        return
    numbers = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (one, other))
    masks = (Mask(place=where, stands="<number>"),) if numbers and where.startswith("settings.") else ()
    told = value.difference
    kind = "number" if numbers else ORDER if _reordered(one, other) else WORDS
    yield Place(told.recorded, told.seen, kind, masks)


def _reordered(one: Any, other: Any) -> bool:
    """Whether two values are lists of the same things."""
    if not isinstance(one, list) or not isinstance(other, list) or MISSING in (one, other):
        return False
    return sorted(map(repr, one)) == sorted(map(repr, other))


def _finds(pattern: re.Pattern[str], normal: Normaliser, requests: Iterable[ModelRequest]) -> set[str]:
    """The texts that a pattern finds in requests."""
    texts: set[str] = set()

    def kept(text: str) -> str:
        texts.add(text)
        return text

    for request in requests:
        digest_of(request, normalise=kept)
    return {found[0] for text in texts for found in pattern.finditer(normal(text))}


def _told(mask: Mask, sighting: Sighting) -> Mask:
    return msgspec.structs.replace(mask, why=f"{sighting.place.kind}: {sighting}")
