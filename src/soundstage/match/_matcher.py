"""Matchers, and how they are combined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from soundstage.errors import MatchError


def preview(value: Any, limit: int = 80) -> str:
    """`value` as it is quoted in a message: one line, at most `limit` characters."""
    text = value if isinstance(value, str) else repr(value)
    shown = repr(text if len(text) <= limit else text[: limit - 3] + "...")
    return shown if isinstance(value, str) else shown[1:-1]


class Matcher(ABC):
    """A condition on one value. Combine with `&`, `|` and `~`.

    Attributes:
        verb: what a value does that meets the condition, for messages.
    """

    __slots__ = ()
    verb: ClassVar[str] = "matches"

    @abstractmethod
    def explain(self, value: Any) -> str | None:
        """`None` when `value` matches, else one line that names the failing part."""

    @abstractmethod
    def describe(self) -> str:
        """The condition in words, for messages."""

    def matches(self, value: Any) -> bool:
        """Whether `value` matches."""
        return self.explain(value) is None

    def applies_to(self, value: Any) -> bool:
        """Whether the question makes sense for this type of value."""
        return True

    def __and__(self, other: Matcher) -> Matcher:
        return AllOf(self, other)

    def __or__(self, other: Matcher) -> Matcher:
        return AnyOf(self, other)

    def __invert__(self) -> Matcher:
        return Not(self)

    def __eq__(self, other: object) -> bool:
        """Whether both surely mean the same: alike in words and in every part; two functions never are."""
        if not isinstance(other, Matcher) or type(self) is not type(other):
            return False
        return self.describe() == other.describe() and self._parts() == other._parts()

    def _parts(self) -> list[Any]:
        slots: tuple[str, ...] = type(self).__slots__
        return [getattr(self, slot) for slot in slots if not slot.startswith("_")]

    def __hash__(self) -> int:
        return hash((type(self), self.describe()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"


class Anything(Matcher):
    """Matches every value, a missing one (`None`) too."""

    __slots__ = ()

    def matches(self, value: Any) -> bool:
        return True

    def explain(self, value: Any) -> str | None:
        return None

    def describe(self) -> str:
        return "anything"


class AllOf(Matcher):
    """Every part matches."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Matcher) -> None:
        self.parts = _not_empty(parts, "all")

    def matches(self, value: Any) -> bool:
        return all(part.matches(value) for part in self.parts)

    def explain(self, value: Any) -> str | None:
        return next((reason for part in self.parts if (reason := part.explain(value)) is not None), None)

    def describe(self) -> str:
        return "(" + " and ".join(part.describe() for part in self.parts) + ")"

    def applies_to(self, value: Any) -> bool:
        return all(part.applies_to(value) for part in self.parts)


class AnyOf(Matcher):
    """At least one part matches."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Matcher) -> None:
        self.parts = _not_empty(parts, "any")

    def matches(self, value: Any) -> bool:
        return any(part.matches(value) for part in self.parts)

    def explain(self, value: Any) -> str | None:
        reasons: list[str] = []
        for part in self.parts:
            reason = part.explain(value)
            if reason is None:
                return None
            reasons.append(reason)
        return "none of these: " + "; ".join(reasons)

    def describe(self) -> str:
        return "(" + " or ".join(part.describe() for part in self.parts) + ")"

    def applies_to(self, value: Any) -> bool:
        return any(part.applies_to(value) for part in self.parts)


class Not(Matcher):
    """The part does not match. A missing value contains nothing, so `~Contains(..)` matches it."""

    __slots__ = ("part",)

    def __init__(self, part: Matcher) -> None:
        self.part = part

    def matches(self, value: Any) -> bool:
        if not self.part.applies_to(value):
            raise MatchError(
                f"not {self.part.describe()} would be true of any {type(value).__name__}",
                expected="a value of the kind that the condition is about",
                seen=preview(value),
                hint="compare with {'equals': ...}, or with a function",
            )
        return not self.part.matches(value)

    def explain(self, value: Any) -> str | None:
        if self.matches(value):
            return None
        return f"not {self.part.describe()}: the {_kind(value)} {self.part.verb} {self.part.describe()}"

    def describe(self) -> str:
        return f"not {self.part.describe()}"


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "value"


def _not_empty(parts: tuple[Matcher, ...], operator: str) -> tuple[Matcher, ...]:
    if not parts:
        raise MatchError(f"`{operator}` needs at least one condition", hint="leave the condition out instead")
    return parts
