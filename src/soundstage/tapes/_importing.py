"""Recordings of other tools as exchanges of a tape: the requests by our codecs, the answers by our readers. Pure.

Each kind has a reader that finds HTTP calls in a file (`_import_formats`); here a call becomes an exchange. What is
none of a model, or cannot be read, is a problem with its line, and the rest is imported.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from soundstage.errors import ConnectionCut, RequestRejected
from soundstage.tapes._answers import with_response
from soundstage.tapes._exchange import HttpCall, RecordedExchange
from soundstage.tapes._frames import pack
from soundstage.wire import CODECS, find_route, with_caller

_PROVIDERS: Final = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
}


class ForeignCall(NamedTuple):
    """A call as another tool has recorded it.

    Args:
        where: its place in the file, in words: `line 12`.
        url: of the request.
        body: of the request.
        answer: the body of the answer.
        status: HTTP status.
        method: of the request.
        asked_headers: of the request; names in any case.
        headers: of the answer; names in any case.
        started: when it was made (ISO 8601), if that is known.
        latency_ms: milliseconds that it took, if that is known.
    """

    where: str
    url: str
    body: bytes
    answer: bytes
    status: int = 200
    method: str = "POST"
    asked_headers: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    started: str = ""
    latency_ms: float = 0.0


class Imported(NamedTuple):
    """The exchanges of a file, and what could not be imported, one line each."""

    exchanges: tuple[RecordedExchange, ...]
    problems: tuple[str, ...] = ()


class ForeignProblem(NamedTuple):
    """A part of a file that is no call: where, and why."""

    where: str
    why: str


def imported(found: Iterable[ForeignCall | ForeignProblem]) -> Imported:
    """Exchanges out of calls.

    Example:
        >>> body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
        >>> answer = b'{"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}'
        >>> made = imported([ForeignCall("line 1", "https://api.openai.com/v1/chat/completions", body, answer)])
        >>> made.exchanges[0].request.last_user_text, made.exchanges[0].response.text
        ('hi', 'Hello')
    """
    exchanges: list[RecordedExchange] = []
    problems: list[str] = []
    began = 0.0
    for one in found:
        made = one if isinstance(one, ForeignProblem) else _exchange(one, len(exchanges) + 1, began)
        if isinstance(made, ForeignProblem):
            problems.append(f"{made.where}: {made.why}")
        else:
            exchanges.append(made)
            began = made.ended_ms + 1
    return Imported(tuple(exchanges), tuple(problems))


def _exchange(call: ForeignCall, number: int, began: float) -> RecordedExchange | ForeignProblem:
    url = urlsplit(call.url)
    asked = {name.lower(): value for name, value in call.asked_headers.items()}
    route = find_route(call.method, url.path, url.query, asked)
    if route is None or route.kind != "generate":
        return ForeignProblem(
            call.where, f"no request to a model: {call.method} {url.hostname or ''}{url.path}"
        )
    headers = {name.lower(): value for name, value in call.headers.items()}
    try:
        body = unpacked(call.body, asked.get("content-encoding", ""))
        answer = unpacked(call.answer, headers.get("content-encoding", ""))
        request = with_caller(CODECS[route.format].decode(body, route.parameters), asked)
    except RequestRejected as error:
        return ForeignProblem(call.where, f"the request cannot be read: {error}")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        return ForeignProblem(call.where, f"a body cannot be unpacked: {error}")
    caller = msgspec.structs.replace(request.caller, headers={})
    request = msgspec.structs.replace(request, caller=caller)
    plain = RecordedExchange(
        number=number,
        timestamp=call.started,
        started_ms=began,
        latency_ms=call.latency_ms,
        request=request,
        http=HttpCall(to=_PROVIDERS[route.format], method=call.method, path=_path(route.format, url.path)),
        frames=pack(call.status, headers, [(call.latency_ms, answer)]),
    )
    try:
        return with_response(plain)
    except ConnectionCut as error:
        return ForeignProblem(call.where, f"the answer cannot be read: {error}")


def _path(format: str, path: str) -> str:  # noqa: A002
    """The path behind the base URL that the provider's SDK takes."""
    return path.removeprefix("/v1") if _PROVIDERS[format] == "openai" else path


def unpacked(body: bytes, encoding: str) -> bytes:
    """A body without its `content-encoding`; tools that keep the header have often undone it already."""
    if encoding == "gzip" and body[:2] == b"\x1f\x8b":
        return gzip.decompress(body)
    if encoding == "deflate" and body[:1] == b"\x78":
        return zlib.decompress(body)
    if encoding in ("br", "zstd") and body[:1] not in (b"{", b"[", b"d", b"e", b":"):
        raise ValueError(f"content-encoding {encoding}; record it with `accept-encoding: gzip`")
    return body
