"""Answers on a tape as chunks, and as bytes: read from their frames, or encoded anew where somebody has edited them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from soundstage.errors import ConnectionCut, ModelError, ProviderError
from soundstage.live import AnswerReader
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, ModelResponse, respond
from soundstage.tapes._exchange import (
    RecordedExchange,
    RecordedFailure,
    TimedChunk,
    chunks_of,
    failure_of,
    finish_of,
)
from soundstage.tapes._frames import Frames, digest, pack
from soundstage.wire import CODECS, AnswerStamp

_STAMP_CREATED = 1_700_000_000


def chunks_in(format: str, frames: Frames) -> tuple[TimedChunk, ...]:  # noqa: A002
    """The chunks in the frames of an answer, each with the time of the frame that completed it."""
    found: list[TimedChunk] = []
    reader = AnswerReader(format, status=frames.status, headers=frames.headers)
    at = 0.0
    try:
        for at, piece in frames.pieces():
            found += [TimedChunk(at_ms=at, chunk=chunk) for chunk in reader.feed(piece)]
        found += [TimedChunk(at_ms=at, chunk=chunk) for chunk in reader.end()]
    except ModelError:
        pass  # the exchange's `failure` says it
    return tuple(found)


def pieces_of(exchange: RecordedExchange) -> list[TimedChunk]:
    """The reply as it is played in process: as it came, or in one piece a block where the response was edited."""
    response = exchange.response
    if response is None:
        return []
    came = [timed for timed in _came(exchange) if not isinstance(timed.chunk, FinishChunk)]
    if not came or respond([timed.chunk for timed in came]).parts != response.parts:
        first = came[0].at_ms if came else exchange.latency_ms
        came = [TimedChunk(at_ms=first, chunk=chunk) for chunk in chunks_of(response)]
    if exchange.failure is None:
        came.append(TimedChunk(at_ms=exchange.latency_ms, chunk=finish_of(response)))
    return came


def _came(exchange: RecordedExchange) -> tuple[TimedChunk, ...]:
    if exchange.frames is None or exchange.request is None or exchange.edited:
        return exchange.chunks
    return chunks_in(exchange.request.format, exchange.frames)


class AnswerParts:
    """Reads an answer while it passes: what it comes to, and how it failed.

    Args:
        format: of the answer.
        status: its HTTP status.
        headers: of the answer.
    """

    def __init__(self, format: str, status: int, headers: dict[str, str]) -> None:  # noqa: A002
        self._reader = AnswerReader(format, status=status, headers=headers)
        self.chunks: list[ModelChunk] = []
        self.failure: RecordedFailure | None = None

    def feed(self, piece: bytes) -> None:
        """Read some bytes."""
        if self.failure is not None:
            return
        try:
            self.chunks += self._reader.feed(piece)
        except ModelError as error:
            self.failure = failure_of(error)

    def end(self) -> None:
        """Read what is known only at the end."""
        if self.failure is not None:
            return
        try:
            self.chunks += self._reader.end()
        except (ProviderError, ConnectionCut) as error:
            self.failure = failure_of(error)


def frames_of(exchange: RecordedExchange) -> Frames:
    """The frames to send for an exchange: as recorded, or made anew if its response was edited or has none."""
    if exchange.frames is not None and not exchange.edited:
        return exchange.frames
    return frames_made_anew(exchange)


def frames_made_anew(exchange: RecordedExchange) -> Frames:
    """The frames of an exchange, encoded from its response."""
    request, response = exchange.request, exchange.response
    assert request is not None
    if response is None or (exchange.failure is not None and exchange.failure.type == "error"):
        return _fault(exchange, request)
    return _encoded(exchange, request, response)


def _encoded(exchange: RecordedExchange, request: ModelRequest, response: ModelResponse) -> Frames:
    codec = CODECS[request.format]
    stamp = _stamp(exchange)
    first = exchange.frames.at_ms[0] if exchange.frames is not None and exchange.frames.at_ms else 0.0
    if not request.stream:
        body = codec.encode(response, request, stamp)
        return pack(
            200, {"content-type": "application/json", **response.headers}, [(exchange.latency_ms, body)]
        )
    encoder = codec.encoder(request, stamp)
    kind = str(getattr(encoder, "stream_type", codec.stream_type))
    pieces = [(first, encoder.begin()), *((first, encoder.chunk(chunk)) for chunk in chunks_of(response))]
    if exchange.failure is None:
        pieces.append((exchange.latency_ms, encoder.finish(finish_of(response))))
    cut = exchange.failure is not None
    return pack(200, {"content-type": kind, **response.headers}, pieces, cut=cut)


def _fault(exchange: RecordedExchange, request: ModelRequest) -> Frames:
    failure = exchange.failure or RecordedFailure(type="cut")
    if failure.type != "error":
        return Frames(cut=True)
    error = ProviderError(
        failure.message, status=failure.status, kind=failure.kind, headers=failure.headers, code=failure.code
    )
    fault = CODECS[request.format].fault(error, _stamp(exchange))
    return pack(fault.status, fault.headers, [(exchange.latency_ms, fault.body)])


def _stamp(exchange: RecordedExchange) -> AnswerStamp:
    """An id of its own for each exchange, the same in each replay."""
    return AnswerStamp(f"tape{exchange.number:020d}", _STAMP_CREATED)


def timed_frames(frames: Frames, format: str) -> Iterator[tuple[float, bytes, list[ModelChunk]]]:  # noqa: A002
    """Each piece with its time, and the chunks that it completes; the last ones come with the last piece."""
    parts = AnswerParts(format, frames.status, frames.headers)
    pieces = frames.pieces()
    for place, (at, piece) in enumerate(pieces):
        before = len(parts.chunks)
        parts.feed(piece)
        if place == len(pieces) - 1 and not frames.cut:
            parts.end()
        yield at, piece, [chunk for chunk in parts.chunks[before:] if not isinstance(chunk, FinishChunk)]


def with_response(plain: RecordedExchange) -> RecordedExchange:
    """An exchange with a model that has frames alone, with what they come to."""
    frames, asked = plain.frames, plain.request
    assert frames is not None
    assert asked is not None
    parts = AnswerParts(asked.format, frames.status, frames.headers)
    for _, piece in frames.pieces():
        parts.feed(piece)
    parts.end()
    response = respond(parts.chunks) if parts.chunks else None
    frames = msgspec.structs.replace(frames, of=digest(response))
    return msgspec.structs.replace(plain, response=response, failure=parts.failure, frames=frames)
