"""The kinds of faults: one table, from which cases are made. Pure.

A kind looks at one call of the good run and says what is to happen to it, or that it does not apply: there is no
argument of a tool to cut in a reply without tools. What is drawn (where a reply is cut) comes from a seed of the case,
so that a case is the same again, whatever else is swept.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from soundstage.errors import UnknownNameError, did_you_mean
from soundstage.faults._calls import ModelCall
from soundstage.faults._cases import (
    Chunks,
    FaultCase,
    FaultKind,
    FaultPlace,
    Inject,
    Injection,
    Terms,
    bytes_of,
    content,
    fine,
)
from soundstage.faults._stream_kinds import STREAM_KINDS
from soundstage.live import AnswerReader
from soundstage.messages import ByteDelivery, FinishChunk, ModelChunk, StartChunk, TextChunk, ToolCallChunk
from soundstage.models import ErrorSpec, ReplyFault


def emptied(chunks: Chunks) -> list[ModelChunk]:
    """The end of a reply without its content."""
    return [
        msgspec.structs.replace(chunk, finish="stop") if isinstance(chunk, FinishChunk) else chunk
        for chunk in chunks
        if isinstance(chunk, StartChunk | FinishChunk)
    ]


def _error(spec: ErrorSpec, *, lasting: bool = False) -> Inject:
    return lambda at: {"": Injection(at.call.number, spec, lasting=lasting)}


def _on_the_way(fault: ReplyFault) -> Inject:
    return lambda at: {"": Injection(at.call.number, fault)}


def _rate_limited(at: FaultPlace) -> dict[str, Injection]:
    asked = at.terms.retry_after
    spec = ErrorSpec(status=429, message=BUSY, retry_after=asked)
    return {"": Injection(at.call.number, spec, remark=f"retry-after: {asked:g} s")}


def _inside(kind: type[ModelChunk]) -> Callable[[ModelCall], list[int]]:
    """A function that lists the places in the second half of each block of a kind, without its end."""

    def places(call: ModelCall) -> list[int]:
        found: dict[int, list[int]] = {}
        for place, chunk in enumerate(content(fine(call.chunks))):
            if isinstance(chunk, kind):
                found.setdefault(chunk.index, []).append(place)  # type: ignore[union-attr]
        return [place for block in found.values() for place in block[max(len(block) // 2, 1) :]]

    return places


def _cut(places: Callable[[ModelCall], list[int]]) -> Inject:
    def inject(at: FaultPlace) -> dict[str, Injection]:
        found = places(at.call)
        if not found:
            return {}
        after = at.drawn.choice(found)
        if at.terms.wire and at.call.request.stream and (data := bytes_of(at.call.chunks)):
            place = _place_in(data, at.call, after)
            cut = ByteDelivery(cut=place)
            return {"": Injection(at.call.number, delivery=cut, remark=f"after {place} of {len(data)} bytes")}
        remark = f"after {after} of {len(content(fine(at.call.chunks)))} characters"
        return {
            "": Injection(at.call.number, ReplyFault(type="cut", after=after), reshape=fine, remark=remark)
        }

    return inject


def _place_in(data: bytes, call: ModelCall, after: int) -> int:
    """The byte of a recorded answer in the middle of the event that brings its character `after`."""
    reader, seen = AnswerReader(call.request.format), 0
    for event in _EVENTS.finditer(data):
        seen += len(content(fine(reader.feed(event[0]))))
        if seen >= after:
            return (event.start() + event.end()) // 2
    return len(data) // 2


def _stall(at: FaultPlace) -> dict[str, Injection]:
    """A stall; where the client says that it would wait for longer than we do, the connection is closed instead."""
    own = _own_timeout(at.call) if at.terms.wire else 0.0
    if own <= at.terms.patience:
        return {"": Injection(at.call.number, ReplyFault(type="stall"))}
    remark = f"closed at once, in the place of the client's own timeout of {own:g} s"
    closed = ByteDelivery(dropped=True)
    return {"": Injection(at.call.number, ReplyFault(type="cut"), delivery=closed, remark=remark)}


def _own_timeout(call: ModelCall) -> float:
    """The seconds that the client waits, if it says so in its headers, as the official SDKs do."""
    headers = call.request.caller.headers
    for name in TIMEOUTS:
        with contextlib.suppress(KeyError, ValueError):
            return float(headers[name])
    return 0.0


def _garbled(at: FaultPlace) -> dict[str, Injection]:
    after = at.drawn.randint(0, len(content(at.call.chunks)))
    return {"": Injection(at.call.number, ReplyFault(type="garbled", after=after))}


def _empty(at: FaultPlace) -> dict[str, Injection]:
    return {"": Injection(at.call.number, reshape=emptied)}


def _slow(at: FaultPlace) -> dict[str, Injection]:
    count, pause = len(content(fine(at.call.chunks))), at.terms.pause
    if at.terms.wire:
        remark = "every byte alone, the pauses were left out"
        return {"": Injection(at.call.number, delivery=ByteDelivery(pieces="bytes"), remark=remark)}
    remark = f"{count} pieces of one character, {count * pause:g} s"
    return {"": Injection(at.call.number, reshape=fine, pause=pause, remark=remark)}


_EVENTS: Final = re.compile(rb".+?(?:(?:\r?\n){2}|$)", re.DOTALL)
TIMEOUTS: Final = ("x-stainless-read-timeout", "x-stainless-timeout")  # seconds
BUSY: Final = "rate limit exceeded, injected by a sweep"
OVERLOADED: Final = ErrorSpec(status=529, type="overloaded_error", message="overloaded, injected by a sweep")
BROKEN: Final = ErrorSpec(status=500, message="internal error, injected by a sweep")

KINDS: Final = {
    kind.name: kind
    for kind in (
        FaultKind("429", "rate limit, without `retry-after`", _error(ErrorSpec(status=429, message=BUSY))),
        FaultKind("429-retry-after", "rate limit, with `retry-after`", _rate_limited),
        FaultKind("500", "an internal error", _error(BROKEN)),
        FaultKind("529", "the provider is overloaded", _error(OVERLOADED)),
        FaultKind("outage", "this call and all later ones get 529", _error(OVERLOADED, lasting=True)),
        FaultKind("stall", "no first token ever comes", _stall),
        FaultKind("cut-start", "cut before the first token", _on_the_way(ReplyFault(type="cut"))),
        FaultKind("cut-text", "cut inside of the text", _cut(_inside(TextChunk))),
        FaultKind("cut-tool", "cut inside of a tool argument", _cut(_inside(ToolCallChunk))),
        FaultKind("garbled", "bytes that no format allows", _garbled),
        FaultKind("empty", "a reply without content", _empty),
        FaultKind("slow", "each character comes alone", _slow),
        *STREAM_KINDS,
    )
}


def kinds_named(names: Sequence[str]) -> list[FaultKind]:
    """The kinds of these names; all, if none is given.

    Raises:
        UnknownNameError: for a name that there is not.
    """
    for name in names:
        if name not in KINDS:
            raise UnknownNameError(
                f"there is no kind of fault {name!r}",
                expected=", ".join(KINDS),
                hint=did_you_mean(name, KINDS),
            )
    return [KINDS[name] for name in names] if names else list(KINDS.values())


def cases_of(
    calls: Sequence[ModelCall], kinds: Sequence[FaultKind], terms: Terms, seed: int
) -> list[FaultCase]:
    """The cases of each call, kind by kind; those of one stream follow, on the longest reply that a kind applies to."""
    found = [
        case
        for call in calls
        for kind in kinds
        if not kind.one_stream
        for case in _cases(call, kind, terms, seed)
    ]
    longest = sorted(calls, key=lambda call: -len(content(fine(call.chunks))))
    for kind in kinds:
        if kind.one_stream:
            made = (list(_cases(call, kind, terms, seed)) for call in longest)
            found += next(filter(None, made), [])
    return found


def _cases(call: ModelCall, kind: FaultKind, terms: Terms, seed: int) -> Iterator[FaultCase]:
    name = f"{call.number}:{kind.name}"
    drawn = random.Random(f"{seed}/{name}")  # noqa: S311  (no secret is drawn)
    for at, injection in kind.inject(FaultPlace(call, terms, drawn)).items():
        yield FaultCase(f"{name}@{at}" if at else name, kind.name, seed, injection)
