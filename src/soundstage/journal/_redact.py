r"""Redaction: secrets never reach a file.

Three sources say what a secret is: environment variables whose name says so, values of headers whose name says so
(learnt as they come by), and shapes that providers give their keys. Known values are found in whatever encoding they
travel, because both they and what is searched are read without their encodings (`_reading`).

Speed matters, because every line of a journal passes here. `suspects` looks for the beginnings of all known secrets
and the markers of all shapes; its cost hardly depends on their number, and almost every line ends there. The lines
that remain are searched for whole secrets.

Learning is cheap, because anybody who may send requests can make us learn: what is new goes into a small search
beside the big one, which takes it in every 32 secrets. Of a long value the beginning is known, and of the values of
headers those that came last.

JSON must stay JSON: in a line of a journal, only the inside of strings is blanked, never half of an escape
sequence (the `n` of `\\n` may happen to be the first letter of a secret), and a number becomes 0.

Pieces of a stream are looked at together; see `_pieces`.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import ahocorasick_rs

from soundstage.journal._reading import CODE_SIGNS, Span, plain, quick, read
from soundstage.journal._secrets import (
    REDACTED,
    SHAPES,
    header_secrets,
    is_secret,
    readings,
    variable_secrets,
)
from soundstage.journal._text_search import CODED, TextSearch

_BLANK: Final = REDACTED.encode()
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+\-]*', re.DOTALL)
_BACKSLASH: Final = ord("\\")
_NEW: Final = 32  # secrets in the small search
_PIECE: Final = 1024  # characters that are looked for at once
LONGEST: Final = 16 * _PIECE  # characters of a secret that are known
MOST: Final = 1000  # secrets of headers that are known, or pieces of them

_MARKERS: Final = frozenset(plain(shape.marker) for shape in SHAPES)
_has_marker: Final = ahocorasick_rs.BytesAhoCorasick(
    sorted({shape.marker for shape in SHAPES}), matchkind=ahocorasick_rs.MatchKind.LeftmostFirst
).find_matches_as_indexes
_no_secrets: Final = TextSearch((), _MARKERS, CODE_SIGNS)


class Redactor:
    """Finds secrets in what is about to be written and replaces them by `[redacted]`.

    >>> Redactor(["hunter2-hunter2"]).text("the key is hunter2-hunter2.")
    'the key is [redacted].'
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Secrets and how they read: told by the environment and the test, or met in headers, the oldest first.
        self._told: dict[str, frozenset[bytes]] = {}
        self._met: dict[str, frozenset[bytes]] = {}
        self._newest = ""  # that was met
        self._new: list[frozenset[bytes]] = []  # those in the small search
        self._big: TextSearch | None = None
        self._groups: tuple[TextSearch, ...] = (_no_secrets,)  # the big search, and the small one
        self._lock = threading.Lock()
        self._watched: Mapping[Any, Any] | None = None
        self._environment: dict[Any, Any] = {}
        self._learn(secrets, self._told)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Redactor:
        """A redactor that knows the values of variables named like keys, tokens, passwords, and logins in addresses.

        It also knows what this process's environment holds whenever something is looked at: what is set later counts.
        """
        made = cls()
        made._watched = vars(os.environ).get("_data", os.environ)
        if environment is not os.environ:
            made.add_environment(environment)
        return made

    def add_environment(self, environment: Mapping[str, str]) -> None:
        """Learn the secrets of an environment: this process's, or one that a program is given."""
        found = [secret for name, value in environment.items() for secret in variable_secrets(name, value)]
        self._learn(found, self._told)

    def add(self, secret: str) -> None:
        """Learn a secret: a key, or a canary that a test has planted.

        Ignored: what is shorter than 8 characters, and words that the journal itself is made of. Of a secret with
        more than 16,384 characters the beginning is known.
        """
        self._learn([secret], self._told)

    def meet(self, secret: str) -> None:
        """Learn a secret that somebody has sent. Of these, the last 1,000 are known."""
        if secret != self._newest:  # clients send the same key with every request
            self._learn([secret], self._met)
            self._newest = secret

    def _learn(self, secrets: Iterable[str], where: dict[str, frozenset[bytes]]) -> None:
        with self._lock:
            begun = len(self._new)
            for secret in secrets:
                for piece in _pieces(secret.strip()):
                    self._take(piece, where)
            if len(self._new) == begun:
                return
            if len(self._new) > _NEW:
                self._merge()
            small = _needles(self._new)
            self._groups = (small,) if self._big is None else (self._big, small)

    def _take(self, text: str, where: dict[str, frozenset[bytes]]) -> None:
        if text in self._told:
            return
        found = self._met.pop(text, None)
        if found is None:
            if not is_secret(text):
                return
            found = readings(text)
            self._new.append(found)
        where[text] = found

    def _merge(self) -> None:
        """Take what is new into the big search, and forget what was met long ago."""
        while len(self._met) > MOST:
            del self._met[next(iter(self._met))]
        self._big = _needles((*self._told.values(), *self._met.values()))
        self._new = []

    def _look_around(self) -> None:
        """Learn what has been set in the environment since the last time."""
        if self._watched is not None and self._watched != self._environment:
            self._environment = dict(self._watched)
            self.add_environment(os.environ)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """`headers` with lower-case names and without secret values, which are learnt."""
        clean = {name.lower(): value for name, value in headers.items()}
        for name, value in clean.items():
            secrets = header_secrets(name, value)
            if secrets is not None:
                for secret in secrets:
                    self.meet(secret)
                clean[name] = REDACTED
        return clean

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def suspects(self, data: bytes) -> bool:
        """Whether there may be a secret in `data`. False is certain, and found quickly."""
        self._look_around()
        groups = self._groups
        if groups[-1] is _no_secrets:
            return bool(_has_marker(data))
        seen = quick(data)
        begun = groups[-1].begins(seen)
        if begun is None and (len(groups) == 1 or groups[0].begins(seen) is None):
            return False
        if begun != CODED:
            return True
        seen = plain(data)
        return any(group.begins(seen) not in (None, CODED) for group in groups)

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
        spans: list[Span] = []
        if self._told or self._met:
            reading = read(data)
            for group in self._groups:
                spans += [reading.origin(*span) for span in group.spans(reading.data)]
        for shape in SHAPES:
            if shape.marker in data:
                spans.extend(found.span() for found in re.finditer(shape.pattern, data))
        return spans

    def open_end(self, data: bytes) -> int:
        """Where a secret begins that the end of `data` cuts off; the length of `data` if there is none."""
        reading = read(data)
        begun = [reading.origin(*span)[0] for group in self._groups for span in group.open_end(reading.data)]
        return min(begun, default=len(data))

    def spans(self, data: bytes) -> list[Span]:
        """Where secrets are in `data`, as (start, end); they may overlap."""
        return self._spans(data) if self.suspects(data) else []

    def bytes(self, data: bytes) -> bytes:
        """`data` without secrets. For JSON use `json`, which keeps it valid."""
        return blanked(data, self.spans(data))


def _needles(secrets: Iterable[frozenset[bytes]]) -> TextSearch:
    return TextSearch(frozenset[bytes]().union(*secrets), _MARKERS, CODE_SIGNS)


def _pieces(secret: str) -> Iterator[str]:
    """A secret in pieces of bounded length, each of which is looked for; the last ends where the secret ends."""
    known = secret[:LONGEST]
    for start in range(0, max(len(known) - _PIECE, 0), _PIECE):
        yield known[start : start + _PIECE]
    yield known[-_PIECE:]


def blanked(data: bytes, spans: list[Span]) -> bytes:
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
    return b'"' + blanked(body, [_widened(body, *span) for span in inside]) + b'"'


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
