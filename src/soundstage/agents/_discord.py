"""The Discord branch: messages of one channel become `ChatReceived`, each `ChatReply` becomes a message.

It talks to a gateway of four members (`ChatGateway`); whether Discord or a world is behind it, it cannot
tell. Messages of bots are left alone unless asked for, so that two bots do not answer each other for ever, and
so are messages of other channels: everything that the branch says goes to its one channel. Several branches on one
gateway share its connection.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Protocol

import msgspec

from soundstage.agents._entries import (
    ChatAck,
    ChatReceived,
    ChatReply,
)
from soundstage.agents._errors import SettingError
from soundstage.agents._manifest import BranchManifest, chat_manifest
from soundstage.agents._pump import Pump, acked
from soundstage.agents._scope import AppScope, BranchDaemons
from soundstage.journal import Journal, Record
from soundstage.lifecycle import Daemon, TaskDaemon
from soundstage.models import working_on

_GATEWAY: Final = ("connect", "disconnect", "inbound_messages", "send_message")


class InboundMessage(Protocol):
    """A message that somebody wrote on Discord."""

    @property
    def channel_id(self) -> int:
        """The channel that it is in."""
        ...

    @property
    def author(self) -> str:
        """Who wrote it."""
        ...

    @property
    def content(self) -> str:
        """Its text."""
        ...

    @property
    def is_bot(self) -> bool:
        """Whether a bot wrote it."""
        ...


class ChatGateway(Protocol):
    """The side of Discord that an app needs: connect, read what people write, answer."""

    async def connect(self) -> None:
        """Return when messages can be sent and received."""
        ...

    async def disconnect(self) -> None:
        """End the connection; harmless when there is none."""
        ...

    @property
    def inbound_messages(self) -> AsyncIterator[InboundMessage]:
        """The messages of people, in order, until there are no more."""
        ...

    async def send_message(self, channel_id: int, content: str) -> object:
        """Write a message in a channel."""
        ...


class DiscordBranch(msgspec.Struct, frozen=True, kw_only=True):
    """One channel of Discord. Blank messages are neither taken nor sent.

    Args:
        channel_id: the channel that it listens to, and to which everything it says goes.
        name: unique in an app.
        gateway: the way to Discord; that of the surroundings, unless given.
        include_bots: whether messages of bots count; unless given, they do if the gateway was made to deliver them.

    Raises:
        SettingError: if `channel_id` is less than 0.
        TypeError: if `gateway` is none.
    """

    channel_id: int
    name: str = "discord"
    gateway: Any = None
    include_bots: bool | None = None

    def __post_init__(self) -> None:
        if type(self.channel_id) is not int or self.channel_id < 0:
            raise SettingError(
                "a channel id is a whole number from 0", seen=f"channel_id={self.channel_id!r}"
            )
        if self.gateway is not None:
            _check_gateway(self.gateway)

    @property
    def manifest(self) -> BranchManifest:
        """It writes what was said, and reads replies, whole or to be cut."""
        return chat_manifest(self.name)

    def daemons(self, scope: AppScope) -> BranchDaemons:
        """The connection, one that sends, one that listens."""
        gateway: Any = self.gateway or scope.part("discord", self.name)

        async def say(record: Record) -> None:
            reply: Any = record.event
            if reply.text.strip():
                await gateway.send_message(self.channel_id, reply.text)
            scope.journal.append(ChatAck(position=record.position), source=self.name, cause=record.position)

        def take(message: InboundMessage) -> None:
            if self._is_for_us(message, bots=listeners.bots):
                said = ChatReceived(text=message.content, sender=message.author)
                scope.journal.append(said, source=self.name, cause=working_on.get())

        listeners = _listeners(scope, gateway)
        listeners.takers.append(take)
        if self.include_bots and hasattr(gateway, "include_bots"):
            gateway.include_bots = True
        done = acked(scope.followers, ChatAck, self.name)
        writer = Pump(f"{self.name}.out", scope.followers, (ChatReply,), say, done=done)
        if len(listeners.takers) > 1:  # another branch has the connection and the reader
            return BranchDaemons((writer,))
        connection = _Connection(f"{self.name}.connection", scope.journal, gateway)
        reader = TaskDaemon(f"{self.name}.in", scope.journal, listeners.listen)
        return BranchDaemons((connection, writer), (reader,))

    def _is_for_us(self, message: InboundMessage, *, bots: bool) -> bool:
        if message.is_bot and not (bots if self.include_bots is None else self.include_bots):
            return False
        return message.channel_id == self.channel_id and bool(message.content.strip())


def _check_gateway(gateway: object) -> None:
    missing = [name for name in _GATEWAY if not (hasattr(type(gateway), name) or hasattr(gateway, name))]
    if missing:
        raise TypeError(
            f"a Discord gateway has {', '.join(_GATEWAY)}; {type(gateway).__name__} has no {', '.join(missing)}"
        )


class _Listeners:
    """The branches on one gateway: one reader, who offers every message to each of them.

    Attributes:
        takers: take a message if it is for their branch.
        bots: whether the gateway was made to deliver messages of bots.
    """

    def __init__(self, gateway: ChatGateway) -> None:
        self._gateway = gateway
        self.takers: list[Callable[[InboundMessage], None]] = []
        self.bots = bool(getattr(gateway, "include_bots", False))

    async def listen(self) -> None:
        async for message in self._gateway.inbound_messages:
            for take in self.takers:
                take(message)


def _listeners(scope: AppScope, gateway: ChatGateway) -> _Listeners:
    """Those of this run of the app; the first branch makes them."""
    found: _Listeners = scope.shared.setdefault(id(gateway), _Listeners(gateway))
    return found


class _Connection(Daemon):
    """Running while the gateway is connected."""

    def __init__(self, name: str, journal: Journal, gateway: ChatGateway) -> None:
        super().__init__(name, journal)
        self._gateway = gateway

    async def _start(self) -> None:
        try:
            await self._gateway.connect()
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one that counts
                await self._gateway.disconnect()
            raise

    async def _stop(self) -> None:
        await self._gateway.disconnect()
