"""Read the messages of clients: text of a WebSocket message in, a command out. Pure.

A message that is none comes out as `Unreadable`, which says how NIP-01 answers it: an `EVENT` that names its id
with `OK`, a `REQ` or `COUNT` that names a subscription with `CLOSED`, everything else with `NOTICE`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage.nostr._filters import Filter, FilterProblem, read_filter
from soundstage.nostr._record import NostrEvent, read_event

MAX_SUBSCRIPTION_ID: Final = 64


class Publish(NamedTuple):
    """`EVENT`."""

    event: NostrEvent


class Authenticate(NamedTuple):
    """`AUTH`, of NIP-42."""

    event: NostrEvent


class Subscribe(NamedTuple):
    """`REQ`, with the filters as they were written too."""

    subscription: str
    filters: tuple[Filter, ...]
    written: tuple[dict[str, Any], ...]


class Count(NamedTuple):
    """`COUNT`, of NIP-45."""

    subscription: str
    filters: tuple[Filter, ...]


class Unsubscribe(NamedTuple):
    """`CLOSE`."""

    subscription: str


class Unreadable(NamedTuple):
    """No command. `subject` is the id of the event or subscription that the answer names."""

    answer: Literal["NOTICE", "OK", "CLOSED"]
    reason: str
    subject: str = ""


Command = Publish | Authenticate | Subscribe | Count | Unsubscribe | Unreadable


def read_command(data: str | bytes, limit: int) -> Command:
    """The command in a message.

    Args:
        data: as it came.
        limit: the most characters that a message may have.
    """
    if isinstance(data, bytes):
        return Unreadable("NOTICE", "invalid: a message is text, and this one is binary")
    try:
        message = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        return Unreadable("NOTICE", f"invalid: this is not JSON: {error}")
    if not isinstance(message, list) or not message or not isinstance(message[0], str):
        return Unreadable("NOTICE", "invalid: a message is an array that begins with a command")
    name, *rest = message
    if name not in READERS:
        return Unreadable(
            "NOTICE", f"unsupported: unknown command {name[:40]!r}, not one of {', '.join(READERS)}"
        )
    if len(data) > limit:
        return _refused(
            name, rest, f"invalid: the message has {len(data)} characters, at most {limit} are taken"
        )
    return READERS[name](name, rest)


def _refused(name: str, rest: list[Any], reason: str) -> Unreadable:
    """A refusal that names what it is about, as far as the message says that."""
    first = rest[0] if rest else None
    if name in _OF_EVENTS and isinstance(first, dict) and isinstance(first.get("id"), str):
        return Unreadable("OK", reason, first["id"])
    if name in _OF_FILTERS and isinstance(first, str) and first:
        return Unreadable("CLOSED", reason, first)
    return Unreadable("NOTICE", reason)


def _event(name: str, rest: list[Any]) -> Command:
    if len(rest) != 1:
        return _refused(name, rest, f"invalid: {name} takes one event, this one has {len(rest)} arguments")
    try:
        event = read_event(rest[0])
    except ValueError as problem:
        return _refused(name, rest, f"invalid: in an event: {problem}")
    return _OF_EVENTS[name](event)


def _query(name: str, rest: list[Any]) -> Command:
    if problem := _unfit(name, rest):
        return _refused(name, rest, problem)
    if len(rest) < 2:
        return _refused(name, rest, f"invalid: {name} takes a subscription id and at least one filter")
    try:
        filters = tuple(read_filter(value) for value in rest[1:])
    except FilterProblem as problem:
        return _refused(name, rest, str(problem))
    return Subscribe(rest[0], filters, tuple(rest[1:])) if name == "REQ" else Count(rest[0], filters)


def _close(name: str, rest: list[Any]) -> Command:
    problem = _unfit(name, rest)
    return Unreadable("NOTICE", problem) if problem else Unsubscribe(rest[0])


def _unfit(name: str, rest: list[Any]) -> str:
    """Why the first argument is no id of a subscription, if so."""
    first = rest[0] if rest else None
    if not isinstance(first, str) or not first:
        return f"invalid: {name} takes a subscription id, a text that is not empty"
    if len(first) > MAX_SUBSCRIPTION_ID:
        return f"invalid: the subscription id has {len(first)} characters, at most {MAX_SUBSCRIPTION_ID} are allowed"
    return ""


_OF_EVENTS: Final[dict[str, Callable[[NostrEvent], Command]]] = {"EVENT": Publish, "AUTH": Authenticate}
_OF_FILTERS: Final = frozenset({"REQ", "COUNT"})
READERS: Final[dict[str, Callable[[str, list[Any]], Command]]] = {
    "EVENT": _event,
    "REQ": _query,
    "CLOSE": _close,
    "COUNT": _query,
    "AUTH": _event,
}
