"""Split policies: how one text becomes several. Frozen values without state.

The pieces of a policy join to the text that it was given; nothing is added or lost. No pieces at all means
that the text is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from soundstage.agents._errors import SettingError
from soundstage.agents._marker import MARKER
from soundstage.agents._windows import check_max

_BLANK_LINE: Final = re.compile(r"(?:\r\n){2,}|\n{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s+\S)")


@runtime_checkable
class SplitPolicy(Protocol):
    """Decides where a text is cut."""

    def pieces(self, text: str) -> Sequence[str]:
        """The pieces of `text`, in order, none of them empty; none at all to leave it as it is."""
        ...


class _Policy(msgspec.Struct, frozen=True):
    """Base of the policies in this file: equal when their fields are."""


class ParagraphSplitter(_Policy, frozen=True):
    r"""Cuts after every blank line, which stays with the paragraph before it.

    >>> ParagraphSplitter().pieces("one\n\ntwo")
    ('one\n\n', 'two')
    """

    def pieces(self, text: str) -> tuple[str, ...]:
        """The paragraphs."""
        return _cut(text, (found.end() for found in _BLANK_LINE.finditer(text)))


class SentenceSplitter(_Policy, frozen=True):
    """Cuts after `.`, `!` or `?` where white space follows, which begins the next sentence.

    >>> SentenceSplitter().pieces("Hi. How are you?")
    ('Hi.', ' How are you?')
    """

    def pieces(self, text: str) -> tuple[str, ...]:
        """The sentences."""
        return _cut(text, (found.end() for found in _SENTENCE_END.finditer(text)))


class LengthSplitter(_Policy, frozen=True):
    """Cuts into pieces of `max` characters, whatever stands there; the last one may be shorter.

    Raises:
        SettingError: if `max` is less than 1.

    >>> LengthSplitter(4).pieces("Hello, you")
    ('Hell', 'o, y', 'ou')
    """

    max: int

    def __post_init__(self) -> None:
        check_max(self.max)

    def pieces(self, text: str) -> tuple[str, ...]:
        """The pieces."""
        return _cut(text, range(self.max, len(text), self.max))


class MarkerSplitter(_Policy, frozen=True):
    r"""Cuts before the first summary marker, so that what it is about stays with it: two pieces, or one.

    >>> MarkerSplitter().pieces("I see.\n**Next step**\n\nLook.")
    ('I see.\n', '**Next step**\n\nLook.')
    """

    def pieces(self, text: str) -> tuple[str, ...]:
        """The text before the marker, and the rest."""
        found = MARKER.search(text)
        before = text[: found.start()] if found is not None else ""
        return _cut(text, [len(before)] if before.strip() else [])


class ChainSplitter(_Policy, frozen=True):
    """Applies several policies, each to the pieces of the one before.

    Raises:
        SettingError: if there is none.

    >>> ChainSplitter((SentenceSplitter(), LengthSplitter(4))).pieces("Hi. You?")
    ('Hi.', ' You', '?')
    """

    policies: tuple[SplitPolicy, ...]

    def __post_init__(self) -> None:
        if not self.policies:
            raise SettingError("a chain of no split policies would do nothing", hint="leave the policy out")

    def pieces(self, text: str) -> tuple[str, ...]:
        """The pieces; those that a policy leaves as they are go on as they are."""
        pieces: list[str] = []
        touched = False
        for policy in self.policies:
            found = [(piece, policy.pieces(piece)) for piece in pieces or [text]]
            touched = touched or any(cut for _, cut in found)
            pieces = [part for piece, cut in found for part in (cut or (piece,))]
        return tuple(pieces) if touched else ()


def _cut(text: str, places: Iterable[int]) -> tuple[str, ...]:
    """`text` cut at these places, which rise; no pieces of an empty text, and no empty piece."""
    ends = [place for place in places if place < len(text)]
    return tuple(text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if text)
