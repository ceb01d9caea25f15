"""The kinds of faults: one table, from which cases are made. Pure.

A kind looks at one call of the good run and says what is to happen to it, or that it does not apply: there is no
argument of a tool to cut in a reply without tools. What is drawn (where a reply is cut) comes from a seed of the case,
so that a case is the same again, whatever else is swept.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from soundstage.errors import UnknownNameError, did_you_mean
from soundstage.faults._calls import ModelCall
from soundstage.messages import (
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
    """The delays of a sweep, in seconds.

    Args:
        retry_after: for the header `retry-after`; apps really wait for it on the machine's time.
        pause: between the pieces of a slow reply.
        patience: the longest that we wait for a client's own timeout; `None` on virtual time, where waits take none.
    """

    retry_after: float = 30.0
    pause: float = 1.0
    patience: float | None = None


class Injection(NamedTuple):
    """A thing that happens to one call.

    Args:
        call: its number in the good run.
        fault: an error in the place of the reply, or what happens on the way.
        reshape: how the chunks of the reply are cut, before the fault is counted in them.
        pause: seconds before each piece.
        lasting: whether every later call gets it too.
        remark: what the table has to say of it.
    """

    call: int
    fault: ErrorSpec | ReplyFault | None = None
    reshape: Reshape = list
    pause: float = 0.0
    lasting: bool = False
    remark: str = ""


class FaultPlace(NamedTuple):
    """A place for a fault: a call of the good run, the delays of the sweep, and where what is drawn comes from."""

    call: ModelCall
    terms: Terms
    drawn: random.Random


Inject = Callable[[FaultPlace], Injection | None]


class FaultKind(NamedTuple):
    """A kind of fault: what happens, and how a case of it is made. It gives nothing where it does not apply."""

    name: str
    meaning: str
    inject: Inject


class FaultCase(NamedTuple):
    """One run of a sweep: `2:cut-tool` is the second call of the good run, cut inside of a tool argument."""

    id: str
    kind: str
    seed: int
    injection: Injection


def fine(chunks: Chunks) -> list[ModelChunk]:
    """The chunks in pieces of one character."""
    return [piece for chunk in chunks for piece in _characters(chunk)]


def emptied(chunks: Chunks) -> list[ModelChunk]:
    """The end of a reply without its content."""
    return [
        msgspec.structs.replace(chunk, finish="stop") if isinstance(chunk, FinishChunk) else chunk
        for chunk in chunks
        if isinstance(chunk, StartChunk | FinishChunk)
    ]


def _characters(chunk: ModelChunk) -> Iterator[ModelChunk]:
    replace = msgspec.structs.replace
    if isinstance(chunk, TextChunk) or (isinstance(chunk, ThinkingChunk) and not chunk.signature):
        yield from (replace(chunk, text=one) for one in chunk.text)
    elif isinstance(chunk, ToolCallChunk) and chunk.arguments:
        yield replace(chunk, arguments=chunk.arguments[0])
        yield from (ToolCallChunk(index=chunk.index, arguments=one) for one in chunk.arguments[1:])
    else:
        yield chunk


def _error(spec: ErrorSpec, *, lasting: bool = False) -> Inject:
    return lambda at: Injection(at.call.number, spec, lasting=lasting)


def _on_the_way(fault: ReplyFault) -> Inject:
    return lambda at: Injection(at.call.number, fault)


def _rate_limited(at: FaultPlace) -> Injection:
    asked = at.terms.retry_after
    spec = ErrorSpec(status=429, message=BUSY, retry_after=asked)
    return Injection(at.call.number, spec, remark=f"retry-after: {asked:g} s")


def _content(chunks: Chunks) -> list[ModelChunk]:
    return [chunk for chunk in chunks if not isinstance(chunk, StartChunk | FinishChunk)]


def _inside(kind: type[ModelChunk]) -> Callable[[ModelCall], list[int]]:
    """A function that lists the places in the second half of each block of a kind, without its end."""

    def places(call: ModelCall) -> list[int]:
        found: dict[int, list[int]] = {}
        for place, chunk in enumerate(_content(fine(call.chunks))):
            if isinstance(chunk, kind):
                found.setdefault(chunk.index, []).append(place)  # type: ignore[union-attr]
        return [place for block in found.values() for place in block[max(len(block) // 2, 1) :]]

    return places


def _cut(places: Callable[[ModelCall], list[int]]) -> Inject:
    def inject(at: FaultPlace) -> Injection | None:
        found = places(at.call)
        if not found:
            return None
        after = at.drawn.choice(found)
        remark = f"after {after} of {len(_content(fine(at.call.chunks)))} characters"
        return Injection(at.call.number, ReplyFault(type="cut", after=after), reshape=fine, remark=remark)

    return inject


def _garbled(at: FaultPlace) -> Injection:
    after = at.drawn.randint(0, len(_content(at.call.chunks)))
    return Injection(at.call.number, ReplyFault(type="garbled", after=after))


def _empty(at: FaultPlace) -> Injection:
    return Injection(at.call.number, reshape=emptied)


def _slow(at: FaultPlace) -> Injection:
    count, pause = len(_content(fine(at.call.chunks))), at.terms.pause
    took = f"{count * pause:g} s" if pause else "the pauses were left out"
    remark = f"{count} pieces of one character, {took}"
    return Injection(at.call.number, reshape=fine, pause=pause, remark=remark)


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
        FaultKind("stall", "no first token ever comes", _on_the_way(ReplyFault(type="stall"))),
        FaultKind("cut-start", "cut before the first token", _on_the_way(ReplyFault(type="cut"))),
        FaultKind("cut-text", "cut inside of the text", _cut(_inside(TextChunk))),
        FaultKind("cut-tool", "cut inside of a tool argument", _cut(_inside(ToolCallChunk))),
        FaultKind("garbled", "bytes that no format allows", _garbled),
        FaultKind("empty", "a reply without content", _empty),
        FaultKind("slow", "each character comes alone", _slow),
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
    """A case for each call and each kind that applies to it, in this order."""
    found: list[FaultCase] = []
    for call in calls:
        for kind in kinds:
            name = f"{call.number}:{kind.name}"
            drawn = random.Random(f"{seed}/{name}")  # noqa: S311  (no secret is drawn)
            injection = kind.inject(FaultPlace(call, terms, drawn))
            if injection is not None:
                found.append(FaultCase(name, kind.name, seed, injection))
    return found
