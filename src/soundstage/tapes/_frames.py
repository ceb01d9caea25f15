"""Frames: the bytes of an answer as they came, with their times. Pure.

People read the exchange, machines the frames: these are packed, and a replay sends them byte for byte. `of` is a digest
of the response that they make up. Where somebody has edited the response, it does not fit any more, and the frames are
made anew.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import msgspec

from soundstage.errors import TapeError
from soundstage.journal import Redactor

_PASSING: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-encoding",
        "set-cookie",
        "date",
        "server",
        "alt-svc",
        "via",
    }
)


class Frames(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as it came.

    Args:
        status: HTTP status.
        headers: those that belong to the answer, names in lower case.
        at_ms: when each piece came, in milliseconds after the request.
        sizes: how many bytes each piece has.
        packed: all pieces, one after the other, as zlib and base64.
        of: the digest of the response that they make up; empty if there is none.
        cut: whether the connection broke off behind the last piece.
    """

    status: int = 200
    headers: dict[str, str] = {}
    at_ms: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    packed: str = ""
    of: str = ""
    cut: bool = False

    @property
    def body(self) -> bytes:
        """All bytes.

        Raises:
            TapeError: if they cannot be unpacked, or are not as many as `sizes` says.
        """
        try:
            found = zlib.decompress(base64.b64decode(self.packed, validate=True)) if self.packed else b""
        except (ValueError, zlib.error) as error:
            raise _broken(str(error)) from None
        if len(found) != sum(self.sizes) or len(self.sizes) != len(self.at_ms):
            raise _broken(f"{len(found)} bytes, {len(self.sizes)} sizes, {len(self.at_ms)} times")
        return found

    def pieces(self) -> list[tuple[float, bytes]]:
        """Each piece with its time."""
        body, place, found = self.body, 0, []
        for at, size in zip(self.at_ms, self.sizes, strict=True):
            found.append((at, body[place : place + size]))
            place += size
        return found


def pack(
    status: int, headers: Mapping[str, str], pieces: Iterable[tuple[float, bytes]], *, cut: bool = False
) -> Frames:
    """Frames out of an answer.

    Example:
        >>> pack(200, {"content-type": "text/plain"}, [(1.5, b"he"), (2.0, b"llo")]).pieces()
        [(1.5, b'he'), (2.0, b'llo')]
    """
    kept = [(at, piece) for at, piece in pieces if piece]
    body = b"".join(piece for _, piece in kept)
    return Frames(
        status=status,
        headers={name: value for name, value in headers.items() if name not in _PASSING},
        at_ms=tuple(round(at, 1) for at, _ in kept),
        sizes=tuple(len(piece) for _, piece in kept),
        packed=_packed(body),
        cut=cut,
    )


def _packed(body: bytes) -> str:
    return base64.b64encode(zlib.compress(body, 9)).decode() if body else ""


def blank(frames: Frames, redactor: Redactor) -> tuple[Frames, int]:
    """Frames without the secrets that stand in them, and how many these were.

    A secret becomes as many signs of its own kind, so that sizes, JSON, numbers and base64 stay what they are.
    """
    headers = redactor.headers(frames.headers)
    if headers != frames.headers:
        frames = msgspec.structs.replace(frames, headers=headers)
    body = frames.body
    spans = _merged(redactor.spans(body))
    if not spans:
        return frames, 0
    blanked = bytearray(body)
    for start, end in spans:
        blanked[start:end] = _filler(body[start:end])
    return msgspec.structs.replace(frames, packed=_packed(bytes(blanked))), len(spans)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


_FILLERS: Final = (
    (re.compile(rb"[0-9]+"), b"1"),
    (re.compile(rb"[0-9a-fA-F]+"), b"0"),
    (re.compile(rb"[A-Za-z0-9+/=_-]+"), b"redacted"),
)


def _filler(secret: bytes) -> bytes:
    word = next((word for kind, word in _FILLERS if kind.fullmatch(secret)), b"[redacted]")
    return (word if len(word) == 1 else word + b"x" * len(secret))[: len(secret)].ljust(
        len(secret), word[-1:]
    )


def digest(value: Any) -> str:
    """A short digest of the JSON of a value."""
    data = msgspec.json.encode(value, order="sorted")
    return blake2b(data, digest_size=9).hexdigest()


def _broken(seen: str) -> TapeError:
    return TapeError(
        "the frames of an exchange are broken",
        expected="zlib and base64, as many bytes as the sizes say",
        seen=seen,
        hint="edit `response` and leave `frames` alone, or delete `frames`: they are made anew",
    )
