"""Bodies that a client has compressed: gzip, deflate and zstd are read, others are refused by name.

A body has the same limit when it is unpacked. What reads zstd, which codex sends, is an extra. Source: RFC 9110,
sections 8.4.1 and 15.5.16; RFC 1950 to 1952; RFC 9659 for the window of zstd.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final, Protocol

from soundstage.errors import RequestRejected
from soundstage.net import HttpRequest

MOST_CODINGS: Final = 4
_WINDOW: Final = 2**23  # bytes that a decoder of zstd has to hold at most
_PIECE: Final = 64  # bytes of zstd that are unpacked in one step; they make two million bytes at most


class _Unpacking(Protocol):
    """One member of a body."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Zstd:
    """A frame of zstd, by the words of `zlib`."""

    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
        self._rest = b""

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data + self._rest

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        """Unpack until there is more than `max_length`."""
        found = bytearray()
        at = 0
        try:
            while at < len(data) and not self._frame.eof and len(found) <= max_length:
                found += self._frame.decompress(data[at : at + _PIECE])
                at += _PIECE
        except self._error as error:
            raise zlib.error(str(error)) from None
        self._rest = data[at:]
        return bytes(found)


@cache
def readers() -> Mapping[str, Callable[[], _Unpacking]]:
    """Coding -> what unpacks a member of a body in it."""
    gzip = partial(zlib.decompressobj, zlib.MAX_WBITS | 16)
    found: dict[str, Callable[[], _Unpacking]] = {"gzip": gzip, "x-gzip": gzip, "deflate": zlib.decompressobj}
    return found | ({"zstd": _Zstd} if importlib.util.find_spec("zstandard") else {})


def accepted() -> str:
    """The codings that are read, as a header has them."""
    return ", ".join(name for name in readers() if name != "x-gzip")


def unpacked(request: HttpRequest, limit: int) -> HttpRequest:
    """The request with its body as it was before it was compressed.

    Args:
        request: as it came.
        limit: bytes that a body may have; what has more is `too_large`.

    Raises:
        RequestRejected: 415 for a coding that is not read, 400 for a body that is not what its coding says.
    """
    codings = [name.strip().lower() for name in request.headers.get("content-encoding", "").split(",")]
    codings = [name for name in codings if name not in ("", "identity")]
    if not codings:
        return request
    for name in codings:
        if name not in readers() or len(codings) > MOST_CODINGS:
            more = "; zstd with `pip install 'soundstage[zstd]'`" if name == "zstd" else ""
            raise RequestRejected(
                f"Unsupported content encoding: '{name}'. Soundstage reads bodies in {accepted()}, or as they are"
                f"{more}.",
                status=415,
            )
    body, too_large = request.body, request.too_large
    for name in reversed(codings):
        if not too_large:
            body, too_large = _unpacked(body, name, limit)
    return request._replace(body=body, too_large=too_large)


def _unpacked(body: bytes, coding: str, limit: int) -> tuple[bytes, bool]:
    """The bytes in a body, and whether there are more of them than the limit."""
    found = b""
    try:
        while body and len(found) <= limit:  # gzip may have several members
            unpacking = readers()[coding]()
            found += unpacking.decompress(body, limit + 1 - len(found))
            if not unpacking.eof and len(found) <= limit:
                raise zlib.error("it ends too early")
            body = unpacking.unused_data
    except zlib.error as error:
        raise RequestRejected(f"The body of your request is not in '{coding}': {error}.") from None
    return found[:limit], len(found) > limit
