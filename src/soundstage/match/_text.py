"""Matchers of text: a part of it, an expression, a name."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, Final

from soundstage.errors import MatchError
from soundstage.match._expression import TooSlowError, compiled
from soundstage.match._matcher import Matcher, preview

FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


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
    verb = "contains"

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


def _plain_text_hint(text: str) -> str:
    return f"if it is plain text and no expression, write {{'text': {preview(text)}}}"


class Regex(_TextMatcher):
    """Text in which `pattern` is found. `flags` are letters of `imsx`; `groups` is how many groups it has.

    A search that takes more than a second of processor time is a `MatchError`.
    """

    __slots__ = ("_search", "flags", "groups", "pattern")
    verb = "contains"

    def __init__(self, pattern: str, flags: str = "") -> None:
        unknown = sorted(set(flags) - set(FLAGS))
        if unknown:
            raise MatchError(
                f"unknown flag {unknown[0]!r} of the expression /{pattern}/{flags}",
                expected="flags out of " + ", ".join(FLAGS),
                hint=_plain_text_hint(f"/{pattern}/{flags}"),
            )
        try:
            self._search, self.groups = compiled(pattern, sum(FLAGS[flag] for flag in set(flags)))
        except (re.error, OverflowError, RecursionError) as error:
            raise MatchError(
                f"/{pattern}/ is not a regular expression: {error}",
                hint=f"escape special characters with a backslash; {_plain_text_hint(f'/{pattern}/{flags}')}",
            ) from None
        self.pattern = pattern
        self.flags = "".join(sorted(set(flags)))

    def matches(self, value: Any) -> bool:
        return isinstance(value, str) and self.search(value) is not None

    def search(self, text: str) -> re.Match[str] | None:
        """The first place in `text` where the pattern is found.

        Raises:
            MatchError: if that takes too much time.
        """
        try:
            return self._search(text)  # type: ignore[no-any-return]
        except TooSlowError as error:
            raise MatchError(
                f"the expression {self.describe()} is too slow: {error}",
                seen=f"a text of {len(text)} characters: {preview(text)}",
                hint="write it without a repetition inside of another one, or anchor it",
            ) from None

    def _explain_text(self, text: str) -> str | None:
        return None if self.search(text) else f"{self.describe()} is not found in {preview(text)}"

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
