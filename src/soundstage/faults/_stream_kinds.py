"""Kinds of faults for one stream: how its pieces come, and each place at which it may be cut. Pure.

One stream is enough: what reads pieces in an app is the same for each of its calls. On the wire pieces are bytes, and a
cut may fall into a line or a character. In process they are chunks, and a cut falls between two characters.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from soundstage.faults._calls import ModelCall
from soundstage.faults._cases import Chunks, FaultKind, FaultPlace, Inject, Injection, bytes_of, content, fine
from soundstage.messages import (
    ByteDelivery,
    FinishChunk,
    ModelChunk,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from soundstage.models import ReplyFault
from soundstage.wire import CODECS, AnswerStamp

DRAWN: Final = 3  # ways in which a stream is cut into pieces that are drawn
STAMP: Final = AnswerStamp("0" * 24, 1_000_000_000)  # as long as any


def coalesced(chunks: Chunks) -> list[ModelChunk]:
    """The chunks with all pieces of a block in one."""
    found: list[ModelChunk] = []
    for chunk in chunks:
        last = found[-1] if found else None
        joined = _joined(last, chunk) if last is not None else None
        if joined is None:
            found.append(chunk)
        else:
            found[-1] = joined
    return found


def drawn_pieces(seed: int) -> Callable[[Chunks], list[ModelChunk]]:
    """A function that joins single characters to pieces whose lengths are drawn."""

    def reshape(chunks: Chunks) -> list[ModelChunk]:
        drawn = random.Random(seed)  # noqa: S311  (no secret is drawn)
        found: list[ModelChunk] = []
        left = 0
        for chunk in fine(chunks):
            joined = _joined(found[-1], chunk) if found and left else None
            left = left - 1 if joined is not None else drawn.randint(0, 9)
            found[-1:] = [joined] if joined is not None else [*found[-1:], chunk]
        return found

    return reshape


def _joined(one: ModelChunk, other: ModelChunk) -> ModelChunk | None:
    """Two pieces of one block as one piece; `None` if they are none."""
    if isinstance(one, StartChunk | FinishChunk | OpaqueChunk) or getattr(one, "index", -1) != getattr(
        other, "index", -2
    ):
        return None
    if isinstance(one, TextChunk) and isinstance(other, TextChunk):
        return TextChunk(index=one.index, text=one.text + other.text)
    if isinstance(one, ThinkingChunk) and isinstance(other, ThinkingChunk) and not one.signature:
        return msgspec.structs.replace(other, text=one.text + other.text)
    if isinstance(one, ToolCallChunk) and isinstance(other, ToolCallChunk):
        return msgspec.structs.replace(one, arguments=one.arguments + other.arguments)
    return None


def encoded(call: ModelCall) -> bytes:
    """The bytes of a streamed reply: the recorded ones, else those of the wire format, which differ from those of
    another run in ids and times alone. Empty if it was no stream.
    """
    if not call.request.stream or call.request.format not in CODECS:
        return b""
    if recorded := bytes_of(call.chunks):
        return recorded
    encoder = CODECS[call.request.format].encoder(call.request, STAMP)
    return b"".join([encoder.begin(), *_encoded(encoder, call)])


def _encoded(encoder: object, call: ModelCall) -> Iterator[bytes]:
    for chunk in call.chunks:
        if isinstance(chunk, FinishChunk):
            yield encoder.finish(chunk)  # type: ignore[attr-defined]
        elif not isinstance(chunk, StartChunk):
            yield encoder.chunk(chunk)  # type: ignore[attr-defined]


def _sent(delivery: ByteDelivery) -> Inject:
    """Bytes that are sent like this: on the wire, where the reply is a stream."""

    def inject(at: FaultPlace) -> dict[str, Injection]:
        data = encoded(at.call) if at.terms.wire else b""
        if not data or (delivery.pieces == "characters" and data.isascii()):
            return {}
        return {"": Injection(at.call.number, delivery=delivery)}

    return inject


def _coalesced(at: FaultPlace) -> Mapping[str, Injection]:
    if at.terms.wire:
        return _sent(ByteDelivery(pieces="whole"))(at)
    return {"": Injection(at.call.number, reshape=coalesced)}


def _drawn(at: FaultPlace) -> dict[str, Injection]:
    number, seeds = at.call.number, [at.drawn.getrandbits(32) for _ in range(DRAWN)]
    if not at.terms.wire:
        made = [Injection(number, reshape=drawn_pieces(seed)) for seed in seeds]
    elif encoded(at.call):
        made = [Injection(number, delivery=ByteDelivery(pieces="drawn", seed=seed)) for seed in seeds]
    else:
        made = []
    return {str(way): injection for way, injection in enumerate(made, 1)}


def _cut_at(at: FaultPlace) -> dict[str, Injection]:
    number, data = at.call.number, encoded(at.call)
    length = len(data) if at.terms.wire else len(content(fine(at.call.chunks)))
    places = range(1, length)
    if at.terms.cuts is not None and at.terms.cuts < len(places):
        places = sorted(at.drawn.sample(places, at.terms.cuts))  # type: ignore[assignment]
    if at.terms.wire:
        unit = f"of {length} bytes"
        made = {place: Injection(number, delivery=ByteDelivery(cut=place), remark=unit) for place in places}
    else:
        unit = f"of {length} characters"
        made = {
            place: Injection(number, ReplyFault(type="cut", after=place), reshape=fine, remark=unit)
            for place in places
        }
    return {str(place): injection for place, injection in made.items()}


SPLIT: Final = ByteDelivery(pieces="characters")
STREAM_KINDS: Final = (
    FaultKind("coalesced", "the whole stream in one piece", _coalesced, one_stream=True),
    FaultKind("pieces", "pieces whose lengths are drawn", _drawn, one_stream=True),
    FaultKind(
        "utf-8",
        "cut inside of each character of several bytes",
        _sent(SPLIT),
        one_stream=True,
    ),
    FaultKind("crlf", "lines end with CR LF", _sent(ByteDelivery(line_end="\r\n")), one_stream=True),
    FaultKind("comments", "comments between the events", _sent(ByteDelivery(comments=True)), one_stream=True),
    FaultKind("cut-at", "cut at this place", _cut_at, one_stream=True),
)
