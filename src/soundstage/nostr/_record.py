"""A Nostr event as NIP-01 has it: its shape, and what its kind says about keeping it.

"Event" is two things here. `NostrEvent` is what clients sign and publish; the classes in `_events` are facts
of the journal about it.

Source: https://github.com/nostr-protocol/nips/blob/master/01.md
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

HEX_ID: Final = r"^[0-9a-f]{64}\Z"
DELETION_KIND: Final = 5  # NIP-09
AUTH_KIND: Final = 22242  # NIP-42: signed to authenticate, never published

Id = Annotated[str, msgspec.Meta(pattern=HEX_ID)]
Signature = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]
Kind = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Tag = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class NostrEvent(msgspec.Struct, frozen=True):
    """A signed event.

    Args:
        id: sha256 of the rest, 64 hexadecimal digits.
        pubkey: who signed it, 64 hexadecimal digits.
        created_at: seconds since 1970.
        kind: 0 to 65535.
        tags: each a name and what belongs to it.
        content: what it says.
        sig: the signature, 128 hexadecimal digits.
    """

    id: Id
    pubkey: Id
    created_at: Seconds
    kind: Kind
    tags: tuple[Tag, ...]
    content: str
    sig: Signature


class UnsignedEvent(msgspec.Struct, frozen=True):
    """An event before it is signed; the fields are those of `NostrEvent`."""

    created_at: int
    kind: int
    tags: tuple[tuple[str, ...], ...]
    content: str


def read_event(value: Any) -> NostrEvent:
    """The event in a piece of JSON.

    Raises:
        ValueError: if it has another shape; the message says where.
    """
    try:
        return msgspec.convert(value, NostrEvent)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def is_ephemeral(kind: int) -> bool:
    """Whether events of a kind are passed on and not kept."""
    return 20000 <= kind < 30000


def is_replaceable(kind: int) -> bool:
    """Whether only the newest event of an author and kind is kept."""
    return kind in (0, 3) or 10000 <= kind < 20000


def is_addressable(kind: int) -> bool:
    """Whether only the newest event of an author, kind and `d` tag is kept."""
    return 30000 <= kind < 40000


def address(event: NostrEvent) -> tuple[int, str, str] | None:
    """The key that an event shares with those that it replaces; `None` if it replaces nothing."""
    if is_replaceable(event.kind):
        return event.kind, event.pubkey, ""
    if is_addressable(event.kind):
        return event.kind, event.pubkey, next(iter(tag_values(event.tags, "d")), "")
    return None


def expiration(event: NostrEvent) -> int | None:
    """The second from which on an event is not there any more (NIP-40); `None` if it stays.

    Raises:
        ValueError: if its tag has no number of seconds.
    """
    written = next(iter(tag_values(event.tags, "expiration")), None)
    if written is None:
        return None
    if not written.isascii() or not written.isdigit():
        raise ValueError(f"the expiration tag has seconds since 1970, not {written[:40]!r}")
    return int(written)


def tag_values(tags: tuple[tuple[str, ...], ...], name: str) -> list[str]:
    """The values of all tags with a name; a tag without a value has an empty one."""
    return [tag[1] if len(tag) > 1 else "" for tag in tags if tag[0] == name]
