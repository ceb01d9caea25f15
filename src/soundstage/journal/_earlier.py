"""Requests in a file: what an earlier request of the file holds is referred to, not repeated.

A line of a request may say `earlier`: by position and checksum the line of a request before it, and which of that one's
messages come where among its own; whether tools and settings are the same; which headers are not repeated. What that
line itself refers to is resolved first, so a chain of lines leads back to one that is whole.

A line that is lost costs those that refer to it, directly or through others. So the whole is written again as soon as
the lines since the last whole one have together twice its length: the damage ends there, and a file has at most about
three times the bytes that are new in it. The checksum is that of the line as it is on disk, after redaction: a line
that has been damaged but can still be read is not taken for what was written, and in files that were joined, where
positions repeat, it tells lines apart.

A writer refers only to what it has written itself. It finds the request with which most messages are shared by the
identity of the messages: the journal keeps one object for equal ones (`_requests`).
"""

from __future__ import annotations

import contextlib
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from operator import is_
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.journal._events import ModelRequested, Record
from soundstage.journal._requests import Checks
from soundstage.messages import Message, ModelRequest

REPEATED: Final = 2  # lines that refer may have so many times the bytes of the whole one
ADDED: Final = 4  # messages that a request adds to the one before, if no other is looked for
MOST: Final = 20_000  # messages that a writer knows; then it begins anew

_encode: Final = msgspec.json.Encoder().encode
_encode_lines: Final = msgspec.json.Encoder().encode_lines


class Earlier(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts that a request takes from an earlier one.

    Args:
        position: of the earlier request.
        check: the CRC-32 of its line, without line end.
        messages: how they are put together, as triples: so many from this place (counted from 0) of the earlier ones,
            then so many of its own.
        tools: the same tools.
        settings: the same settings.
        headers: the earlier ones, and its own instead or besides.
    """

    position: int
    check: int
    messages: tuple[tuple[int, int, int], ...] = ()
    tools: bool = False
    settings: bool = False
    headers: bool = False


class ReferringLine(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a request, as a line that refers to another."""

    position: int
    time: float
    run: str
    source: str
    cause: int | None
    earlier: Earlier
    event: ModelRequested
    v: int = 1


def difference(base: ModelRequest, request: ModelRequest) -> tuple[dict[str, Any], ModelRequest]:
    """The parts of `base` in `request`, as fields of `Earlier`, and the rest of `request`."""
    same: dict[str, Any] = {}
    left: dict[str, Any] = {}
    segments = list(_segments(base.messages, request.messages))
    if any(count for _, count, _ in segments):
        same["messages"] = tuple([(start, count, len(own)) for start, count, own in segments])
        left["messages"] = tuple([message for _, _, own in segments for message in own])
    if request.tools and request.tools is base.tools:
        same["tools"], left["tools"] = True, ()
    if request.settings and _encode(request.settings) == _encode(base.settings):
        same["settings"], left["settings"] = True, {}
    before, headers = base.caller.headers, request.caller.headers
    if before:
        own = {name: value for name, value in headers.items() if before.get(name) != value}
        if list(before | own) == list(headers):  # none is gone, and their order is the same
            same["headers"] = True
            left["caller"] = msgspec.structs.replace(request.caller, headers=own)
    return same, msgspec.structs.replace(request, **left)


def _segments(
    base: tuple[Message, ...], messages: tuple[Message, ...]
) -> Iterator[tuple[int, int, list[Message]]]:
    """(place in base, how many from there, own messages after them), in order."""
    if _begins(base, messages):
        yield 0, len(base), list(messages[len(base) :])
        return
    places = {id(message): place for place, message in reversed(list(enumerate(base)))}
    start = count = 0
    own: list[Message] = []
    for message in messages:
        following = start + count
        if not own and following < len(base) and base[following] is message:
            count += 1
        elif (place := _place(base, places, following, message)) is not None:
            if count or own:
                yield start, count, own
            start, count, own = place, 1, []
        else:
            own.append(message)
    yield start, count, own


def _begins(base: tuple[Message, ...], messages: tuple[Message, ...]) -> bool:
    """Whether `messages` are those of `base` and maybe more: mostly, an agent only adds to its conversation."""
    return base is messages or (len(base) <= len(messages) and all(map(is_, base, messages)))


def _place(base: tuple[Message, ...], places: dict[int, int], following: int, message: Message) -> int | None:
    """Where `message` is in `base`: at `following`, or after one that is left out, or anywhere."""
    for place in (following, following + 1):
        if place < len(base) and base[place] is message:
            return place
    return places.get(id(message))


def restored(base: ModelRequest, earlier: Earlier, left: ModelRequest) -> ModelRequest:
    """The request of which `difference` has left `left`.

    Raises:
        ValueError: if `base` has not what is taken from it.
    """
    found: dict[str, Any] = {}
    if earlier.messages:
        messages: list[Message] = []
        own = iter(left.messages)
        for start, count, more in earlier.messages:
            taken = base.messages[start : start + count] if start >= 0 else ()
            messages += taken
            messages += islice(own, more)
            if len(taken) != count:
                raise ValueError(f"the request at position {earlier.position} has not so many messages")
        if sum(count + more for _, count, more in earlier.messages) != len(messages) or next(own, None):
            raise ValueError("its own messages are not as many as it says")
        found["messages"] = tuple(messages)
    if earlier.tools:
        found["tools"] = base.tools
    if earlier.settings:
        found["settings"] = base.settings
    if earlier.headers:
        headers = base.caller.headers | left.caller.headers
        found["caller"] = msgspec.structs.replace(left.caller, headers=headers)
    return msgspec.structs.replace(left, **found)


class _Written(NamedTuple):
    """A request that is on file."""

    position: int
    check: int
    request: ModelRequest
    whole: int  # bytes of the whole line that its chain begins with
    since: int  # bytes of the lines that have referred since


def _adds_little(before: tuple[Message, ...], messages: tuple[Message, ...]) -> bool:
    return bool(before) and len(messages) - len(before) <= ADDED and _begins(before, messages)


class Writer:
    """Makes lines of requests, for one file. `line` is the offer, `written` tells what has become of it."""

    def __init__(self) -> None:
        self._by_message: dict[int, _Written] = {}  # the newest request with it, which also keeps it alive
        self._base: _Written | None = None  # of the line that is offered
        self._last: _Written | None = (
            None  # the newest one on file; `_by_message` has it once another follows
        )

    def line(self, record: Record) -> bytes | None:
        """A line that refers to an earlier one; `None` if this request is to be written whole."""
        event: ModelRequested = record.event  # type: ignore[assignment]
        self._base = base = self._nearest(event.request)
        if base is None or base.since >= REPEATED * base.whole:
            self._base = None
            return None
        same, left = difference(base.request, event.request)
        return _encode_lines(
            [
                ReferringLine(
                    position=record.position,
                    time=record.time,
                    run=record.run,
                    source=record.source,
                    cause=record.cause,
                    earlier=Earlier(position=base.position, check=base.check, **same),
                    event=ModelRequested(request=left, model_kind=event.model_kind),
                    v=record.v,
                )
            ]
        )

    def _nearest(self, request: ModelRequest) -> _Written | None:
        """The request with the most messages of this one; of several, that with the latest."""
        if type(request.messages) is not tuple:
            return None
        if self._last is not None:
            if _adds_little(self._last.request.messages, request.messages):
                return self._last  # and all its messages will be those of the new one
            self._by_message.update(dict.fromkeys(map(id, self._last.request.messages), self._last))
        holders = map(self._by_message.get, map(id, reversed(request.messages)))
        found = Counter(id(holder) for holder in holders if holder is not None)
        if not found:
            return None
        [(nearest, _)] = found.most_common(1)
        return next(
            holder
            for message in request.messages
            if (holder := self._by_message.get(id(message))) is not None and id(holder) == nearest
        )

    def written(self, record: Record, line: bytes, *, whole: bool) -> None:
        """The line of a request is on file."""
        request = record.event.request  # type: ignore[attr-defined]
        if type(request.messages) is not tuple:
            return
        base, length = self._base, len(line)
        if whole or base is None:
            now = _Written(record.position, checksum(line), request, length, 0)
        else:
            now = _Written(record.position, checksum(line), request, base.whole, base.since + length)
        if len(self._by_message) > MOST:
            self._by_message.clear()
        self._last = now


class Reader:
    """Puts requests together again, for one file, in the order of its lines."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], ModelRequest] = {}
        self._shared = Checks()

    def whole(self, record: Record, earlier: Earlier | None, line: bytes) -> Record:
        """The record with all that its request holds.

        Raises:
            ValueError: if it refers to a line that is not there, or not as it was.
        """
        event = record.event
        if type(event) is not ModelRequested:
            return record
        if earlier is not None:
            base = self._found.get((earlier.position, earlier.check))
            if base is None:
                raise ValueError(
                    f"it refers to the request at position {earlier.position}, which is lost or has changed"
                )
            event = msgspec.structs.replace(event, request=restored(base, earlier, event.request))
        with contextlib.suppress(TypeError):  # what can be read need not be what a journal takes today
            self._shared.refuse_unreadable(event)
        self._found[record.position, checksum(line)] = event.request
        return msgspec.structs.replace(record, event=event)


def checksum(line: bytes) -> int:
    """The CRC-32 of a line without its end."""
    return zlib.crc32(line.removesuffix(b"\n"))
