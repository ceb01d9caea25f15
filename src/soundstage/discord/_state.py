"""The state of one Discord: a guild and all in it. Pure: records in dictionaries, no clock, no sockets.

Look-ups that a request asks for raise `RestRefused` with Discord's own answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from soundstage.discord import _permissions as perms
from soundstage.discord._problems import (
    MISSING_ACCESS,
    MISSING_PERMISSIONS,
    UNKNOWN_CHANNEL,
    UNKNOWN_MEMBER,
    UNKNOWN_MESSAGE,
    UNKNOWN_USER,
    RestRefused,
)
from soundstage.discord._records import (
    ApplicationCommand,
    Channel,
    ChannelType,
    DiscordMessage,
    Member,
    Role,
    User,
)

InteractionStage = Literal["open", "deferred", "deferred update", "answered", "expired"]


class Guild(NamedTuple):
    """The one guild, which its users call a server."""

    id: int
    name: str
    owner_id: int


class Interaction(NamedTuple):
    """A use of a command or component, and how far its answer has come.

    `position` is that of its event; `original` the message that answers it first, `message_id` the one whose
    component was used.
    """

    id: int
    token: str
    type: int
    name: str
    user_id: int
    channel_id: int
    made_at: datetime
    position: int
    metadata: dict[str, Any]
    stage: InteractionStage = "open"
    message_id: int | None = None
    original: int | None = None


class State:
    """All records, by id. The bot is the one account that the program under test has."""

    def __init__(self, guild: Guild, bot: User) -> None:
        self.guild = guild
        self.bot = bot
        self.users: dict[int, User] = {bot.id: bot}
        self.members: dict[int, Member] = {}
        self.roles: dict[int, Role] = {}
        self.channels: dict[int, Channel] = {}
        self.messages: dict[int, dict[int, DiscordMessage]] = {}  # channel -> id -> message, oldest first
        self.commands: dict[int, ApplicationCommand] = {}
        self.interactions: dict[str, Interaction] = {}  # by token
        self.forms: dict[int, tuple[Interaction, dict[str, Any]]] = {}  # user -> the form that is open
        self.files: dict[int, bytes] = {}  # contents of attachments

    # channels

    def channel(self, channel_id: int) -> Channel:
        """The channel, or Discord's 404."""
        if channel_id not in self.channels:
            raise RestRefused(UNKNOWN_CHANNEL)
        return self.channels[channel_id]

    def label(self, channel: Channel) -> str:
        """The name of a channel in messages and in the journal: `#general`, `#general/plan`, `@ann`."""
        if channel.type is ChannelType.DM:
            other = next((user for user in channel.recipients if user != self.bot.id), self.bot.id)
            return f"@{self.users[other].name}"
        if channel.is_thread and channel.parent_id in self.channels:
            return f"{self.label(self.channels[channel.parent_id])}/{channel.name}"
        return f"#{channel.name}"

    def find_channel(self, name: str) -> Channel | None:
        """The channel with a label or a bare name; threads by their own name too, the newest first."""
        newest = list(reversed(self.channels.values()))
        for channel in newest:
            if self.label(channel) == name:
                return channel
        bare = name.removeprefix("#")
        guild = [channel for channel in newest if channel.type is not ChannelType.DM]
        guild.sort(key=lambda channel: channel.is_thread)
        return next((channel for channel in guild if channel.name == bare), None)

    def private(self, user_id: int) -> Channel | None:
        """The conversation of the bot with a user, if they have one."""
        for channel in self.channels.values():
            if channel.type is ChannelType.DM and user_id in channel.recipients:
                return channel
        return None

    def threads(self) -> Iterator[Channel]:
        """All threads that are not archived."""
        return (channel for channel in self.channels.values() if channel.is_thread and not channel.archived)

    # messages

    def message(self, channel_id: int, message_id: int) -> DiscordMessage:
        """A message that everybody in the channel sees, or Discord's 404."""
        message = self.messages.get(channel_id, {}).get(message_id)
        if message is None or message.ephemeral:
            raise RestRefused(UNKNOWN_MESSAGE)
        return message

    def history(self, channel_id: int) -> list[DiscordMessage]:
        """The messages that everybody in the channel sees, oldest first."""
        return [message for message in self.messages.get(channel_id, {}).values() if not message.ephemeral]

    def put(self, message: DiscordMessage) -> None:
        """Keep a new message, or the newer form of one."""
        self.messages.setdefault(message.channel_id, {})[message.id] = message

    # people

    def user(self, user_id: int) -> User:
        """The user, or Discord's 404."""
        if user_id not in self.users:
            raise RestRefused(UNKNOWN_USER)
        return self.users[user_id]

    def member(self, user_id: int) -> Member:
        """The member of the guild, or Discord's 404."""
        if user_id not in self.members:
            raise RestRefused(UNKNOWN_MEMBER)
        return self.members[user_id]

    def find_user(self, name: str) -> User | None:
        """The user with a name."""
        return next((user for user in self.users.values() if user.name == name), None)

    # permissions

    def permissions(self, user_id: int, channel: Channel | None = None) -> int:
        """The permissions of a member in a channel, or in the guild."""
        if channel is not None and perms.all_in_private(channel):
            return perms.USUAL
        member = self.member(user_id)
        roles = [role for role in self.roles.values() if role.is_everyone or role.id in member.roles]
        where = self.channels.get(channel.parent_id or 0) if channel and channel.is_thread else channel
        return perms.permissions(member, roles, where, self.guild.owner_id)

    def need(self, user_id: int, channel: Channel, *names: str) -> None:
        """Go on if the user has these permissions in a channel; else Discord's 403."""
        if perms.all_in_private(channel):
            return
        lacking = perms.missing(self.permissions(user_id, channel), names, channel)
        if lacking is not None:
            raise RestRefused(MISSING_ACCESS if lacking == "VIEW_CHANNEL" else MISSING_PERMISSIONS)

    def need_in_guild(self, user_id: int, *names: str) -> None:
        """Go on if the user has these permissions in the guild; else Discord's 403."""
        allowed = self.permissions(user_id)
        if any(not allowed & perms.bit(name) for name in names):
            raise RestRefused(MISSING_PERMISSIONS)
