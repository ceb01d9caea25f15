"""The middle of a virtual Discord: whatever happens, happens here, in three steps.

1. The state changes (`_state`).
2. An event is appended to the journal.
3. The sessions of the bot are told, if they asked for that kind of event.

A request of the bot and an act of a user take the same path, so the journal and the gateway cannot disagree.
Nothing here waits: payloads go into outboxes, and time comes from the journal's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Literal

from soundstage.clock import IdSource
from soundstage.discord import _payloads as payloads
from soundstage.discord._events import DiscordChannelChanged, DiscordGatewayChanged, DiscordTyped
from soundstage.discord._ids import Snowflakes
from soundstage.discord._intents import INTENTS, wants
from soundstage.discord._records import Channel, ChannelType, DiscordMessage
from soundstage.discord._sessions import GatewayClose, GatewaySession
from soundstage.discord._state import State
from soundstage.journal import Event, Journal

Later = Callable[[float, Callable[[], None]], Any]
CHANNEL_EVENTS: Final = {"created": "CREATE", "changed": "UPDATE", "deleted": "DELETE"}


class DiscordSettings:
    """Settings of a Discord, fixed while it runs.

    Attributes:
        url: of the server, once it listens.
    """

    def __init__(
        self, *, token: str, privileged: tuple[str, ...], heartbeat: float, answer_within: float
    ) -> None:
        self.token = token
        self.privileged = privileged
        self.heartbeat = heartbeat
        self.answer_within = answer_within
        self.url = ""

    @property
    def gateway(self) -> str:
        """The address of the gateway."""
        return self.url.replace("http", "ws", 1) + "/gateway"

    @property
    def api(self) -> str:
        """The address of the REST API."""
        return f"{self.url}/api/v10"


class Platform:
    """State, journal and sessions.

    Args:
        state: the guild and all in it.
        settings: what does not change.
        journal: where everything goes.
        ids: where session ids and tokens come from.
        snowflakes: where all other ids come from.
        source: what the journal calls this Discord.
        later: calls a function after some seconds.
    """

    def __init__(
        self,
        state: State,
        settings: DiscordSettings,
        journal: Journal,
        *,
        ids: IdSource,
        snowflakes: Snowflakes,
        source: str,
        later: Later,
    ) -> None:
        self.state = state
        self.settings = settings
        self.ids = ids
        self.snowflakes = snowflakes
        self.later = later
        self.sessions: dict[str, GatewaySession] = {}
        self.positions: dict[int, int] = {}  # message -> position of its event
        self.posted: dict[int, DiscordMessage] = {}  # position of its event -> message, as it was then
        self.received: dict[int, int] = {}  # channel -> position of the newest message of a user
        self._journal = journal
        self._source = source

    # time and journal

    def now(self) -> datetime:
        """The date and time of this moment."""
        return self._journal.clock.wall()

    def record(self, event: Event, cause: int | None = None) -> int:
        """Append an event; returns its position."""
        return self._journal.append(event, source=self._source, cause=cause)

    def name(self, user_id: int) -> str:
        """The name of a user."""
        return self.state.users[user_id].name

    # telling the bot

    def tell(self, event: str, channel: Channel | None, data: dict[str, Any]) -> None:
        """Send an event to the sessions that asked for it.

        Args:
            event: Discord's name of it.
            channel: where it happened; `None` for the guild as a whole.
            data: its payload, without the guild's id.
        """
        private = channel is not None and channel.type is ChannelType.DM
        guild_id = None if private else self.state.guild.id
        payload = data if private else {**data, "guild_id": str(guild_id)}
        for session in list(self.sessions.values()):
            if session.holds(guild_id) and wants(session.intents, event, private=private):
                session.dispatch(event, payload)

    def tell_message(self, event: str, message: DiscordMessage) -> None:
        """Send a new or edited message. Without the intent for it, its content is left out."""
        channel = self.state.channels[message.channel_id]
        private = channel.type is ChannelType.DM
        payload = payloads.message(self.state, message)
        if not private:
            payload["guild_id"] = str(self.state.guild.id)
            writer = self.state.members.get(message.author_id)
            if writer is not None:
                payload["member"] = payloads.member(self.state, writer, with_user=False)
        readable = private or self.state.bot.id in (message.author_id, *message.mentions)
        for session in list(self.sessions.values()):
            if session.holds(None if private else self.state.guild.id) and wants(
                session.intents, event, private=private
            ):
                allowed = readable or session.intents & INTENTS["MESSAGE_CONTENT"]
                session.dispatch(event, payload if allowed else payloads.without_content(payload))

    # sessions

    @property
    def connected(self) -> bool:
        """Whether the bot has a session with a connection."""
        return any(session.outbox is not None for session in self.sessions.values())

    def end_session(self, session: GatewaySession) -> None:
        """Forget a session: it cannot be resumed."""
        self.sessions.pop(session.id, None)

    def each_connection(
        self,
        change: Literal["closed", "cut", "invalidated", "asked to reconnect"],
        item: bytes | GatewayClose,
        *,
        forget: bool,
    ) -> None:
        """Do something to every connection with a session, as the test asks."""
        for session in list(self.sessions.values()):
            outbox = session.outbox
            if forget:
                self.end_session(session)
            if outbox is None:
                continue
            if isinstance(item, GatewayClose) or forget:
                session.outbox = None
            code = item.code or 0 if isinstance(item, GatewayClose) else 0
            self.record(DiscordGatewayChanged(change=change, session=session.id, code=code, by="discord"))
            outbox.put(item)

    # channels

    def typing(self, channel: Channel, user_id: int) -> int:
        """Somebody is typing. Returns the event's position."""
        position = self.record(DiscordTyped(channel=self.state.label(channel), sender=self.name(user_id)))
        data: dict[str, Any] = {
            "channel_id": str(channel.id),
            "user_id": str(user_id),
            "timestamp": int(self.now().timestamp()),
        }
        member = self.state.members.get(user_id)
        if member is not None and channel.type is not ChannelType.DM:
            data["member"] = payloads.member(self.state, member)
        self.tell("TYPING_START", channel, data)
        return position

    def keep_channel(
        self, channel: Channel, change: Literal["created", "changed", "deleted"], *, by: str, **extra: Any
    ) -> int:
        """Add, replace or remove a channel or thread, and tell of it. Returns the event's position."""
        label = self.state.label(channel)
        if change == "deleted":
            del self.state.channels[channel.id]
            self.state.messages.pop(channel.id, None)
        else:
            self.state.channels[channel.id] = channel
        kind = "thread" if channel.is_thread else channel.type.name.lower()
        position = self.record(DiscordChannelChanged(change=change, channel=label, kind=kind, by=by))
        if channel.type is not ChannelType.DM:
            event = f"{'THREAD' if channel.is_thread else 'CHANNEL'}_{CHANNEL_EVENTS[change]}"
            self.tell(event, channel, payloads.channel(self.state, channel) | extra)
        return position
