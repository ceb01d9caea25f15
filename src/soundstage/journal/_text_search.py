"""Many texts, found in one pass. Pure.

The search looks for the first six bytes of all texts at once, and compares the rest where it finds them. So its cost
does not depend on how long the texts are, and a text whose end has not come yet can be told as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

import ahocorasick_rs

from soundstage.journal._reading import Span

HEAD: Final = 6
BEGUN: Final = "begun"
CODED: Final = "coded"
_FEW: Final = 1000


class TextSearch:
    """Texts to look for, each of at least `HEAD` bytes; and signs that `begins` tells on the way.

    >>> list(TextSearch([b"needle in"]).spans(b"a needle in it"))
    [(2, 11)]
    """

    def __init__(
        self, texts: Collection[bytes], markers: Collection[bytes] = (), codes: Collection[bytes] = ()
    ) -> None:
        by_head: dict[bytes, list[bytes]] = {}
        for text in sorted(texts):
            by_head.setdefault(text[:HEAD], []).append(text)
        self._texts = list(by_head.values())
        self._codes = len(by_head) + len(markers)
        wanted = [*by_head, *markers, *codes]
        small = len(wanted) <= _FEW  # then a table for every state is quick to make, and twice as fast
        kind = ahocorasick_rs.Implementation.DFA if small else None
        first = ahocorasick_rs.MatchKind.LeftmostFirst  # which is quicker, and tells no overlaps
        self._search: Any = ahocorasick_rs.BytesAhoCorasick(
            wanted, implementation=kind
        ).find_matches_as_indexes
        self._find: Any = ahocorasick_rs.BytesAhoCorasick(
            wanted, implementation=kind, matchkind=first
        ).find_matches_as_indexes

    def begins(self, data: bytes) -> str | None:
        """Tell what may begin in `data`: a text or a marker, only a code, or nothing; this is certain."""
        found = self._find(data)
        if not found:
            return None
        if min(found)[0] < self._codes:
            return BEGUN
        return (
            BEGUN
            if any(index < self._codes for index, _, _ in self._search(data, overlapping=True))
            else CODED
        )

    def _begun(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        for index, start, _ in self._search(data, overlapping=True):
            if index < len(self._texts):
                for text in self._texts[index]:
                    yield start, text

    def spans(self, data: bytes) -> Iterator[Span]:
        """Where the texts are; they may overlap."""
        for start, text in self._begun(data):
            if data.startswith(text, start):
                yield start, start + len(text)

    def open_end(self, data: bytes) -> Iterator[Span]:
        """Where the end of `data` may be the beginning of a text, six bytes of it or more."""
        for start, text in self._begun(data):
            if len(text) > len(data) - start and text.startswith(data[start:]):
                yield start, len(data)
