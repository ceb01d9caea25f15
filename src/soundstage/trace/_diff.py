"""Differences that a person can read: two lists side by side, and the first difference of two JSON values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError
from soundstage.match import preview

_TOO_MANY: Final = 250_000  # pairs; lists above that are compared place by place
_AROUND: Final = 4  # rows shown before and after the first difference
_WIDEST: Final = 60  # characters of a column
_COMMON: Final = 30  # characters shown before the place where two texts part
_SHOWN: Final = 160  # characters of a value


class AlignedPair(NamedTuple):
    """One row of two aligned lists: an index into each, `None` where there is no partner."""

    expected: int | None
    seen: int | None
    same: bool


def align(expected: int, seen: int, same: Callable[[int, int], bool]) -> list[AlignedPair]:
    """Align two lists so that as many places as possible agree.

    Args:
        expected: length of the one.
        seen: length of the other.
        same: whether two places agree, by index.
    """
    start = 0
    while start < min(expected, seen) and same(start, start):
        start += 1
    rows = [AlignedPair(place, place, same=True) for place in range(start)]
    anchors = _anchors(start, expected, seen, same)
    left, right = start, start
    for anchor in [*anchors, (expected, seen)]:
        rows += _apart(left, anchor[0], right, anchor[1])
        if anchor != (expected, seen):
            rows.append(AlignedPair(*anchor, same=True))
        left, right = anchor[0] + 1, anchor[1] + 1
    return rows


def _apart(left: int, left_end: int, right: int, right_end: int) -> list[AlignedPair]:
    """Rows of two stretches that have nothing in common: partners first, then what is left over."""
    both = min(left_end - left, right_end - right)
    rows = [AlignedPair(left + step, right + step, same=False) for step in range(both)]
    rows += [AlignedPair(place, None, same=False) for place in range(left + both, left_end)]
    return rows + [AlignedPair(None, place, same=False) for place in range(right + both, right_end)]


def _anchors(start: int, expected: int, seen: int, same: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Pairs of places that agree, in order: a longest common subsequence from `start` on."""
    rows, columns = expected - start, seen - start
    if rows * columns > _TOO_MANY:
        return [(place, place) for place in range(start, min(expected, seen)) if same(place, place)]
    agree = [[same(start + i, start + j) for j in range(columns)] for i in range(rows)]
    length = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            taken = length[i + 1][j + 1] + 1 if agree[i][j] else 0
            length[i][j] = max(taken, length[i + 1][j], length[i][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if agree[i][j] and length[i][j] == length[i + 1][j + 1] + 1:
            found.append((start + i, start + j))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def side_by_side(
    expected: Sequence[str], seen: Sequence[str], rows: Sequence[AlignedPair], *, more_is_fine: bool = False
) -> str:
    """Two aligned columns around the first difference.

    `=` marks rows that agree, `!` rows that do not, `-` what is missing, `+` what was not expected.
    With `more_is_fine` nothing that was seen is unexpected.
    """
    signs = [_sign(row, more_is_fine=more_is_fine) for row in rows]
    first = next((number for number, sign in enumerate(signs) if sign in "!-+"), 0)
    start, end = max(first - _AROUND, 0), first + _AROUND + 1
    cells = [(signs[number], *_cells(rows[number], expected, seen)) for number in range(len(rows))[start:end]]
    lines = [(" ", "expected", "seen"), *cells]
    width = max(len(left) for _, left, _ in lines)
    found = [f"{sign} {left:<{width}} | {right}".rstrip() for sign, left, right in lines]
    if start:
        found.insert(1, f"  ... {start} before")
    if len(rows) > end:
        found.append(f"  ... {len(rows) - end} after")
    return "\n".join(found)


def _sign(row: AlignedPair, *, more_is_fine: bool) -> str:
    if row.same:
        return "="
    if row.expected is None:
        return " " if more_is_fine else "+"
    return "-" if row.seen is None else "!"


def _cells(row: AlignedPair, expected: Sequence[str], seen: Sequence[str]) -> tuple[str, str]:
    left = "" if row.expected is None else expected[row.expected]
    right = "" if row.seen is None else seen[row.seen]
    return _cut(left), _cut(right)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


_MISSING: Final = object()  # the value where one side has none


def diff(a: Any, b: Any) -> str:
    """The first difference of two normalised traces, in words; empty when they are equal.

    Args:
        a: JSON values, from `normalise`.
        b: likewise.

    Raises:
        ScriptError: if either holds something that is not a JSON value.

    Example:
        >>> print(diff({"text": "hello"}, {"text": "help"}))
        first difference at text
          a: 'hello'
          b: 'help'
    """
    found = _first(a, b, "")
    if found is None:
        return ""
    path, left, right = found
    lines = [f"first difference at {path or 'the top'}", *_sides(left, right)]
    return "\n".join(lines)


_Place = tuple[str, Any, Any]


def _first(a: Any, b: Any, path: str) -> _Place | None:
    """Path and both values of the first difference, in the order in which the values are written."""
    for value in (a, b):
        if not (value is None or value is _MISSING or isinstance(value, str | int | float | dict | list)):
            raise ScriptError(
                f"only JSON values can be compared, {path or 'the top'} is a {type(value).__name__}",
                hint="compare normalise(trace) with normalise(other)",
            )
    if isinstance(a, dict) and isinstance(b, dict):
        keys = [*a, *(key for key in b if key not in a)]
        pairs = ((a.get(key, _MISSING), b.get(key, _MISSING), _join(path, key)) for key in keys)
    elif isinstance(a, list) and isinstance(b, list):
        pairs = ((_item(a, n), _item(b, n), f"{path}[{n}]") for n in range(max(len(a), len(b))))
    else:
        alike = a == b and isinstance(a, bool) == isinstance(b, bool)
        return None if alike else (path, a, b)
    return next((found for left, right, where in pairs if (found := _first(left, right, where))), None)


def _item(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else _MISSING


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _sides(left: Any, right: Any) -> list[str]:
    if isinstance(left, str) and isinstance(right, str):
        start = max(_common(left, right) - _COMMON, 0)
        dots = "..." if start else ""
        return [
            f"  {name}: {preview(dots + text[start:], _SHOWN)}" for name, text in (("a", left), ("b", right))
        ]
    return [f"  {name}: {_json(value)}" for name, value in (("a", left), ("b", right))]


def _common(left: str, right: str) -> int:
    """The number of characters at the beginning that two texts have in common."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(left), len(right)))


def _json(value: Any) -> str:
    if value is _MISSING:
        return "nothing there"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
