"""The seam's virtual peer: a Discord that is only a stream of messages, in process and on virtual time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from soundstage.clock import IdSource, time_limit
from soundstage.discord._drafts import LONGEST
from soundstage.discord._seam import DiscordInboundMessage, check_channel_id, wanted
from soundstage.discord._waits import DiscordWaits
from soundstage.errors import AppError, InvalidStateError, ScriptError, WaitTimeout
from soundstage.journal import Journal, MessageReceived, MessageSent, Noted
from soundstage.match import preview
from soundstage.models import working_on
from soundstage.worlds import APP, WITHIN

FIRST: Final = "general"
FIRST_ID: Final = 1001  # of that channel; others that are only known by name get the next ones


class SentMessage(NamedTuple):
    """A message of the app, and the channel that it went to."""

    channel_id: int
    content: str

    @property
    def text(self) -> str:
        """The content, by the name that it has in messages of `Discord`: one test reads both."""
        return self.content


class VirtualChannel(NamedTuple):
    """A channel: all that there is to it."""

    id: int
    name: str


class VirtualUser:
    """Somebody who writes. Made by `VirtualDiscordGateway.user`."""

    def __init__(self, gateway: VirtualDiscordGateway, name: str, *, bot: bool) -> None:
        self._gateway = gateway
        self._bot = bot
        self.name = name

    async def says(
        self,
        text: str,
        *,
        channel: str | int | VirtualChannel | None = None,
        attachments: Sequence[tuple[str, bytes]] = (),
    ) -> DiscordInboundMessage:
        """Write a message. Returns it.

        Args:
            text: what it says.
            channel: where: a name, an id, or what `channel()` gave; `general` unless given.
            attachments: files, as (name, content). Apps on this seam are told the text alone, which may be empty.

        Raises:
            ScriptError: if there is nothing to say.
        """
        if not text.strip() and not attachments:
            raise ScriptError("a message needs a text or an attachment", seen=preview(text))
        where = self._gateway.channel_id(FIRST if channel is None else channel)
        return await self._gateway.simulate_message(where, self.name, text, is_bot=self._bot)

    async def says_privately(
        self, text: str, *, attachments: Sequence[tuple[str, bytes]] = ()
    ) -> DiscordInboundMessage:
        """Write to the app alone, in a conversation that is the channel `"@<name>"`. Returns the message."""
        return await self.says(text, channel=f"@{self.name}", attachments=attachments)


class VirtualDiscordGateway(DiscordWaits[SentMessage, str | int | VirtualChannel]):
    """Both sides of a Discord in process: a `DiscordGateway` for the app, and methods for the test.

    The channel `general` has the id 1001; others get the next ids when they are named first.

    A message that the app has read last is what it is working on: what it then sends, and what it asks its
    model, has that message as its cause.

    Args:
        journal: where everything goes.
        include_bots: whether the app is told what other bots write; a `DiscordBranch` that says so sets it.
        channels: ids of the channels that it listens to; all unless given.
        ids: where ids of messages come from.
        name: how messages and the journal call it.
        within: seconds that `expect` waits, unless it is told otherwise.
        app: the daemon of the app: nobody waits for what it says after it has failed.

    Example:
        >>> from soundstage.clock import run
        >>> async def main():
        ...     gateway = VirtualDiscordGateway(Journal())
        ...     await gateway.connect()
        ...     await gateway.user("ann").says("hello", channel=7)
        ...     gateway.end_input()
        ...     async for message in gateway.inbound_messages:
        ...         await gateway.send_message(message.channel_id, f"hi {message.author}")
        ...     return gateway.sent_messages
        >>> run(main())
        [SentMessage(channel_id=7, content='hi ann')]
    """

    def __init__(
        self,
        journal: Journal,
        *,
        include_bots: bool = False,
        channels: Collection[int] | None = None,
        ids: IdSource | None = None,
        name: str = "discord",
        within: float = WITHIN,
        app: str = APP,
    ) -> None:
        super().__init__(name, journal)
        self.app_name = app
        self.within = within
        self._inbox = self.inbox(
            MessageSent,
            item=lambda record: SentMessage(int(record.event.channel), record.event.text),
            source=lambda record: record.event.channel,
            noun="message",
        )
        self._named: dict[str, VirtualChannel] = {}
        self.channel(FIRST)
        self.include_bots = include_bots
        self._channels = None if channels is None else frozenset(channels)
        self._ids = ids if ids is not None else IdSource()
        self._waiting: deque[tuple[DiscordInboundMessage, int]] = deque()
        self._changed = asyncio.Event()
        self._ready = asyncio.Event()
        self._completed = False

    async def _start(self) -> None: ...

    async def _stop(self) -> None:
        self.end_input()

    # the app's side

    def app_sides(self) -> dict[str, object]:
        return {"discord": self}

    async def connect(self) -> None:
        """Connect.

        Raises:
            InvalidStateError: if it is connected already; the branches of an app share one connection.
        """
        if self._ready.is_set():
            raise InvalidStateError(f"{self.name} is connected already", hint="connect once")
        self._ready.set()

    async def disconnect(self) -> None:
        """Do nothing: there is no connection that could end."""

    @property
    def inbound_messages(self) -> AsyncIterator[DiscordInboundMessage]:
        """The messages of users, in order, until `end_input`."""
        return self._messages()

    async def _messages(self) -> AsyncIterator[DiscordInboundMessage]:
        while True:
            while self._waiting:
                message, position = self._waiting.popleft()
                working_on.set(position)
                yield message
            if self._completed:
                return
            self._changed.clear()
            await self._changed.wait()

    async def send_message(self, channel_id: int, content: str) -> None:
        """Write to a channel, whatever its id. Blank content is not sent.

        Raises:
            InvalidStateError: before `connect`.
            AppError: if the content is longer than Discord takes.
            ValueError: if the id is negative.
        """
        if not self._ready.is_set():
            raise InvalidStateError(
                f"{self.name} is not connected", seen=preview(content), hint="await gateway.connect() first"
            )
        check_channel_id(channel_id)
        if len(content) > LONGEST:
            raise AppError(
                "Discord did not take it",
                expected=f"at most {LONGEST} characters",
                seen=f"{len(content)} characters: {preview(content)}",
                hint="cut it: with_splitter(ChatReplyDraft, LengthSplitter(2000)), in an app of branches",
            )
        if content.strip():
            event = MessageSent(text=content, channel=str(channel_id))
            self.journal.append(event, source=self.name, cause=working_on.get())

    # the test's side

    def user(self, name: str, *, bot: bool = False) -> VirtualUser:
        """Somebody who writes: `await gateway.user("ann").says("hello", channel="general")`."""
        return VirtualUser(self, name, bot=bot)

    def channel(self, name: str) -> VirtualChannel:
        """The channel with a name; it gets an id when it is named first."""
        made = VirtualChannel(FIRST_ID + len(self._named), name)
        return self._named.setdefault(name, made)

    def channel_id(self, channel: str | int | VirtualChannel) -> int:
        """The id of a channel, however it is named."""
        if isinstance(channel, VirtualChannel):
            return channel.id
        return channel if isinstance(channel, int) else self.channel(channel).id

    async def simulate_message(
        self,
        channel_id: int,
        author: str,
        content: str,
        message_id: str | None = None,
        timestamp: datetime | None = None,
        is_bot: bool = False,  # noqa: FBT001, FBT002  (the order of the record)
    ) -> DiscordInboundMessage:
        """Write something as a user. Returns the message, with an id and a time if none were given.

        Raises:
            InvalidStateError: after `end_input`.
            ValueError: if the id of the channel is negative.
        """
        message = DiscordInboundMessage(
            channel_id=channel_id,
            author=author,
            content=content,
            message_id=message_id if message_id is not None else self._ids.hex(32),
            timestamp=timestamp if timestamp is not None else self.journal.clock.wall(),
            is_bot=is_bot,
        )
        if self._completed:
            raise InvalidStateError(
                f"the messages of {self.name} have ended",
                seen=preview(content),
                hint="simulate messages before end_input()",
            )
        if not wanted(channel_id, is_bot=is_bot, include_bots=self.include_bots, channels=self._channels):
            who = f"the bot {author}" if is_bot else f"{author} in channel {channel_id}"
            self.journal.append(
                Noted(text=f"a message of {who} was dropped", data={"content": content}), source=self.name
            )
            return message
        event = MessageReceived(text=content, channel=str(channel_id), sender=author)
        self._waiting.append((message, self.journal.append(event, source=self.name)))
        self._changed.set()
        return message

    def end_input(self) -> None:
        """End the messages: the app reads what is left, then its stream ends. Harmless when repeated."""
        self._completed = True
        self._changed.set()

    async def wait_for_ready(self, *, within: float = WITHIN) -> None:
        """Wait until the app has connected.

        Raises:
            WaitTimeout: if it does not.
        """
        try:
            async with time_limit(within):
                await self._ready.wait()
        except TimeoutError:
            raise WaitTimeout(
                f"the app did not connect to {self.name} within {within:g} s", expected="connect() is called"
            ) from None

    def pending(self) -> str:
        return f"{len(self._waiting)} message(s) unread"

    def label_of(self, channel: str | int | VirtualChannel) -> str:
        """How the journal calls a channel: by its id."""
        return str(self.channel_id(channel))
