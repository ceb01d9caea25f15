"""A real discord.py bot, in the test's own loop, on a virtual Discord."""

from __future__ import annotations

import asyncio
import sys
import warnings
from contextlib import asynccontextmanager

with warnings.catch_warnings():
    # discord.py imports `audioop`, which Python 3.13 no longer has; it brings its own there.
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    import discord
    from discord.ext import commands

import pytest

from soundstage.discord import Discord, pointed_at
from soundstage.journal import Journal


class Bot(commands.Bot):
    """A bot that does not wait for more guilds, nor before it identifies again; both would cost seconds.

    What is registered on its tree is synced when it logs in. What goes wrong in it is kept in `errors`.
    """

    def __init__(self, **options):
        options.setdefault("intents", discord.Intents.all())
        super().__init__("!", guild_ready_timeout=0.01, help_command=None, **options)
        self.errors = []
        self.tree.error(self._on_tree_error)

    async def setup_hook(self):
        if self.tree.get_commands():
            await self.tree.sync()

    async def before_identify_hook(self, shard_id, *, initial=False):
        return

    async def on_error(self, event_method, /, *args, **kwargs):
        self.errors.append(sys.exception())

    async def on_command_error(self, context, exception, /):
        self.errors.append(exception)

    async def _on_tree_error(self, interaction, error):
        self.errors.append(error)


@asynccontextmanager
async def connected(world, bot):
    """The bot while it is connected; what went wrong in it is raised at the end."""
    with pointed_at(world.api_url):
        running = asyncio.create_task(bot.start(world.token))
        try:
            waiting = asyncio.create_task(world.wait_for_bot(within=10))
            await asyncio.wait([waiting, running], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                waiting.cancel()
                await running
            await waiting
            yield bot
        finally:
            await bot.close()
            await asyncio.wait([running])
    if bot.errors:
        raise ExceptionGroup("the bot failed", bot.errors)


def run_on_discord(bot, body, **options):
    """Run `body(world, bot)` while `bot` is connected to a new virtual Discord; close it whatever happens."""

    async def main():
        world = Discord(Journal(), **options)
        await world.start()
        try:
            if bot is None:
                return await body(world)
            async with connected(world, bot):
                return await body(world, bot)
        finally:
            await world.stop()

    return asyncio.run(main())


@pytest.fixture
def make_bot():
    """The class of the tests' bots."""
    return Bot


@pytest.fixture
def bot():
    """A bot without any behaviour."""
    return Bot()


@pytest.fixture
def on_discord():
    """`on_discord(bot, body)` runs `body(world, bot)`; `on_discord(None, body)` runs `body(world)`."""
    return run_on_discord


@pytest.fixture
def running():
    """`async with running(world, bot)`: the bot while it is connected."""
    return connected
