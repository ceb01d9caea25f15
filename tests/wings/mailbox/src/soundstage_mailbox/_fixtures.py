"""The fixture of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage_mailbox import Mailbox


@pytest.fixture
def mailbox(stage: Setup) -> Mailbox:
    """A mail box on loopback, for asynchronous tests: programs find it in `SMTP_HOST` and `SMTP_PORT`."""
    from soundstage_mailbox import Mailbox

    return stage.add(Mailbox)
