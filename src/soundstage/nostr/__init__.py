"""A Nostr relay for tests, on loopback for real clients and in process for apps on virtual time.

`NostrRelay` is the world with its test side; `VirtualNostrRelay` has the same test side and no socket. Both check
signatures with nostr-sdk: install `soundstage[nostr]`.
"""

from soundstage.wings import lazy_window

__getattr__, __dir__, __all__ = lazy_window(__name__, __file__, extra="soundstage[nostr]")
