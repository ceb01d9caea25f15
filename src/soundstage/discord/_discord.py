"""The Discord world: a virtual Discord on loopback, and the test's side of it.

Two sides. The bot is any real program: it connects to the gateway and calls the REST API, and only the base
address tells it that this is not Discord. The test acts as the users: they write, react, click, run commands,
and wait for what the bot says. Between them is the journal: what a user writes is a `MessageReceived`, what the
bot writes a `MessageSent`, and `_events` names the rest.

The parts: `_state` holds records, `_platform` changes them and tells everybody; `_gateway` and `_rest` are the
two protocols, as tables; `_transport` and the server do the waiting. Users are in `_user`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from soundstage.clock import IdSource
from soundstage.discord import _channels as channels
from soundstage.discord import _control as control
from soundstage.discord._beginning import first_state
from soundstage.discord._ids import Snowflakes
from soundstage.discord._intents import PRIVILEGED, check_privileged
from soundstage.discord._platform import DiscordSettings, Platform
from soundstage.discord._records import Channel, ChannelType, DiscordMessage, User
from soundstage.discord._rest import RestApi
from soundstage.discord._scene import Scene
from soundstage.discord._state import Guild
from soundstage.discord._transport import serve_gateway
from soundstage.discord._user import DiscordUser
from soundstage.discord._waits import DiscordWaits
from soundstage.errors import ScriptError, WaitTimeout
from soundstage.journal import Journal, MessageSent
from soundstage.match import preview
from soundstage.net import HttpServer, WebSocket
from soundstage.worlds import APP, WITHIN

TOKEN: Final = "soundstage-discord-token"  # noqa: S105  (good for this world only)


class Discord(DiscordWaits[DiscordMessage, str | Channel], HttpServer):
    """A virtual Discord with one guild, for one bot.

    Args:
        journal: where everything goes.
        token: what the bot must send; kept out of journal files.
        bot: the bot's name.
        guild: the guild's name.
        channels: names of text channels. `add_channel` makes more.
        users: names of members who are there from the beginning. `user` makes more.
        privileged_intents: which of `GUILD_MEMBERS`, `GUILD_PRESENCES`, `MESSAGE_CONTENT` the bot may ask for.
        heartbeat: seconds between heartbeats of the bot.
        answer_within: seconds that the bot has to answer an interaction.
        within: seconds that `expect` waits, unless it is told otherwise.
        app: the daemon of the bot, or what the journal calls its program: nobody waits for what it says after its
            end. A host sets it.
        ids: where session ids and tokens come from.
        port: 0 picks a free one.
        name: how messages and the journal call it.

    Raises:
        ScriptError: if a name is given twice, or an intent is none.

    Example:
        ::

            discord = Discord(journal)
            await discord.start()
            ...  # start the bot with discord.environment()
            await discord.wait_for_bot()
            await discord.user("ann").says("hello", channel="general")
            await discord.expect("hi ann", channel="general")
            await discord.stop()
    """

    def __init__(
        self,
        journal: Journal,
        *,
        token: str = TOKEN,
        bot: str = "bot",
        guild: str = "Soundstage",
        channels: Iterable[str] = ("general",),
        users: Iterable[str] = (),
        privileged_intents: Iterable[str] = PRIVILEGED,
        heartbeat: float = 41.25,
        answer_within: float = 3.0,
        within: float = WITHIN,
        app: str = APP,
        ids: IdSource | None = None,
        port: int = 0,
        name: str = "discord",
    ) -> None:
        snowflakes = Snowflakes(journal.clock)
        self._platform = Platform(
            first_state(snowflakes, guild=guild, bot=bot, channels=channels, users=users),
            DiscordSettings(
                token=token,
                privileged=check_privileged(privileged_intents),
                heartbeat=heartbeat,
                answer_within=answer_within,
            ),
            journal,
            ids=ids if ids is not None else IdSource(),
            snowflakes=snowflakes,
            source=name,
            later=self._later,
        )
        self._api = RestApi(self._platform, journal, name)
        self._scene = Scene(self._platform, self._api, journal, name)
        self._timers: set[asyncio.TimerHandle] = set()
        journal.redactor.add(token)
        HttpServer.__init__(self, self._api.handle, journal, port=port, name=name, websocket=self._serve)
        self.app_name = app
        self.within = within
        self._inbox = self.inbox(
            MessageSent,
            item=lambda record: self._platform.posted[record.position],
            source=lambda record: record.event.channel,
            show=lambda event: f"{event.channel}: {preview(event.text)}",
            noun="message",
        )

    async def _start(self) -> None:
        await super()._start()
        self._platform.settings.url = self.url

    async def _stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        await super()._stop()

    async def _serve(self, websocket: WebSocket) -> None:
        await serve_gateway(self._platform, websocket, self.journal.clock.now)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.discard(timer)
            call()

        timer = asyncio.get_running_loop().call_later(seconds, due)
        self._timers.add(timer)

    # what is there

    @property
    def api_url(self) -> str:
        """The base address of the REST API: what `discord.http.Route.BASE` has to be."""
        return f"{self.url}/api/v10"

    @property
    def gateway_url(self) -> str:
        """The address of the gateway. Bots that ask the REST API for it, as most do, need not know it."""
        self.url  # noqa: B018  (raises before start)
        return self._platform.settings.gateway

    @property
    def token(self) -> str:
        """The token of the bot."""
        return self._platform.settings.token

    def environment(self) -> dict[str, str]:
        """Variables for the bot's process; see `python -m soundstage.discord`."""
        return {
            "DISCORD_API_BASE": self.api_url,
            "DISCORD_GATEWAY": self.gateway_url,
            "DISCORD_TOKEN": self.token,
        }

    @property
    def guild(self) -> Guild:
        """The guild: `id`, `name`, `owner_id`."""
        return self._platform.state.guild

    @property
    def bot(self) -> User:
        """The bot's account."""
        return self._platform.state.bot

    def channel(self, name: str) -> Channel:
        """The channel with a name, a thread `"#general/plan"`, or a conversation `"@ann"`.

        Raises:
            ScriptError: if there is none.
        """
        return self._scene.channel(name)

    def add_channel(self, name: str, *, topic: str | None = None, kind: str = "text") -> Channel:
        """Make a channel: `text`, `voice`, `category` or `news`.

        Raises:
            ScriptError: if there is one of this name, or no such kind.
        """
        bare = name.removeprefix("#")
        kinds = {item.name.lower(): item for item in ChannelType if item in _KINDS}
        if kind not in kinds:
            raise ScriptError(f"there are no channels of kind {kind!r}", expected=", ".join(kinds))
        if self._platform.state.find_channel(f"#{bare}") is not None:
            raise ScriptError(f"there is a channel {bare!r} already")
        return channels.make_channel(self._platform, bare, by=control.BY, type=kinds[kind], topic=topic)

    def user(self, name: str, *, bot: bool = False) -> DiscordUser:
        """The user with a name, who joins the guild if there is none yet.

        Args:
            name: as others see it.
            bot: whether it is another bot.

        Raises:
            ScriptError: if the name is that of the bot under test, or of a user of the other kind.
        """
        found = self._platform.state.find_user(name)
        if found is None:
            found = control.join(self._platform, name, bot=bot)
        if found.id == self.bot.id or (bot and not found.bot):
            raise ScriptError(
                f"{name!r} is no user that a test can play",
                seen="the bot under test" if found.id == self.bot.id else "a person",
                hint="choose another name",
            )
        return DiscordUser(self._scene, found)

    def messages(self, channel: str | Channel | None = None) -> list[DiscordMessage]:
        """The messages in a channel as they are now, oldest first, whoever wrote them."""
        return self._platform.state.history(self._scene.channel(channel).id)

    # waiting

    def readiness(self) -> Callable[..., Awaitable[None]]:
        return self.wait_for_bot

    def pending(self) -> str:
        return f"the bot is {'' if self._platform.connected else 'not '}connected"

    async def wait_for_bot(self, *, within: float = 10.0) -> None:
        """Wait until the bot has a session, and has read what is in its guild.

        Raises:
            WaitTimeout: if it does not connect in time; the message shows what it did instead.
        """
        here = len(self.journal)
        if not self._platform.connected:
            await self._scene.first(lambda _: self._platform.connected, after=here, within=within)
        if not self._platform.connected:
            raise WaitTimeout(
                f"no bot connected to {self.name} within {within:g} s",
                expected=f"IDENTIFY or RESUME at {self.gateway_url}",
                seen="\n".join(self.facts()) or "nothing at all",
                hint="give the bot discord.environment(); the events above say how far it came",
            )
        await self._scene.round_trips(1)

    def label_of(self, channel: str | Channel) -> str:
        """How the journal calls a channel; one that is not there yet is named in full: `@ann`, `#general/plan`."""
        if isinstance(channel, str) and (channel.startswith("@") or "/" in channel):
            return channel
        return self._platform.state.label(self._scene.channel(channel))

    # what only a test can do

    def rate_limit(self, route: str | None = None, *, times: int = 1, retry_after: float = 0.05) -> None:
        """Answer the next requests of the bot with 429.

        Args:
            route: a method and a path as Discord documents it, `POST /channels/{channel_id}/messages`; all
                routes, as with Discord's global limit, unless given.
            times: how many requests.
            retry_after: seconds that the bot is told to wait.

        Raises:
            ScriptError: if there is no such route.
        """
        control.rate_limit(self._api, route, times=times, retry_after=retry_after)

    def deny(self, permission: str, *, channel: str | Channel | None = None) -> None:
        """Take a permission from the bot, such as `SEND_MESSAGES`: in one channel, or everywhere.

        Raises:
            ScriptError: if there is no such permission or channel.
        """
        where = None if channel is None else self._scene.channel(channel)
        control.permit(self._platform, permission, where, allowed=False)

    def allow(self, permission: str, *, channel: str | Channel | None = None) -> None:
        """Give a permission to the bot; the opposite of `deny`."""
        where = None if channel is None else self._scene.channel(channel)
        control.permit(self._platform, permission, where, allowed=True)

    def drop_connections(self, *, resumable: bool = True, code: int | None = None) -> None:
        """Break the bot's connections to the gateway.

        Args:
            resumable: whether its session outlives that. Events are kept meanwhile, and sent when it resumes.
            code: to close with, such as 4000; without one the connection is cut, as when a network fails.
        """
        control.drop(self._platform, resumable=resumable, code=code)

    def invalidate_session(self, *, resumable: bool = False) -> None:
        """Send "invalid session" (op 9): the bot has to identify again, or to resume if `resumable`."""
        control.invalidate(self._platform, resumable=resumable)

    def reconnect_request(self) -> None:
        """Send "reconnect" (op 7): the bot has to come back and resume."""
        control.ask_to_reconnect(self._platform)


_KINDS: Final = (ChannelType.TEXT, ChannelType.VOICE, ChannelType.CATEGORY, ChannelType.NEWS)
