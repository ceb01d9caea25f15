"""Nearness of values to a condition: failures show the nearest value. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Final

from soundstage.errors import MatchError
from soundstage.journal import EventText, Record
from soundstage.match import AllOf, AnyOf, Contains, Fields, Matcher, Same

_LENGTH: Final = 1000  # characters of a text that are compared
_MOST: Final = 1000  # records that are looked at, from the last one back
_OF_THE_CLASS: Final = 0.5  # an event of the right class is nearer than any of another one


def likeness(text: str, wanted: str) -> float:
    """The likeness of two texts, from 0 to 1, upper and lower case alike; the best line of `text` counts."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted.casefold())
    best = 0.0
    for line in text[:_LENGTH].casefold().splitlines():
        matcher.set_seq1(line)
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            best = max(best, matcher.ratio())
    return best


def nearness(wanted: Matcher, value: Any) -> float:
    """From 0 (nothing in common) to 1 (it matches)."""
    if reason_of(wanted, value) is None:
        return 1.0
    if isinstance(wanted, EventText):
        return nearness(wanted.part, wanted.words(value))
    if isinstance(wanted, Fields):
        return _of_fields(wanted, value)
    if isinstance(wanted, AllOf):
        return sum(nearness(part, value) for part in wanted.parts) / len(wanted.parts)
    if isinstance(wanted, AnyOf):
        return max(nearness(part, value) for part in wanted.parts)
    if isinstance(wanted, Contains | Same) and isinstance(value, str):
        return likeness(value, wanted.text) * 0.99
    return 0.0


def _of_fields(wanted: Fields, value: Any) -> float:
    if wanted.type is not None and not isinstance(value, wanted.type):
        return 0.0
    parts = [nearness(part, getattr(value, name, None)) for name, part in wanted.fields.items()]
    return _OF_THE_CLASS + (1 - _OF_THE_CLASS) * (sum(parts) / len(parts) if parts else 1.0)


def reason_of(wanted: Matcher, value: Any) -> str | None:
    """The reason why `value` does not match, for messages only: a condition that raises is no match."""
    try:
        return wanted.explain(value)
    except MatchError as error:
        return error.summary


def nearest(wanted: Matcher, records: Sequence[Record]) -> Record | None:
    """The record whose event comes nearest, the first of several; `None` if all are far."""
    scored = [(nearness(wanted, record.event), record) for record in records[-_MOST:]]
    best = max(scored, key=lambda one: one[0], default=None)
    return best[1] if best is not None and best[0] > 0 else None
