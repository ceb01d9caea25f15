"""discord.py, and nothing else: the only file that imports it, when it is needed.

`pointed_at` makes the library talk to another server. It has two addresses: `Route.BASE` of the REST API, and
the gateway's, which a client without shards does not ask the REST API for. Both are attributes of classes, so
this holds for the whole process.

`DiscordPyGateway` is the seam's peer on the library. Its callbacks become a stream: discord.py starts a task
for each event, in the order of events, and each puts one record into a queue without waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import warnings
from collections.abc import AsyncIterator, Collection, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from soundstage.discord._seam import (
    ChannelNotFoundError,
    DiscordInboundMessage,
    check_channel_id,
    wanted,
)
from soundstage.errors import AppError, EnvironmentProblem, InvalidStateError, SoundstageError
from soundstage.match import preview

QUIET: Final = 0.1  # seconds without a further guild after which a connection counts as ready


def load() -> Any:
    """The module `discord`.

    Raises:
        EnvironmentProblem: if it is not installed.
    """
    try:
        with warnings.catch_warnings():
            # It imports `audioop`, which Python 3.13 no longer has; it brings its own there.
            warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
            return importlib.import_module("discord")
    except ImportError as error:
        raise EnvironmentProblem(
            "discord.py is not installed", seen=str(error), hint='pip install "soundstage[discord]"'
        ) from None


def point_at(api_base: str) -> tuple[str, Any]:
    """Make discord.py talk to another server, from now on. Returns the addresses that it had.

    Args:
        api_base: `Discord.api_url`, or `DISCORD_API_BASE` of `Discord.environment`.
    """
    discord = load()
    import yarl

    parts = urlsplit(api_base)
    scheme = "wss" if parts.scheme == "https" else "ws"
    before = (discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY)
    discord.http.Route.BASE = api_base.rstrip("/")
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(f"{scheme}://{parts.netloc}/gateway")
    return before


@contextlib.contextmanager
def pointed_at(api_base: str) -> Iterator[None]:
    """Make discord.py talk to another server for the length of a `with` block.

    Example:
        ::

            with pointed_at(discord.api_url):
                async with bot:
                    await bot.start(discord.token)
    """
    base, gateway = point_at(api_base)
    try:
        yield
    finally:
        discord = load()
        discord.http.Route.BASE = base
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway


class DiscordPyGateway:
    """A `DiscordGateway` on discord.py.

    Args:
        token: of the bot.
        api_base: another server than Discord's; see `pointed_at`, which holds for the whole process.
        include_bots: whether the app is told what other bots write. Its own messages never come in.
        channels: ids of the channels that it listens to; all unless given.
        within: seconds to connect.

    Raises:
        EnvironmentProblem: from `connect`, if the library is not installed, Discord cannot be reached, or does
            not accept the token or the intents.
    """

    def __init__(
        self,
        token: str,
        *,
        api_base: str = "",
        include_bots: bool = False,
        channels: Collection[int] | None = None,
        within: float = 30.0,
    ) -> None:
        self._token = token
        self._api_base = api_base
        self.include_bots = include_bots
        self._channels = None if channels is None else frozenset(channels)
        self._within = within
        self._client: Any = None
        self._running: asyncio.Task[None] | None = None
        self._pointed = contextlib.ExitStack()
        self._messages: asyncio.Queue[DiscordInboundMessage | None] = asyncio.Queue()
        self._failure: SoundstageError | None = None

    async def connect(self) -> None:
        """Connect; return when the channels are known.

        Raises:
            InvalidStateError: if it was connected before.
            EnvironmentProblem: if it cannot connect.
        """
        if self._client is not None:
            raise InvalidStateError("this gateway was connected before", hint="make another DiscordPyGateway")
        discord = load()
        if self._api_base:
            self._pointed.enter_context(pointed_at(self._api_base))
        ready = asyncio.Event()
        self._client = self._make_client(discord, ready)
        self._running = asyncio.create_task(self._run(), name="discord.py")
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait(
            [waiting, self._running], timeout=self._within, return_when=asyncio.FIRST_COMPLETED
        )
        waiting.cancel()
        if not ready.is_set():
            await self.disconnect()
            raise self._failure or EnvironmentProblem(f"Discord was not ready within {self._within:g} s")

    def _make_client(self, discord: Any, ready: asyncio.Event) -> Any:
        intents = discord.Intents.default()
        intents.message_content = True
        client = discord.Client(intents=intents, chunk_guilds_at_startup=False, guild_ready_timeout=QUIET)

        async def on_ready() -> None:
            ready.set()

        async def on_message(message: Any) -> None:
            self._take(message)

        client.event(on_ready)
        client.event(on_message)
        return client

    def _take(self, message: Any) -> None:
        if message.author.id == self._client.user.id or not wanted(
            message.channel.id,
            is_bot=message.author.bot,
            include_bots=self.include_bots,
            channels=self._channels,
        ):
            return
        inbound = DiscordInboundMessage(
            channel_id=message.channel.id,
            author=message.author.name,
            content=message.content,
            message_id=str(message.id),
            timestamp=message.created_at,
            is_bot=message.author.bot,
        )
        self._messages.put_nowait(inbound)

    async def _run(self) -> None:
        """The library's own loop; how it ends is what readers of the stream learn."""
        try:
            await self._client.start(self._token)
        except Exception as error:  # noqa: BLE001  (crosses the table below)
            self._failure = _translated(error)
        finally:
            self._messages.put_nowait(None)

    async def disconnect(self) -> None:
        """Disconnect; the stream of messages ends. Harmless when it is not connected."""
        if self._running is not None:
            await self._client.close()
            await asyncio.wait([self._running])
        self._pointed.close()

    @property
    def inbound_messages(self) -> AsyncIterator[DiscordInboundMessage]:
        """The messages of users, in order, until the connection ends.

        Raises:
            EnvironmentProblem: while it is iterated, if the connection is lost for good.
        """
        return self._stream()

    async def _stream(self) -> AsyncIterator[DiscordInboundMessage]:
        while (message := await self._messages.get()) is not None:
            yield message
        self._messages.put_nowait(None)  # for whoever asks again
        if self._failure is not None:
            raise self._failure

    async def send_message(self, channel_id: int, content: str) -> None:
        """Write to a channel. Blank content is not sent.

        Raises:
            InvalidStateError: before `connect` and after `disconnect`.
            ChannelNotFoundError: if there is no such channel, or it holds no messages.
            AppError: if Discord does not take the message.
            ValueError: if the id is negative.
        """
        if self._client is None or self._client.is_closed():
            raise InvalidStateError(
                "this gateway is not connected", seen=preview(content), hint="await gateway.connect() first"
            )
        check_channel_id(channel_id)
        if not content.strip():
            return
        channel = await self._channel(channel_id)
        with _crossing():
            await channel.send(content)

    async def _channel(self, channel_id: int) -> Any:
        """The channel, from what the library knows, else from Discord."""
        discord = load()
        channel = self._client.get_channel(channel_id)
        if channel is None:
            with _crossing():
                channel = await self._client.fetch_channel(channel_id)
        if not isinstance(channel, discord.abc.Messageable):
            raise ChannelNotFoundError(
                f"the channel {channel_id} holds no messages", seen=f"it is a {type(channel).__name__}"
            )
        return channel


@contextlib.contextmanager
def _crossing() -> Iterator[None]:
    """Errors of the library become ours."""
    try:
        yield
    except Exception as error:
        raise _translated(error) from error


def _translated(error: Exception) -> SoundstageError:
    """Our error for one of the library: the first row that fits."""
    discord = load()
    seen = f"{type(error).__name__}: {error}"
    table: tuple[tuple[Any, type[SoundstageError], str], ...] = (
        (discord.LoginFailure, EnvironmentProblem, "Discord does not accept the token of the bot"),
        (discord.PrivilegedIntentsRequired, EnvironmentProblem, "Discord does not allow the bot's intents"),
        (discord.NotFound, ChannelNotFoundError, "there is no such channel"),
        (discord.InvalidData, ChannelNotFoundError, "the channel is of a kind that is not known"),
        (discord.Forbidden, AppError, "the bot may not do that"),
        (discord.HTTPException, AppError, "Discord did not take it"),
        (Exception, EnvironmentProblem, "the connection to Discord failed"),
    )
    kind, summary = next((kind, summary) for known, kind, summary in table if isinstance(error, known))
    return kind(summary, seen=seen)
