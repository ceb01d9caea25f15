"""Two lists side by side: what stayed, what has moved, what has changed, what is new or gone. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

_TOO_MANY: Final = 2500  # pairs of a block; above that they are paired in order
_LENGTH: Final = 4000  # characters of a text that are looked at for its likeness

Likeness = Callable[[int, int], float]
"""How much alike two places of the lists are, from 0 (no pair) to 1."""


class Pair(NamedTuple):
    """A place in each list, `None` where there is no partner. `moved`: the same, at another place."""

    recorded: int | None
    seen: int | None
    moved: bool = False


def apart(recorded: Sequence[str], seen: Sequence[str], likeness: Likeness) -> list[Pair]:
    """The places at which two lists of prints differ, in order.

    Of several alignments the same is found from either side.
    """
    if list(recorded) > list(seen):
        turned = [
            Pair(seen_at, recorded_at, moved)
            for recorded_at, seen_at, moved in _apart(seen, recorded, lambda i, k: likeness(k, i))
        ]
        return sorted(turned, key=_order)
    return sorted(_apart(recorded, seen, likeness), key=_order)


def _apart(recorded: Sequence[str], seen: Sequence[str], likeness: Likeness) -> list[Pair]:
    start, recorded_end, seen_end = _ends(recorded, seen)
    aligned = SequenceMatcher(None, recorded[start:recorded_end], seen[start:seen_end], autojunk=False)
    blocks = [
        (range(start + i, start + j), range(start + k, start + m))
        for operation, i, j, k, m in aligned.get_opcodes()
        if operation != "equal"
    ]
    moved = _moved(
        [(place, recorded[place]) for block, _ in blocks for place in block],
        [(place, seen[place]) for _, block in blocks for place in block],
    )
    gone, new = {pair.recorded for pair in moved}, {pair.seen for pair in moved}
    found = list(moved)
    for before, now in blocks:
        left = [place for place in before if place not in gone]
        found += _pairs(left, [place for place in now if place not in new], likeness)
    return found


def word_likeness(one: str, other: str) -> float:
    """The share of words that two texts have in common, from 0 to 1."""
    if one == other:
        return 1.0
    left, right = Counter(one[:_LENGTH].split()), Counter(other[:_LENGTH].split())
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def _order(pair: Pair) -> tuple[int, int]:
    place = pair.seen if pair.seen is not None else pair.recorded
    return (place or 0, 0 if pair.seen is None else 1)


def _ends(recorded: Sequence[str], seen: Sequence[str]) -> tuple[int, int, int]:
    """Where the lists begin to differ, and where they have ceased to."""
    start, shorter = 0, min(len(recorded), len(seen))
    while start < shorter and recorded[start] == seen[start]:
        start += 1
    end = 0
    while end < shorter - start and recorded[-1 - end] == seen[-1 - end]:
        end += 1
    return start, len(recorded) - end, len(seen) - end


def _moved(recorded: list[tuple[int, str]], seen: list[tuple[int, str]]) -> list[Pair]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, mark in reversed(recorded):
        places[mark].append(place)
    return [Pair(places[mark].pop(), place, moved=True) for place, mark in seen if places[mark]]


def _pairs(recorded: list[int], seen: list[int], likeness: Likeness) -> list[Pair]:
    """Pairs in order, so that what is paired is as alike as possible; the rest is new or gone."""
    if len(recorded) * len(seen) > _TOO_MANY:
        both = [(i, k) for i, k in zip(recorded, seen, strict=False) if likeness(i, k) > 0]
    else:
        both = _best(recorded, seen, likeness)
    left, right = {i for i, _ in both}, {k for _, k in both}
    found = [Pair(i, k) for i, k in both]
    found += [Pair(i, None) for i in recorded if i not in left]
    return found + [Pair(None, k) for k in seen if k not in right]


def _best(recorded: list[int], seen: list[int], likeness: Likeness) -> list[tuple[int, int]]:
    rows, columns = len(recorded), len(seen)
    like = [[likeness(i, k) for k in seen] for i in recorded]
    worth = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for k in range(columns - 1, -1, -1):
            paired = worth[i + 1][k + 1] + like[i][k] if like[i][k] else 0.0
            worth[i][k] = max(paired, worth[i + 1][k], worth[i][k + 1])
    found: list[tuple[int, int]] = []
    i = k = 0
    while i < rows and k < columns:
        if like[i][k] and worth[i][k] == worth[i + 1][k + 1] + like[i][k]:
            found.append((recorded[i], seen[k]))
            i, k = i + 1, k + 1
        elif worth[i + 1][k] >= worth[i][k + 1]:
            i += 1
        else:
            k += 1
    return found
