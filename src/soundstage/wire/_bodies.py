"""Bodies that a client has compressed: gzip and deflate are read, others are refused by name.

A body has the same limit when it is unpacked. Source: RFC 9110, sections 8.4.1 and 15.5.16; RFC 1950 to 1952.
"""

from __future__ import annotations

import zlib
from typing import Final

from soundstage.errors import RequestRejected
from soundstage.net import HttpRequest

READS: Final = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
ACCEPTED: Final = {"accept-encoding": "gzip, deflate"}  # of the answer that refuses another
MOST_CODINGS: Final = 4


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
        if name not in READS or len(codings) > MOST_CODINGS:
            raise RequestRejected(
                f"Unsupported content encoding: '{name}'. Soundstage reads bodies in gzip and deflate, or as they are.",
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
            unpacking = zlib.decompressobj(READS[coding])
            found += unpacking.decompress(body, limit + 1 - len(found))
            if not unpacking.eof and len(found) <= limit:
                raise zlib.error("it ends too early")
            body = unpacking.unused_data
    except zlib.error as error:
        raise RequestRejected(f"The body of your request is not in '{coding}': {error}.") from None
    return found[:limit], len(found) > limit
