"""Redaction: secrets never reach a file.

Three sources say what a secret is: environment variables whose name says so, values of authorization
headers (learnt as they come by), and shapes that providers give their keys. Known values are also found in
the encodings in which they travel: JSON, HTML, URLs, base64.

Speed matters, because every line of a journal passes here. One pass of a multi-pattern search looks for the
beginnings of all known secrets and the markers of all shapes at once (`suspects`); its cost hardly depends on
their number, and almost every line ends there. The lines that remain are searched for whole secrets.

JSON must stay JSON: in a line of a journal, only the inside of strings is blanked, never half of an escape
sequence (the `n` of `\\n` may happen to be the first letter of a secret), and a number becomes 0.

What this cannot see: a secret that comes in pieces, as in a streamed reply. Each piece is looked at alone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import ahocorasick_rs

from soundstage.journal._secrets import (
    MIN_LENGTH,
    REDACTED,
    SECRET_HEADERS,
    SECRET_NAME,
    SHAPES,
    forms,
    header_secrets,
    is_secret,
)

_BLANK: Final = REDACTED.encode()
_BEGINNING: Final = 6  # so many bytes of a secret make a line worth a closer look
_MARKERS: Final = frozenset(shape.marker for shape in SHAPES)
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+\-]*', re.DOTALL)
_BACKSLASH: Final = ord("\\")

Span = tuple[int, int]
Search = Callable[..., list[tuple[int, int, int]]]


class Redactor:
    """Finds secrets in what is about to be written and replaces them by `[redacted]`.

    >>> Redactor(["hunter2-hunter2"]).text("the key is hunter2-hunter2.")
    'the key is [redacted].'

    Attributes:
        suspects: a quick test of bytes: an empty list if there is certainly no secret in them.
    """

    suspects: Search

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: frozenset[str] = frozenset()
        self._find: Search | None = None
        self._lock = threading.Lock()
        self._learn(secrets)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """A redactor that knows the values of variables named like keys, tokens, passwords."""
        return cls(value for name, value in environment.items() if SECRET_NAME.search(name))

    def add(self, secret: str) -> None:
        """Learn a secret: a key, or a canary that a test has planted.

        Ignored: what is shorter than 8 characters, and words that the journal itself is made of.
        """
        if len(secret) >= MIN_LENGTH and secret.strip() not in self._known:
            self._learn([secret])

    def _learn(self, secrets: Iterable[str]) -> None:
        learnt = {text for secret in secrets if is_secret(text := secret.strip())}
        with self._lock:
            self._known |= learnt
            needles = {form for secret in self._known for form in forms(secret)}
            self._find = _search(needles, ahocorasick_rs.MatchKind.Standard) if needles else None
            beginnings = {needle[:_BEGINNING] for needle in needles}
            quick = {text for text in beginnings if not any(marker in text for marker in _MARKERS)}
            self.suspects = _search(_MARKERS | quick, ahocorasick_rs.MatchKind.LeftmostFirst)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """`headers` with lower-case names and without secret values, which are learnt."""
        clean = {name.lower(): value for name, value in headers.items()}
        for name in SECRET_HEADERS.keys() & clean.keys():
            for secret in header_secrets(name, clean[name]):
                self.add(secret)
            clean[name] = REDACTED
        return clean

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def json(self, data: bytes) -> bytes:
        """JSON, or lines of JSON, without secrets. What was valid stays valid and keeps its structure."""
        if not self.suspects(data) or not self._spans(data):
            return data
        return _TOKEN.sub(self._clean_token, data)

    def _clean_token(self, found: re.Match[bytes]) -> bytes:
        token = found[0]
        spans = self._spans(token) if self.suspects(token) else []
        if not spans:
            return token
        return _clean_string(token, spans) if token.startswith(b'"') else b"0"

    def _spans(self, data: bytes) -> list[Span]:
        """Where secrets are, as (start, end); they may overlap."""
        spans = [(start, end) for _, start, end in self._find(data, overlapping=True)] if self._find else []
        for shape in SHAPES:
            if shape.marker in data:
                spans.extend(found.span() for found in re.finditer(shape.pattern, data))
        return spans

    def bytes(self, data: bytes) -> bytes:
        """`data` without secrets. For JSON use `json`, which keeps it valid."""
        return _blanked(data, self._spans(data)) if self.suspects(data) else data


def _search(needles: Iterable[bytes], kind: Any) -> Search:
    search: Search = ahocorasick_rs.BytesAhoCorasick(sorted(needles), matchkind=kind).find_matches_as_indexes
    return search


def _blanked(data: bytes, spans: list[Span]) -> bytes:
    """`data` with `[redacted]` in place of the spans; overlapping ones become one."""
    parts: list[bytes] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            parts += (data[done:start], _BLANK)
        done = max(done, end)
    parts.append(data[done:])
    return b"".join(parts)


def _clean_string(token: bytes, spans: list[Span]) -> bytes:
    """A JSON string with its quotes; spans may reach over them, and blank only what is inside."""
    body = token[1:-1]
    inside = ((max(start - 1, 0), min(end - 1, len(body))) for start, end in spans)
    return b'"' + _blanked(body, [_widened(body, *span) for span in inside]) + b'"'


def _widened(body: bytes, start: int, end: int) -> Span:
    """The span, so wide that it cuts no escape sequence of a JSON string in two."""
    first, last = _escape_around(body, start), _escape_around(body, end)
    return (first[0] if first else start, last[1] if last else end)


def _escape_around(body: bytes, place: int) -> Span | None:
    r"""The escape sequence, such as `\n` or `\u00e9`, that begins before `place` and ends after it."""
    start = body.rfind(b"\\", max(place - 5, 0), place)
    if start < 0:
        return None
    run = start
    while run >= 0 and body[run] == _BACKSLASH:
        run -= 1
    if (start - run) % 2 == 0:
        return None  # the second half of an escaped backslash
    end = start + (6 if body[start + 1 : start + 2] == b"u" else 2)
    return (start, end) if end > place else None
