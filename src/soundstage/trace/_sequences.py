"""Comparing a list of conditions with a list of things that happened, and saying where they part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from soundstage.errors import ScriptError
from soundstage.trace._diff import AlignedPair, align, side_by_side
from soundstage.trace._finding import Finding

Order = Literal["exact", "in_order", "any_order"]


class ComparedLists(NamedTuple):
    """Two sequences in words: the expected conditions and what happened.

    Args:
        what: what one thing is called: `agent`, `tool call`.
        expected: the conditions in words.
        seen: what happened, in words.
        positions: where in the journal, as far as that is known.
        explain: by index, why what was seen is not as expected; `None` when it is.
    """

    what: str
    expected: Sequence[str]
    seen: Sequence[str]
    positions: Sequence[int | None]
    explain: Callable[[int, int], str | None]

    def same(self, expected: int, seen: int) -> bool:
        return self.explain(expected, seen) is None


def exact(lists: ComparedLists, *, hint: str = "") -> Finding:
    """The things that happened are the expected ones, in this order and no others."""
    count = len(lists.expected)
    if count == len(lists.seen) and all(lists.same(place, place) for place in range(count)):
        return _held(lists, "exactly as expected")
    rows = align(count, len(lists.seen), lists.same)
    first = next(row for row in rows if not row.same)
    message = _misplaced(lists, rows, first) or _sentence(lists, first)
    return _failed(lists, rows, message, _position(lists, rows, first), hint)


def _misplaced(lists: ComparedLists, rows: list[AlignedPair], row: AlignedPair) -> str:
    """Say what is wrong in one row, if it is only in another place; else nothing."""
    expected = [one.expected for one in rows if one.expected is not None and not one.same]
    seen = [one.seen for one in rows if one.seen is not None and not one.same]
    pairs = (
        (left, right) for left in expected for right in seen if row.expected == left or row.seen == right
    )
    found = next(((left, right) for left, right in pairs if left != right and lists.same(left, right)), None)
    if found is None:
        return ""
    left, right = found
    return f"{lists.what} {lists.seen[right]} came {_nth(right)}, expected {_nth(left)}"


def _nth(place: int) -> str:
    """A place in words: `first` for 0."""
    names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    return names[place] if place < len(names) else f"as number {place + 1}"


def in_order(lists: ComparedLists, *, hint: str = "") -> Finding:
    """The expected things happened in this order; others may come between."""
    place = 0
    pairs: list[int] = []
    for number in range(len(lists.expected)):
        while place < len(lists.seen) and not lists.same(number, place):
            place += 1
        if place == len(lists.seen):
            return _not_in_order(lists, number, pairs, hint)
        pairs.append(place)
        place += 1
    return _held(lists, "in the expected order")


def _not_in_order(lists: ComparedLists, number: int, pairs: list[int], hint: str) -> Finding:
    after = pairs[-1] if pairs else -1
    rows = [
        AlignedPair(pairs.index(place) if place in pairs else None, place, place in pairs)
        for place in range(after + 1)
    ]
    rest = align(
        len(lists.expected) - number,
        len(lists.seen) - after - 1,
        lambda left, right: lists.same(number + left, after + 1 + right),
    )
    for row in rest:
        left = None if row.expected is None else number + row.expected
        right = None if row.seen is None else after + 1 + row.seen
        rows.append(AlignedPair(left, right, row.same))
    where = f" after {lists.seen[after]}" if pairs else ""
    early = [place for place in range(after + 1) if place not in pairs and lists.same(number, place)]
    message = f"{lists.what} {lists.expected[number]} is missing{where}"
    if early:
        came = f"{lists.what} {lists.seen[early[-1]]} came {_nth(early[-1])}"
        message = f"{came}, expected{where}, which came {_nth(after)}"
    at = lists.positions[after] if pairs else None
    return _failed(lists, rows, message, at, hint, more_is_fine=True)


def any_order(lists: ComparedLists, *, hint: str = "") -> Finding:
    """Each expected thing happened, each another one; in any order, and others may have happened too."""
    partner = _partners(lists)
    taken = {expected: seen for seen, expected in partner.items()}
    missing = [number for number in range(len(lists.expected)) if number not in taken]
    if not missing:
        return _held(lists, "all there")
    rows = [AlignedPair(number, taken[number], same=True) for number in sorted(taken)]
    rows = [AlignedPair(number, None, same=False) for number in missing] + rows
    rows += [AlignedPair(None, place, same=False) for place in range(len(lists.seen)) if place not in partner]
    message = f"{lists.what} {lists.expected[missing[0]]} is missing"
    return _failed(lists, rows, message, None, hint, more_is_fine=True)


def _partners(lists: ComparedLists) -> dict[int, int]:
    """A largest matching: what was seen -> what was expected, by augmenting paths."""
    partner: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for candidate in range(len(lists.seen)):
            if candidate not in tried and lists.same(number, candidate):
                tried.add(candidate)
                if candidate not in partner or place(partner[candidate], tried):
                    partner[candidate] = number
                    return True
        return False

    for number in range(len(lists.expected)):
        place(number, set())
    return partner


_ORDERS: Final[dict[str, Callable[..., Finding]]] = {
    "exact": exact,
    "in_order": in_order,
    "any_order": any_order,
}


def comparison(order: Order) -> Callable[..., Finding]:
    """Settings of a comparison of two lists.

    Raises:
        ScriptError: for an unknown order.
    """
    found = _ORDERS.get(order)
    if found is None:
        raise ScriptError(f"unknown order {order!r}", expected="one of " + ", ".join(_ORDERS))
    return found


def _held(lists: ComparedLists, how: str) -> Finding:
    return Finding(
        passed=True,
        message=f"{len(lists.expected)} {lists.what}s, {how}",
        expected=", ".join(lists.expected),
        seen=", ".join(lists.seen),
    )


def _failed(
    lists: ComparedLists,
    rows: list[AlignedPair],
    message: str,
    at: int | None,
    hint: str,
    *,
    more_is_fine: bool = False,
) -> Finding:
    return Finding(
        passed=False,
        message=message,
        expected=", ".join(lists.expected),
        seen=", ".join(lists.seen) or f"no {lists.what}",
        hint=hint,
        diff=side_by_side(lists.expected, lists.seen, rows, more_is_fine=more_is_fine),
        at=at,
    )


def _sentence(lists: ComparedLists, row: AlignedPair) -> str:
    """One difference as a sentence."""
    if row.expected is None:
        assert row.seen is not None
        return f"{lists.what} {row.seen + 1} was not expected: {lists.seen[row.seen]}"
    if row.seen is None:
        return f"{lists.what} {row.expected + 1} is missing: {lists.expected[row.expected]}"
    return f"{lists.what} {row.seen + 1}: {lists.explain(row.expected, row.seen)}"


def _position(lists: ComparedLists, rows: list[AlignedPair], row: AlignedPair) -> int | None:
    """The first difference: the seen item, else the last item before the gap."""
    before = [other.seen for other in rows[: rows.index(row) + 1] if other.seen is not None]
    return lists.positions[before[-1]] if before else None
