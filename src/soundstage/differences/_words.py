"""Both sides of a difference in words: JSON values path by path, texts line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any, Final, NamedTuple

from soundstage.differences._form import json_text
from soundstage.match import MISSING, preview

_LONG: Final = 70  # characters; longer texts are shown around the place where they differ
_CONTEXT: Final = 25  # characters before that place
_WIDE: Final = 160  # characters of a line
_MOST: Final = 40  # lines of a difference
_TOO_MANY: Final = 3000  # lines; of longer texts only the first change is shown


class Sides(NamedTuple):
    """A place below the one that was asked for, both sides in words, the changed lines, and both values as they are."""

    where: str
    recorded: str
    seen: str
    lines: tuple[str, ...] = ()
    values: tuple[Any, Any] = (MISSING, MISSING)


def text_sides(recorded: str, seen: str) -> Sides:
    """Two texts that differ: the first line that does, and all changed lines."""
    before, now = recorded.split("\n"), seen.split("\n")
    if len(before) == len(now) == 1:
        return Sides("", *_around(recorded, seen), values=(recorded, seen))
    first, before_end, now_end = _changed(before, now)
    place = f", line {first + 1}"
    if first >= min(len(before), len(now)):
        words = (_line_at(before, first), _line_at(now, first))
    else:
        words = _around(before[first], now[first])
    lines = _lines(before, now, first, before_end, now_end)
    return Sides(place, *words, lines, (recorded, seen))


def value_sides(
    recorded: Any, seen: Any, *, missing: str = "not set", schema: bool = False
) -> Iterator[Sides]:
    """Each path at which two JSON values differ; in a schema, paths leave `properties` out."""
    if isinstance(recorded, dict) and isinstance(seen, dict):
        for key in [*recorded, *(key for key in seen if key not in recorded)]:
            step = "" if schema and key == "properties" and _clear(recorded, seen) else f".{key}"
            pair = recorded.get(key, MISSING), seen.get(key, MISSING)
            yield from (_below(step, sides) for sides in value_sides(*pair, missing=missing, schema=schema))
    elif isinstance(recorded, list) and isinstance(seen, list) and len(recorded) == len(seen):
        for number, pair in enumerate(zip(recorded, seen, strict=True)):
            yield from (
                _below(f"[{number}]", sides) for sides in value_sides(*pair, missing=missing, schema=schema)
            )
    elif isinstance(recorded, str) and isinstance(seen, str):
        if recorded != seen:
            yield text_sides(recorded, seen)
    elif json_of(recorded) != json_of(seen):
        yield Sides("", _value(recorded, missing), _value(seen, missing), values=(recorded, seen))


def json_of(value: Any) -> str:
    """A value as JSON; nothing for one that is missing."""
    return "" if value is MISSING else json_text(value)


def _below(step: str, sides: Sides) -> Sides:
    return sides._replace(where=f"{step}{sides.where}")


def _clear(recorded: dict[str, Any], seen: dict[str, Any]) -> bool:
    """Whether a path without `properties` could mean nothing else."""
    sides = [side for side in (recorded, seen) if isinstance(side.get("properties"), dict)]
    return len(sides) == 2 and not any(
        name in other for side in sides for name in side["properties"] for other in (recorded, seen)
    )


def _value(value: Any, missing: str) -> str:
    if value is MISSING:
        return missing
    text = json_text(value)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."


def _line_at(lines: list[str], number: int) -> str:
    return preview(lines[number]) if number < len(lines) else "no such line"


def _changed(before: list[str], now: list[str]) -> tuple[int, int, int]:
    """The first line that differs, and the ends of what differs on both sides."""
    first, shorter = 0, min(len(before), len(now))
    while first < shorter and before[first] == now[first]:
        first += 1
    end = 0
    while end < shorter - first and before[-1 - end] == now[-1 - end]:
        end += 1
    return first, len(before) - end, len(now) - end


def _lines(before: list[str], now: list[str], first: int, before_end: int, now_end: int) -> tuple[str, ...]:
    """The changed lines with one around them on each side."""
    start = max(first - 1, 0)
    old, new = before[start : before_end + 1], now[start : now_end + 1]
    if len(old) + len(new) > _TOO_MANY:
        old, new = old[:_MOST], new[:_MOST]
    found: list[str] = []
    for line in list(unified_diff(old, new, n=1, lineterm=""))[2:]:
        if not line.startswith("@@"):
            found.append(line)
        elif found:
            found.append("  ...")
    return cut_lines(found)


def cut_lines(lines: list[str]) -> tuple[str, ...]:
    """As many lines as a person reads, none too wide."""
    found = [line if len(line) <= _WIDE else f"{line[: _WIDE - 3]}..." for line in lines[:_MOST]]
    more = len(lines) - _MOST
    return tuple(found) if more <= 0 else (*found, f"  ... {more} more")


def _around(recorded: str, seen: str) -> tuple[str, str]:
    """Two texts of one line: whole if they are short, else around the place where they differ."""
    if len(recorded) <= _LONG and len(seen) <= _LONG:
        return repr(recorded), repr(seen)
    pairs = zip(recorded, seen, strict=False)
    common = next((place for place, (one, other) in enumerate(pairs) if one != other), None)
    start = max((min(len(recorded), len(seen)) if common is None else common) - _CONTEXT, 0)
    return _piece(recorded, start), _piece(seen, start)


def _piece(text: str, start: int) -> str:
    piece = text[start : start + _LONG]
    return f"{'...' if start else ''}{piece!r}{'...' if start + _LONG < len(text) else ''}"
