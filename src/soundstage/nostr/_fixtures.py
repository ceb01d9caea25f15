"""The fixture of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.nostr import NostrRelay


@pytest.fixture
def nostr_relay(stage: Setup) -> NostrRelay:
    """A Nostr relay on loopback, for asynchronous tests: `.url`, `.user("ann")`, `await .expect(..)`."""
    from soundstage.nostr import NostrRelay

    return stage.add(NostrRelay)
