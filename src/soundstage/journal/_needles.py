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
_FEW: Final = 1000


class Needles:
    """Texts to look for; each has at least `HEAD` bytes.

    >>> list(Needles([b"needle in"]).spans(b"a needle in it"))
    [(2, 11)]
    """

    def __init__(self, texts: Collection[bytes]) -> None:
        by_head: dict[bytes, list[bytes]] = {}
        for text in sorted(texts):
            by_head.setdefault(text[:HEAD], []).append(text)
        self._texts = list(by_head.values())
        self._search: Any = None
        if by_head:
            small = len(by_head) <= _FEW  # then a table for every state is quick to make, and twice as fast
            kind = ahocorasick_rs.Implementation.DFA if small else None
            searcher = ahocorasick_rs.BytesAhoCorasick(list(by_head), implementation=kind)
            self._search = searcher.find_matches_as_indexes

    def __bool__(self) -> bool:
        return self._search is not None

    def suspects(self, data: bytes) -> bool:
        """Whether a text may begin in `data`; False is certain."""
        return self._search is not None and bool(self._search(data))

    def _begun(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        if self._search is not None:
            for index, start, _ in self._search(data, overlapping=True):
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
