"""The one match algebra: script rules, waits and assertions all use it.

A matcher answers two questions about a value: does it match (`matches`), and if not, why (`explain`).
`matcher(spec)` builds one from what a person would write:

| written                          | matches                                              |
|----------------------------------|------------------------------------------------------|
| `"text"`                         | text that contains it, case-sensitive                |
| `"/pattern/flags"`               | text in which the pattern is found; flags `i m s x`  |
| `["a", "b"]` or `{"any": [..]}`  | at least one of them                                 |
| `{"all": [..]}`                  | every one of them                                    |
| `{"not": ..}`                    | anything but                                         |
| `{"equals": ..}`                 | exactly this value                                   |
| a number, `True`, `False`        | exactly this value                                   |
| a function                       | values for which it returns a true value             |

No match by accident: a predicate that raises, an empty list and text compared with a number under a `not`
are errors, not results.

    >>> matcher("/auth(entication)?/i").matches("Implement AUTH")
    True
    >>> matcher({"all": ["auth", {"not": "oauth"}]}).explain("use oauth")
    "not 'oauth': the text contains 'oauth'"
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from soundstage.errors import MatchError

__all__ = [
    "AllOf",
    "AnyOf",
    "Anything",
    "Contains",
    "Equals",
    "Fields",
    "Matcher",
    "Not",
    "Predicate",
    "Regex",
    "Same",
    "matcher",
    "preview",
    "same_text",
]

FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
_REGEX_SPEC = re.compile(r"/(?P<pattern>.+)/(?P<flags>[A-Za-z]*)", re.DOTALL)
_OPERATORS: Final = ("any", "all", "not", "equals")


class Matcher(ABC):
    """A condition on one value. Combine with `&`, `|` and `~`."""

    __slots__ = ()

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
        return [getattr(self, slot) for slot in type(self).__slots__ if not slot.startswith("_")]

    def __hash__(self) -> int:
        return hash((type(self), self.describe()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"


def preview(value: Any, limit: int = 80) -> str:
    """`value` as it is quoted in a message: one line, at most `limit` characters."""
    text = value if isinstance(value, str) else repr(value)
    shown = repr(text if len(text) <= limit else text[: limit - 3] + "...")
    return shown if isinstance(value, str) else shown[1:-1]


class Anything(Matcher):
    """Matches every value, a missing one (`None`) too."""

    __slots__ = ()

    def explain(self, value: Any) -> str | None:
        return None

    def describe(self) -> str:
        return "anything"


class _TextMatcher(Matcher):
    """Base of the matchers that look into text; a missing value never matches."""

    __slots__ = ()

    def applies_to(self, value: Any) -> bool:
        return value is None or isinstance(value, str)

    def explain(self, value: Any) -> str | None:
        if isinstance(value, str):
            return self._explain_text(value)
        if value is None:
            return f"{self.describe()}: there is no text"
        return f"{self.describe()}: expected text, got {type(value).__name__} {preview(value)}"

    @abstractmethod
    def _explain_text(self, text: str) -> str | None: ...


class Contains(_TextMatcher):
    """Text that contains `text`, case-sensitive. An empty `text` is an error: it would match everything."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        if not text:
            raise MatchError("an empty text matches everything", hint="leave the condition out instead")
        self.text = text

    def matches(self, value: Any) -> bool:
        return isinstance(value, str) and self.text in value

    def _explain_text(self, text: str) -> str | None:
        return None if self.text in text else f"{preview(self.text)} is not in {preview(text)}"

    def describe(self) -> str:
        return preview(self.text, 400)


class Regex(_TextMatcher):
    """Text in which `pattern` is found. `flags` are letters of `imsx`."""

    __slots__ = ("_search", "flags", "pattern")

    def __init__(self, pattern: str, flags: str = "") -> None:
        unknown = sorted(set(flags) - set(FLAGS))
        if unknown:
            raise MatchError(
                f"unknown flag {unknown[0]!r} of the expression /{pattern}/{flags}",
                expected="flags out of " + ", ".join(FLAGS),
                hint=f"for plain text with slashes write {{'any': ...}} with /{re.escape(pattern)}/ escaped",
            )
        try:
            compiled = re.compile(pattern, sum(FLAGS[flag] for flag in set(flags)))
        except re.error as error:
            where = f" at position {error.pos}" if error.pos is not None else ""
            raise MatchError(
                f"/{pattern}/ is not a regular expression: {error.msg}{where}",
                hint="escape special characters with a backslash, or write plain text without slashes",
            ) from None
        self.pattern = pattern
        self.flags = "".join(sorted(set(flags)))
        self._search = compiled.search

    def matches(self, value: Any) -> bool:
        return isinstance(value, str) and self._search(value) is not None

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in `text` where the pattern is found."""
        return self._search(text)

    def _explain_text(self, text: str) -> str | None:
        return None if self._search(text) else f"{self.describe()} is not found in {preview(text)}"

    def describe(self) -> str:
        return f"/{self.pattern}/{self.flags}"


class Same(_TextMatcher):
    """Text equal to `text`, upper and lower case alike; for names."""

    __slots__ = ("folded", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = text.casefold()

    def matches(self, value: Any) -> bool:
        return isinstance(value, str) and value.casefold() == self.folded

    def _explain_text(self, text: str) -> str | None:
        return None if text.casefold() == self.folded else f"expected {self.text!r}, got {preview(text)}"

    def describe(self) -> str:
        return repr(self.text)


class Equals(Matcher):
    """Exactly `value`; `1` and `True` are different."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def explain(self, value: Any) -> str | None:
        alike = type(value) is type(self.value) or not (
            isinstance(value, bool) or isinstance(self.value, bool)
        )
        if alike and value == self.value:
            return None
        return f"expected {preview(self.value)}, got {preview(value)}"

    def describe(self) -> str:
        return repr(self.value)


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

    def explain(self, value: Any) -> str | None:
        if not self.part.applies_to(value):
            raise MatchError(
                f"not {self.part.describe()} would be true of any {type(value).__name__}",
                expected="text",
                seen=preview(value),
                hint="compare with {'equals': ...}, or with a function",
            )
        if not self.part.matches(value):
            return None
        return f"not {self.part.describe()}: the {_kind(value)} {_verb(self.part)} {self.part.describe()}"

    def describe(self) -> str:
        return f"not {self.part.describe()}"


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else "value"


def _verb(part: Matcher) -> str:
    return "contains" if isinstance(part, Contains | Regex) else "matches"


class Predicate(Matcher):
    """Values for which `function` returns a true value. A function that raises is an error."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def matches(self, value: Any) -> bool:
        try:
            return bool(self.function(value))
        except Exception as error:
            raise MatchError(
                f"the predicate {self.describe()} raised {type(error).__name__}: {error}",
                seen=preview(value),
                hint="let the predicate return False for values that it does not expect",
            ) from error

    def explain(self, value: Any) -> str | None:
        return None if self.matches(value) else f"{self.describe()} is false for {preview(value)}"

    def describe(self) -> str:
        code = getattr(self.function, "__code__", None)
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{name} (line {code.co_firstlineno})" if code is not None and name == "<lambda>" else name


class Fields(Matcher):
    """A mapping or an object whose named fields match; fields that are not named do not matter.

    A field that does not exist is a mismatch of a mapping, and an error for an object: it is misspelt.
    """

    __slots__ = ("fields", "type")

    def __init__(self, fields: Mapping[str, Matcher], type: type | tuple[type, ...] | None = None) -> None:  # noqa: A002
        self.fields = dict(fields)
        self.type = type

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
    if isinstance(value, Mapping):
        return value.get(name)
    try:
        return getattr(value, name)
    except AttributeError:
        raise MatchError(
            f"{type(value).__name__} has no field {name!r}",
            expected="one of " + ", ".join(getattr(value, "__struct_fields__", ()) or sorted(vars(value))),
        ) from None


def _not_empty(parts: tuple[Matcher, ...], operator: str) -> tuple[Matcher, ...]:
    if not parts:
        raise MatchError(f"`{operator}` needs at least one condition", hint="leave the condition out instead")
    return parts


def matcher(spec: Any, *, text: Callable[[str], Matcher] = Contains) -> Matcher:
    """Build a matcher from what a person wrote; see the table at the top of this file.

    Args:
        spec: text, `/regex/flags`, list, mapping with one operator, scalar, function or matcher.
        text: what a plain string means; `Contains` by default, `Same` for names.

    Raises:
        MatchError: for a bad expression, an unknown operator, or an empty list.
    """
    if isinstance(spec, Matcher):
        return spec
    if isinstance(spec, str):
        found = _REGEX_SPEC.fullmatch(spec)
        return Regex(found["pattern"], found["flags"]) if found else text(spec)
    if isinstance(spec, Mapping):
        return _operator(spec, text)
    if isinstance(spec, Sequence):
        return AnyOf(*(matcher(part, text=text) for part in spec))
    if callable(spec):
        return Predicate(spec)
    return Equals(spec)


def _operator(spec: Mapping[str, Any], text: Callable[[str], Matcher]) -> Matcher:
    if len(spec) != 1 or next(iter(spec)) not in _OPERATORS:
        raise MatchError(
            "a condition that is a mapping has one operator",
            expected="one of " + ", ".join(_OPERATORS),
            seen=", ".join(map(str, spec)) or "an empty mapping",
        )
    operator, value = next(iter(spec.items()))
    if operator == "not":
        return Not(matcher(value, text=text))
    if operator == "equals":
        return Equals(value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise MatchError(f"`{operator}` takes a list of conditions", seen=preview(value))
    parts = [matcher(part, text=text) for part in value]
    return AnyOf(*parts) if operator == "any" else AllOf(*parts)


def same_text(spec: Any) -> Matcher:
    """Like `matcher`, but a plain string is a whole name, upper and lower case alike."""
    return matcher(spec, text=Same)
