"""The narrow seam between an app and Discord, for apps that want to run without any library, or on one.

An app of this kind is told what users write and says something in a channel. It gets plain records, never
objects of a library, and names a channel by its id.

Two peers: `VirtualDiscordGateway` in process, on virtual time; `DiscordPyGateway` on discord.py. Both drop what
other bots write unless told otherwise, so that two bots cannot talk to each other for ever, and neither tells
an app what the app itself has written. Both can be limited to some channels.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from soundstage.errors import AppError


class ChannelNotFoundError(AppError):
    """Raised when an app sends to a channel that is not there, or that holds no messages."""


class DiscordInboundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that somebody wrote.

    Args:
        channel_id: where, not negative.
        author: the name of who wrote it.
        content: what it says.
        message_id: its id.
        timestamp: when it was written, with a time zone.
        is_bot: whether another bot wrote it.

    Raises:
        ValueError: if the id of the channel is negative.
    """

    channel_id: int
    author: str
    content: str
    message_id: str
    timestamp: datetime
    is_bot: bool = False

    def __post_init__(self) -> None:
        check_channel_id(self.channel_id)


def wanted(channel_id: int, *, is_bot: bool, include_bots: bool, channels: Collection[int] | None) -> bool:
    """Whether an app is told of a message: the one filter of both peers."""
    return (include_bots or not is_bot) and (channels is None or channel_id in channels)


def check_channel_id(channel_id: int) -> None:
    """Go on if this can be the id of a channel.

    Raises:
        ValueError: if it is negative.
    """
    if channel_id < 0:
        raise ValueError(f"the id of a channel is not negative, got {channel_id}")


@runtime_checkable
class DiscordGateway(Protocol):
    """The interface to Discord for an app: connect, read messages, send messages."""

    async def connect(self) -> None:
        """Connect; return when messages can be sent and come in.

        Raises:
            InvalidStateError: if it is connected already.
        """
        ...

    async def disconnect(self) -> None:
        """Disconnect; harmless when it is not connected."""
        ...

    @property
    def inbound_messages(self) -> AsyncIterator[DiscordInboundMessage]:
        """The messages of users, in order, until the connection ends. For one reader."""
        ...

    async def send_message(self, channel_id: int, content: str) -> None:
        """Write to a channel. Blank content is not sent.

        Raises:
            InvalidStateError: before `connect`.
            ChannelNotFoundError: if there is no such channel, or it holds no messages.
            ValueError: if the id is negative.
        """
        ...
