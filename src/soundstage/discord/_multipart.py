"""Bodies of requests: JSON, or a form with files. Pure.

Source: RFC 7578, and https://discord.com/developers/docs/reference#uploading-files
"""

from __future__ import annotations

from email.message import Message as Headers
from email.parser import HeaderParser
from typing import Any, NamedTuple

import msgspec

from soundstage.discord._drafts import Upload
from soundstage.discord._problems import INVALID_JSON, RestRefused


class Body(NamedTuple):
    """The JSON of a request, and the files that came with it by the names of their fields."""

    json: Any
    files: dict[str, Upload]


def parse_body(content_type: str, data: bytes) -> Body:
    """The body of a request, or Discord's 400."""
    headers = Headers()
    headers["content-type"] = content_type
    if headers.get_content_type() != "multipart/form-data":
        return Body(_json(data), {})
    fields: dict[str, Any] = {}
    files: dict[str, Upload] = {}
    for part, content in _parts(data, str(headers.get_param("boundary", ""))):
        name = str(part.get_param("name", "", "content-disposition"))
        filename = part.get_filename()
        if filename is None:
            fields[name] = content
        else:
            kind = part.get_content_type() if "content-type" in part else ""
            files[name] = Upload(filename, content, kind)
    if "payload_json" in fields:
        return Body(_json(fields["payload_json"]), files)
    return Body({name: value.decode("utf-8", "replace") for name, value in fields.items()}, files)


def _json(data: bytes) -> Any:
    if not data:
        return {}
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise RestRefused(INVALID_JSON) from None


def _parts(data: bytes, boundary: str) -> list[tuple[Headers, bytes]]:
    """The parts of a form: their headers and contents."""
    line = b"--" + boundary.encode("latin-1", "replace")
    found: list[tuple[Headers, bytes]] = []
    for piece in (b"\r\n" + data).split(b"\r\n" + line)[1:]:
        if not boundary or piece.startswith(b"--"):
            break
        head, _, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        found.append((HeaderParser().parsestr(head.decode("utf-8", "replace")), content))
    return found
