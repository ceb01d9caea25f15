"""Matchers of any value: an equal one, one with certain fields, one that a function likes, one that is there."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from soundstage.errors import MatchError
from soundstage.match._matcher import Matcher, preview


class Equals(Matcher):
    """Exactly `value`. `1` and `True` are different; a list and a tuple of the same elements are not.

    Args:
        value: what is wanted.
        of_kind: whether the question makes sense for values of its kind only. A number never is a text, so that its
            negation would be true of any text, by accident.

    Raises:
        MatchError: for a value that holds NaN, which equals nothing, itself neither.
    """

    __slots__ = ("of_kind", "value")

    def __init__(self, value: Any, *, of_kind: bool = False) -> None:
        if _has_nan(value):
            raise MatchError(
                "NaN is not a condition: it equals nothing",
                seen=preview(value),
                hint="write a function: lambda value: value != value",
            )
        self.value = value
        self.of_kind = of_kind

    def matches(self, value: Any) -> bool:
        return _same(self.value, value)

    def explain(self, value: Any) -> str | None:
        return None if _same(self.value, value) else f"expected {preview(self.value)}, got {preview(value)}"

    def describe(self) -> str:
        return preview(self.value, 400)

    def applies_to(self, value: Any) -> bool:
        wanted, given = _kind(self.value), _kind(value)
        return not self.of_kind or wanted == given or types.NoneType in (wanted, given)


_KINDS: Final = ((bool, bool), (str, str), (int | float, float))


def _kind(value: Any) -> type:
    """Which of JSON's simple types a value has; its own, if none."""
    return next((kind for options, kind in _KINDS if isinstance(value, options)), type(value))


def _has_nan(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_nan, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def _same(one: Any, other: Any) -> bool:
    """Equality as JSON has it: no number is a boolean, and there is one kind of list."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    return bool(one == other)


class Predicate(Matcher):
    """Values for which `function` returns a true value. A function that raises is an error.

    Raises:
        MatchError: for a class, and when an `async` function is asked: what they return is true of anything.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if isinstance(function, type):
            raise MatchError(
                f"the class {function.__name__} is not a condition",
                hint=f"write lambda value: isinstance(value, {function.__name__})",
            )
        self.function = function

    def matches(self, value: Any) -> bool:
        try:
            result = self.function(value)
            if not hasattr(result, "__await__"):
                return bool(result)
        except Exception as error:
            raise MatchError(
                f"the predicate {self.describe()} raised {type(error).__name__}: {error}",
                seen=preview(value),
                hint="let the predicate return False for values that it does not expect",
            ) from error
        if hasattr(result, "close"):
            result.close()  # a coroutine that nobody will await
        raise MatchError(
            f"the predicate {self.describe()} is asynchronous",
            expected="a function that answers at once",
            hint="write `def` instead of `async def`, and await before the comparison",
        )

    def explain(self, value: Any) -> str | None:
        return None if self.matches(value) else f"{self.describe()} is false for {preview(value)}"

    def describe(self) -> str:
        code = getattr(self.function, "__code__", None)
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{name} (line {code.co_firstlineno})" if code is not None and name == "<lambda>" else name


class OnPart(Matcher):
    """A condition that holds where another one does: `part`."""

    __slots__ = ("part",)

    def __init__(self, part: Matcher) -> None:
        self.part = part

    def describe(self) -> str:
        return self.part.describe()


class OneMatches(OnPart):
    """A list of which at least one element matches."""

    __slots__ = ()

    def matches(self, value: Any) -> bool:
        return any(self.part.matches(element) for element in value)

    def explain(self, value: Any) -> str | None:
        if self.matches(value):
            return None
        return f"{self.part.describe()} is not one of {', '.join(map(repr, value)) or 'none'}"


MISSING: Final = object()


class Given(OnPart):
    """A value that is there, and matches: `MISSING` is a mismatch, whatever the condition."""

    __slots__ = ()

    def matches(self, value: Any) -> bool:
        return value is not MISSING and self.part.matches(value)

    def explain(self, value: Any) -> str | None:
        return "it is not given" if value is MISSING else self.part.explain(value)


class Filled(Matcher):
    """A list that has elements, or one that has none."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: bool) -> None:  # noqa: FBT001  (the one thing it is about)
        self.wanted = wanted

    def explain(self, value: Any) -> str | None:
        if bool(value) is self.wanted:
            return None
        return f"expected {self.describe()}, got {preview(value)}"

    def describe(self) -> str:
        return "some" if self.wanted else "none"


class Fields(Matcher):
    """A mapping or an object whose named fields match; fields that are not named do not matter.

    A key that a mapping does not have counts as a missing value (`None`), as does every field of `None`. A
    field that an object does not have is an error: it is misspelt.
    """

    __slots__ = ("fields", "type")

    def __init__(self, fields: Mapping[str, Matcher], type: type | tuple[type, ...] | None = None) -> None:  # noqa: A002
        self.fields = dict(fields)
        self.type = type

    def matches(self, value: Any) -> bool:
        if self.type is not None and not isinstance(value, self.type):
            return False
        return all(part.matches(_field(value, name)) for name, part in self.fields.items())

    def explain(self, value: Any) -> str | None:
        if self.type is not None and not isinstance(value, self.type):
            return f"expected {self._type_name()}, got {type(value).__name__}"
        for name, part in self.fields.items():
            reason = part.explain(_field(value, name))
            if reason is not None:
                return f"{name}: {reason}"
        return None

    def _type_name(self) -> str:
        types = self.type if isinstance(self.type, tuple) else (self.type,)
        return " or ".join(type.__name__ for type in types if type is not None)  # noqa: A001

    def describe(self) -> str:
        parts = ", ".join(f"{name}={part.describe()}" for name, part in self.fields.items())
        return f"{self._type_name()}({parts})" if self.type is not None else f"{{{parts}}}"


def _field(value: Any, name: str) -> Any:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return value.get(name)
    try:
        return getattr(value, name)
    except AttributeError:
        raise MatchError(
            f"{type(value).__name__} has no field {name!r}",
            expected=f"one of {_field_names(value) or 'none: it has no fields'}",
        ) from None


def _field_names(value: Any) -> str:
    return ", ".join(getattr(value, "__struct_fields__", ()) or sorted(getattr(value, "__dict__", ())))
