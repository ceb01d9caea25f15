"""The fixtures of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.discord import Discord, VirtualDiscordGateway
    from soundstage.host import Setup


@pytest.fixture
def discord(stage: Setup) -> Discord:
    """A Discord on loopback, for asynchronous tests: programs and bots of this test are pointed at it."""
    from soundstage.discord import Discord

    return stage.add(Discord)


@pytest.fixture
def virtual_discord(stage: Setup) -> VirtualDiscordGateway:
    """A Discord in process, for the apps of `run_app`: `await virtual_discord.user("ann").says("hello")`."""
    from soundstage.discord import VirtualDiscordGateway

    return stage.add(VirtualDiscordGateway)
