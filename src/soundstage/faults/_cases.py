"""Cases of faults, and what they are made of. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from soundstage.faults._calls import ModelCall
from soundstage.messages import (
    ByteDelivery,
    FinishChunk,
    ModelChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from soundstage.models import ErrorSpec, ReplyFault

Chunks = Sequence[ModelChunk]
Reshape = Callable[[Chunks], list[ModelChunk]]


class Terms(NamedTuple):
    """The delays of a sweep, in seconds, and how far it goes.

    Args:
        retry_after: for the header `retry-after`; apps really wait for it on the machine's time.
        pause: between the pieces of a slow reply.
        wire: whether bytes are sent, and time is the machine's.
        patience: the longest that we wait for a client's own timeout, on the wire.
        cuts: at how many places of one stream it is cut; at every one, if `None`.
    """

    retry_after: float = 30.0
    pause: float = 1.0
    wire: bool = False
    patience: float = math.inf
    cuts: int | None = None


class Injection(NamedTuple):
    """A thing that happens to one call.

    Args:
        call: its number in the good run.
        fault: an error in the place of the reply, or what happens on the way.
        reshape: how the chunks of the reply are cut, before the fault is counted in them.
        pause: seconds before each piece.
        lasting: whether every later call gets it too.
        delivery: how the bytes of the reply go over the wire, where that is not as usual.
        remark: what the table has to say of it.
    """

    call: int
    fault: ErrorSpec | ReplyFault | None = None
    reshape: Reshape = list
    pause: float = 0.0
    lasting: bool = False
    delivery: ByteDelivery | None = None
    remark: str = ""


class FaultPlace(NamedTuple):
    """A place for a fault: a call of the good run, the delays of the sweep, and where what is drawn comes from."""

    call: ModelCall
    terms: Terms
    drawn: random.Random


Inject = Callable[[FaultPlace], Mapping[str, Injection]]
"""Injections, each with what tells it from others of its kind; none where the kind does not apply."""


class FaultKind(NamedTuple):
    """A kind of fault: what happens, how its cases are made, and whether one stream of the run is enough for it."""

    name: str
    meaning: str
    inject: Inject
    one_stream: bool = False


class FaultCase(NamedTuple):
    """One run of a sweep: `2:cut-tool` is the second call of the good run, cut inside of a tool argument."""

    id: str
    kind: str
    seed: int
    injection: Injection


def bytes_of(chunks: Chunks) -> bytes:
    """The recorded bytes of a reply; empty if there are none."""
    first = chunks[0] if chunks else None
    return first.delivery.body if isinstance(first, StartChunk) and first.delivery is not None else b""


def fine(chunks: Chunks) -> list[ModelChunk]:
    """The chunks in pieces of one character."""
    return [piece for chunk in chunks for piece in _characters(chunk)]


def _characters(chunk: ModelChunk) -> Iterator[ModelChunk]:
    replace = msgspec.structs.replace
    if isinstance(chunk, TextChunk) or (isinstance(chunk, ThinkingChunk) and not chunk.signature):
        yield from (replace(chunk, text=one) for one in chunk.text)
    elif isinstance(chunk, ToolCallChunk) and chunk.arguments:
        yield replace(chunk, arguments=chunk.arguments[0])
        yield from (ToolCallChunk(index=chunk.index, arguments=one) for one in chunk.arguments[1:])
    else:
        yield chunk


def content(chunks: Chunks) -> list[ModelChunk]:
    """The chunks without the start and the end."""
    return [chunk for chunk in chunks if not isinstance(chunk, StartChunk | FinishChunk)]
