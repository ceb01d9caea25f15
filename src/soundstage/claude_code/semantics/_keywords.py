"""Concepts in a text."""

from __future__ import annotations

from collections.abc import Iterable

from soundstage.claude_code.semantics._verdict import SemanticResult
from soundstage.errors import ScriptError


class KeywordsFound(SemanticResult, frozen=True, kw_only=True):
    """Which keywords a text has.

    Args:
        found: those in it, in the order in which they were given.
        missing: the others.
        ratio: the share of those in it, from 0 to 1.
    """

    found: tuple[str, ...]
    missing: tuple[str, ...]
    ratio: float


def keywords_in(text: str, keywords: Iterable[str], *, require_all: bool = False) -> KeywordsFound:
    """Look for keywords, in capitals or not, also as parts of words.

    Args:
        text: what was said.
        keywords: what to look for; the same one twice counts once.
        require_all: whether all must be there; else one is enough.

    Raises:
        ScriptError: if there are no keywords, or one of them is empty and would be found in everything.

    Example:
        >>> keywords_in("We investigate the Codebase", ["systematic", "codebase"]).found
        ('codebase',)
    """
    wanted = _checked(keywords)
    said = text.casefold()
    found = tuple(keyword for keyword in wanted if keyword.casefold() in said)
    missing = tuple(keyword for keyword in wanted if keyword not in found)
    details = f"found {len(found)} of {len(wanted)}" + _listed(": ", found) + _listed("; missing: ", missing)
    return KeywordsFound(
        passed=not missing if require_all else bool(found),
        details=details,
        found=found,
        missing=missing,
        ratio=len(found) / len(wanted),
    )


def _checked(keywords: Iterable[str]) -> tuple[str, ...]:
    if isinstance(keywords, str):
        raise ScriptError("keywords are a list", seen=repr(keywords), hint="put it in brackets")
    wanted = tuple({keyword.casefold(): keyword for keyword in reversed(tuple(keywords))}.values())[::-1]
    if not wanted:
        raise ScriptError("there are no keywords to look for", expected="at least one", seen="an empty list")
    if any(not keyword.strip() for keyword in wanted):
        raise ScriptError("a keyword is empty", expected="words", seen=repr(list(wanted)))
    return wanted


def _listed(label: str, keywords: tuple[str, ...]) -> str:
    return label + ", ".join(map(repr, keywords)) if keywords else ""
