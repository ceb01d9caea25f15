"""Keys and signatures, by nostr-sdk (the extra `nostr`), which is loaded when the first one is needed."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.nostr._record import NostrEvent, UnsignedEvent

_encode = msgspec.json.Encoder().encode


def need_library() -> Any:
    """nostr-sdk.

    Raises:
        EnvironmentProblem: if it is not installed.
    """
    try:
        import nostr_sdk
    except ImportError as error:
        raise EnvironmentProblem(
            "a Nostr relay needs nostr-sdk, which checks signatures",
            seen=str(error),
            hint="install soundstage[nostr]",
        ) from None
    return nostr_sdk


def forged(event: NostrEvent) -> str:
    """Why an event is not what its author signed; empty if it is."""
    nostr_sdk = need_library()
    read = nostr_sdk.Event.from_json(_encode(event).decode())
    if not read.verify_id():
        return "the id is not the hash of the event"
    return "" if read.verify_signature() else "the signature does not fit the event and its author"


def public_key(text: str) -> str:
    """A public key as 64 hexadecimal digits, from those or from `npub1...`.

    Raises:
        ScriptError: if it is neither.
    """
    nostr_sdk = need_library()
    try:
        key: str = nostr_sdk.PublicKey.parse(text).to_hex()
    except nostr_sdk.NostrSdkError as error:
        raise ScriptError(
            "this is no public key", expected="64 hexadecimal digits, or npub1...", seen=f"{text!r} ({error})"
        ) from None
    return key


class Keys:
    """A pair of keys that repeats with the seed and the name.

    Args:
        seed: of the run.
        name: whose keys.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.secret = hashlib.sha256(f"soundstage nostr {seed} {name}".encode()).hexdigest()
        self.public: str = need_library().Keys.parse(self.secret).public_key().to_hex()

    def sign(self, unsigned: UnsignedEvent) -> NostrEvent:
        """The event, with id and signature. The id repeats, the signature differs from run to run."""
        nostr_sdk = need_library()
        fields = {"pubkey": self.public, **msgspec.to_builtins(unsigned)}
        read = nostr_sdk.UnsignedEvent.from_json(_encode(fields).decode())
        return msgspec.json.decode(
            nostr_sdk.Keys.parse(self.secret).sign_event(read).as_json(), type=NostrEvent
        )
