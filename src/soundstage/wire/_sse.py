"""Server-sent events, the framing that all providers stream in (WHATWG HTML, section 9.2). Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

MEDIA_TYPE: Final = "text/event-stream; charset=utf-8"
encode_json = msgspec.json.Encoder().encode


def data(value: Any) -> bytes:
    """An event without a name."""
    return b"data: " + encode_json(value) + b"\n\n"


def event(name: str, value: Any) -> bytes:
    """An event with a name."""
    return b"event: " + name.encode() + b"\ndata: " + encode_json(value) + b"\n\n"
