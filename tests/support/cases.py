"""How many cases a property test draws when it names a number: all of them, or a fifth in the fast part."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

USUAL = 100  # what the profile of the full part draws


def cases(number: int, **more: Any) -> settings:
    """Settings for `number` cases in the full part; other profiles draw in proportion to theirs."""
    return settings(max_examples=max(5, number * settings.default.max_examples // USUAL), **more)
