"""Kinds of errors of tools, by the words of their results: a table, looked through from the top. Pure."""

from __future__ import annotations

import re
from typing import Final, Literal

ErrorClass = Literal[
    "blocked",
    "denied",
    "timeout",
    "interrupted",
    "unknown-tool",
    "arguments",
    "exit-code",
    "not-found",
    "error",
]

_SHOWN: Final = 2000  # characters of a result that are looked at

_WORDS: Final[dict[ErrorClass, str]] = {
    "blocked": r"\bhook error\b|\bblocked by (a |the )?\w* ?hook\b",
    "unknown-tool": r"\b(unknown tool|no such tool|tool .{0,80} (not found|does not exist))",
    "arguments": r"InputValidationError|\bvalidation error|cannot be called like this"
    r"|invalid (arguments?|input|params)",
    "denied": r"\bpermission|\bnot allowed\b|\bdenied\b|\brefused by\b|requires approval",
    "interrupted": r"\binterrupted\b|\bcancell?ed\b|\baborted\b|doesn't want to (proceed|take)",
    "timeout": r"\btime(d )?-?out\b|\bdid not return within\b|\bno end within\b|deadline exceeded",
    "exit-code": r"\bexit(ed)?( with)?( code| status) -?\d+",
    "not-found": r"no such file|\bnot found\b|does not exist|ENOENT",
}
_CLASSES: Final = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}


def error_class(text: str) -> ErrorClass:
    """The kind of an error of a tool.

    >>> error_class("Exit code 3"), error_class("No such tool available: Fly"), error_class("odd")
    ('exit-code', 'unknown-tool', 'error')
    """
    shown = text[:_SHOWN]
    return next((kind for kind, words in _CLASSES.items() if words.search(shown)), "error")
