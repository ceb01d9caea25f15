"""From what a person writes to a matcher."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from soundstage.errors import MatchError
from soundstage.match._matcher import AllOf, AnyOf, Matcher, Not, preview
from soundstage.match._text import Contains, Regex, Same
from soundstage.match._values import Equals, Predicate

_REGEX_SPEC: Final = re.compile(r"/(?P<pattern>.+)/(?P<flags>[A-Za-z]*)", re.DOTALL)
_OPERATORS: Final = ("any", "all", "not", "text", "equals")


def matcher(spec: Any, *, text: Callable[[str], Matcher] = Contains) -> Matcher:
    """Build a matcher from what a person wrote; see the table at the top of this file.

    Args:
        spec: text, `/regex/flags`, list, mapping with one operator, scalar, function or matcher.
        text: what a plain string means; `Contains` by default, `Same` for names.

    Raises:
        MatchError: for a bad expression, an unknown operator, an empty list, a set or a class.
    """
    if isinstance(spec, Matcher):
        return spec
    if isinstance(spec, str):
        found = _REGEX_SPEC.fullmatch(spec)
        return Regex(found["pattern"], found["flags"]) if found else text(spec)
    if isinstance(spec, Mapping):
        return _operator(spec, text)
    if isinstance(spec, set | frozenset):
        raise MatchError("a set is not a condition", seen=preview(spec), hint="write a list: any of them")
    if isinstance(spec, Sequence) and not isinstance(spec, bytes | bytearray):
        return AnyOf(*(matcher(part, text=text) for part in spec))
    if callable(spec):
        return Predicate(spec)
    return Equals(spec, of_kind=True)


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
    if operator == "text":
        if not isinstance(value, str):
            raise MatchError("`text` takes a text", seen=preview(value))
        return text(value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise MatchError(f"`{operator}` takes a list of conditions", seen=preview(value))
    parts = [matcher(part, text=text) for part in value]
    return AnyOf(*parts) if operator == "any" else AllOf(*parts)


def same_text(spec: Any) -> Matcher:
    """Like `matcher`, but a plain string is a whole name, upper and lower case alike."""
    return matcher(spec, text=Same)
