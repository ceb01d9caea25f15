"""Exchanges without secrets, before they get onto a tape. Pure.

A secret that stands in a frame is replaced where it stands. One that a stream has cut in pieces shows only in the
response; then the frames are made anew from the redacted response. So nothing with a secret in it is ever kept. What
that has cost is told: `changed`, in words, with the exchange; `broken`, where frames could not be kept at all.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from soundstage.journal import Redactor
from soundstage.messages import ModelResponse, respond
from soundstage.tapes._answers import AnswerParts, frames_made_anew, pieces_of
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._frames import Frames, blank, digest, pack


class CleanExchange(NamedTuple):
    """An exchange without secrets.

    Args:
        exchange: it.
        changed: what was taken out of its answer; empty if nothing was.
        broken: what could not be kept; empty if all was.
    """

    exchange: RecordedExchange
    changed: str = ""
    broken: str = ""


def cleaned(exchange: RecordedExchange, redactor: Redactor) -> CleanExchange:
    """`exchange` without the secrets that the JSON of its line, as a whole, does not show."""
    exchange = _without_headers(exchange, redactor)
    if exchange.frames is None:
        return _in_process(exchange, redactor)
    frames, found = blank(exchange.frames, redactor)
    changed = f"exchange {exchange.number}: {found} secret(s) in the answer" if found else ""
    if exchange.request is None:
        return _of_no_model(exchange, frames, changed)
    response = exchange.response
    unreadable = False
    if found:
        read = _read(exchange, frames)
        unreadable = read.failure is not None and exchange.failure is None
        response = response if unreadable else respond(read.chunks)
    clean = _redacted(response, redactor)
    if unreadable or clean != response:
        exchange = msgspec.structs.replace(exchange, response=clean)
        frames = frames_made_anew(exchange)
        changed = (
            f"exchange {exchange.number}: a secret in several pieces of the answer, which were made anew"
        )
    frames = msgspec.structs.replace(frames, of=digest(clean))
    return CleanExchange(msgspec.structs.replace(exchange, response=clean, frames=frames), changed)


def _without_headers(exchange: RecordedExchange, redactor: Redactor) -> RecordedExchange:
    request = exchange.request
    if request is None or not request.caller.headers:
        return exchange
    headers = redactor.headers(request.caller.headers)
    caller = msgspec.structs.replace(request.caller, headers=headers)
    return msgspec.structs.replace(exchange, request=msgspec.structs.replace(request, caller=caller))


def _in_process(exchange: RecordedExchange, redactor: Redactor) -> CleanExchange:
    response = _redacted(exchange.response, redactor)
    if response == exchange.response:
        return CleanExchange(exchange)
    exchange = msgspec.structs.replace(exchange, response=response)
    exchange = msgspec.structs.replace(exchange, chunks=tuple(pieces_of(exchange)))
    return CleanExchange(exchange, f"exchange {exchange.number}: a secret in the reply")


def _of_no_model(exchange: RecordedExchange, frames: Frames, changed: str) -> CleanExchange:
    """An answer that is no model's: nothing can make it anew, so one that would be broken is not kept."""
    assert exchange.frames is not None
    if changed and _is_json(exchange.frames.body) and not _is_json(frames.body):
        asked = exchange.http.path if exchange.http is not None else ""
        frames = pack(frames.status, frames.headers, [(0.0, b"null")])
        broken = f"exchange {exchange.number}, {asked}: a secret in the answer cannot be taken out without breaking it"
        return CleanExchange(msgspec.structs.replace(exchange, frames=frames), broken=broken)
    return CleanExchange(msgspec.structs.replace(exchange, frames=frames), changed)


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _read(exchange: RecordedExchange, frames: Frames) -> AnswerParts:
    assert exchange.request is not None
    read = AnswerParts(exchange.request.format, frames.status, frames.headers)
    for _, piece in frames.pieces():
        read.feed(piece)
    if not frames.cut:
        read.end()
    return read


def _redacted(response: ModelResponse | None, redactor: Redactor) -> ModelResponse | None:
    if response is None:
        return None
    line = msgspec.json.encode(response)
    clean = redactor.json(line)
    return response if clean == line else msgspec.json.decode(clean, type=ModelResponse)
