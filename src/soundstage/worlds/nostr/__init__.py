"""A Nostr relay for tests, on loopback for real clients and in process for apps on virtual time.

`NostrRelay` is the world with its test side; `VirtualNostrRelay` has the same test side and no socket. Both check
signatures with nostr-sdk: install `soundstage[nostr]`.
"""

from soundstage.worlds.nostr._events import (
    NostrAnswered,
    NostrAuthenticated,
    NostrConnectionChanged,
    NostrEventReceived,
    NostrEventRefused,
    NostrEventSent,
    NostrFaultChanged,
    NostrMessageRefused,
    NostrSubscriptionChanged,
)
from soundstage.worlds.nostr._record import NostrEvent
from soundstage.worlds.nostr._relay import NostrRelay
from soundstage.worlds.nostr._user import NostrUser
from soundstage.worlds.nostr._virtual import (
    NostrConnection,
    NostrStream,
    Published,
    SubscriptionRefused,
    VirtualNostrRelay,
)

__all__ = [
    "NostrAnswered",
    "NostrAuthenticated",
    "NostrConnection",
    "NostrConnectionChanged",
    "NostrEvent",
    "NostrEventReceived",
    "NostrEventRefused",
    "NostrEventSent",
    "NostrFaultChanged",
    "NostrMessageRefused",
    "NostrRelay",
    "NostrStream",
    "NostrSubscriptionChanged",
    "NostrUser",
    "Published",
    "SubscriptionRefused",
    "VirtualNostrRelay",
]
