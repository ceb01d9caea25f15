"""The test side of a virtual Discord: users and the test see it, and wait for the bot.

`settle` keeps the acts of users from overtaking the bot. When a bot has posted a message with a button, the
journal knows it before the bot does: the answer to its request is still on the way, and after it the bot has to
remember which function the button belongs to. A person who reads before clicking gives it that time. A test
that clicks at once would not, and would lose the click now and then. So before each act the bot is sent a ping,
twice, if it was answered anything since the last time; when the answers come, it has read what was sent to it
before. Nobody sleeps, and a bot that does not answer is waited for no longer than `MOMENT`.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from soundstage.discord import _options as options
from soundstage.discord._events import DiscordCommandsRegistered
from soundstage.discord._platform import Platform
from soundstage.discord._records import Channel, ChannelType, DiscordMessage, User
from soundstage.discord._rest import RestApi
from soundstage.errors import ExpectationError, ScriptError
from soundstage.journal import Journal, Record
from soundstage.worlds import Fits, first_record

MOMENT: Final = 1.0  # seconds for a bot to answer a ping
ROUNDS: Final = 2


class Scene:
    """The test's view.

    Args:
        platform: the Discord.
        api: its REST API.
        journal: what has happened.
        source: what the journal calls this Discord.
    """

    def __init__(self, platform: Platform, api: RestApi, journal: Journal, source: str) -> None:
        self.platform = platform
        self.api = api
        self.journal = journal
        self.source = source

    async def settle(self) -> None:
        """Wait until the bot has taken notice of what it was answered."""
        if self.api.unsettled:
            await self.round_trips(ROUNDS)

    async def round_trips(self, count: int) -> None:
        """Wait until the bot has read what was sent to it, some times over."""
        self.api.unsettled = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MOMENT):
                for _ in range(count):
                    for session in list(self.platform.sessions.values()):
                        if session.outbox is not None:
                            await session.outbox.round_trip()

    async def first(self, fits: Fits, *, after: int, within: float) -> Record | None:
        """The first record of this Discord after a position that fits; `None` if none comes in time."""

        def ours(record: Record) -> bool:
            return record.source == self.source and fits(record)

        return await first_record(self.journal, ours, after=after, within=within)

    def channel(self, name: str | Channel | None) -> Channel:
        """The channel with a name; the first one without.

        Raises:
            ScriptError: if there is none.
        """
        if isinstance(name, Channel):
            return name
        state = self.platform.state
        guild = [item for item in state.channels.values() if item.type is not ChannelType.DM]
        found = (guild[0] if guild else None) if name is None else state.find_channel(name)
        if found is None:
            raise ScriptError(
                f"there is no channel {name!r}" if name else "there is no channel at all",
                seen=", ".join(state.label(item) for item in state.channels.values()) or "none",
                hint='make it: Discord(journal, channels=("general", ...)), or discord.add_channel(name)',
            )
        return found

    def person(self, name: str) -> User:
        """The user with a name.

        Raises:
            ScriptError: if there is none.
        """
        found = self.platform.state.find_user(name.removeprefix("@"))
        if found is None:
            raise ScriptError(
                f"there is no user {name!r}",
                seen=", ".join(user.name for user in self.platform.state.users.values()),
                hint=f"make one: discord.user({name!r})",
            )
        return found

    def role(self, name: str) -> int:
        """The id of the role with a name.

        Raises:
            ScriptError: if there is none.
        """
        roles = {role.name: role.id for role in self.platform.state.roles.values()}
        if name not in roles:
            raise ScriptError(f"there is no role {name!r}", seen=", ".join(roles))
        return roles[name]

    def shown_to(self, user_id: int) -> list[DiscordMessage]:
        """All messages that a user can see now, newest first."""
        found = [message for known in self.platform.state.messages.values() for message in known.values()]
        return sorted(
            (message for message in found if self._sees(user_id, message)),
            key=lambda message: message.id,
            reverse=True,
        )

    def _sees(self, user_id: int, message: DiscordMessage) -> bool:
        channel = self.platform.state.channels[message.channel_id]
        if channel.type is ChannelType.DM and user_id not in channel.recipients:
            return False
        to_whom = ((message.answers or {}).get("user") or {}).get("id")
        return not message.ephemeral or to_whom == str(user_id)

    def current(self, message: DiscordMessage) -> DiscordMessage:
        """A message as it is now.

        Raises:
            ExpectationError: if it has been deleted.
        """
        found = self.platform.state.messages.get(message.channel_id, {}).get(message.id)
        if found is None:
            raise ExpectationError("the message is not there any more", seen=repr(message.text))
        return found

    async def command(self, typed: str, *, within: float) -> options.Found:
        """The command that a user types; waited for, because bots register commands while they start.

        Raises:
            ExpectationError: if there is none in time.
        """
        commands = self.platform.state.commands
        found = options.find(commands.values(), typed)
        if found is None:
            here = len(self.journal)
            await self.first(lambda record: self._has(record, typed), after=here, within=within)
            found = options.find(commands.values(), typed)
        if found is None:
            known = ", ".join(options.names(commands.values()))
            raise ExpectationError(
                f"the bot has not registered the command {typed!r}",
                seen=known or "no command at all",
                hint="with discord.py: `await bot.tree.sync()` in setup_hook",
            )
        return found

    def _has(self, record: Record, typed: str) -> bool:
        if not isinstance(record.event, DiscordCommandsRegistered):
            return False
        return options.find(self.platform.state.commands.values(), typed) is not None
