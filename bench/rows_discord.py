"""Messages through a virtual Discord on loopback: a user writes, an unmodified discord.py bot echoes, the user reads.

Each bot has a Discord of its own. All of them, and the users, share one process and one event loop, so the
figures are for everything together: our gateway and REST API, the client library, and the test's side.
There is no peer that does the same; the library's own share is the larger part (see `figures`).
"""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

from _load import BenchError
from _pairs import median
from _settings import Settings
from _table import Row

NAME = "discord"
BOTS = (1, 10, 50)


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    rates = {}
    for bots in BOTS:
        settings.tell(f"{bots} bot(s)")
        messages = settings.scaled(400, least=50) // bots or 1
        runs = [asyncio.run(_measure(bots, max(messages, 4))) for _ in range(1 if settings.quick else 3)]
        rates[bots] = median(runs)
    grown = ", ".join(f"{bots} bots {rates[bots]:.0f}/s" for bots in BOTS[1:])
    yield Row(
        "virtual Discord, messages echoed by discord.py bots, 50 bots",
        "1 bot",
        f"1 bot {rates[1]:.0f}/s, {grown}; all in one process",
        rates[BOTS[-1]] / rates[1],
    )


def _library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import discord
    return discord


async def _measure(count: int, messages: int) -> float:
    """Messages per second: those of users and those of bots."""
    from soundstage.discord import Discord
    from soundstage.journal import Journal

    async with AsyncExitStack() as stack:
        worlds = []
        for _ in range(count):
            world = Discord(Journal())
            await world.start()
            stack.push_async_callback(world.stop)
            await _connect(world, stack)
            worlds.append(world)
        start = time.perf_counter()
        await asyncio.gather(*(_talk(world, messages) for world in worlds))
        return 2 * count * messages / (time.perf_counter() - start)


async def _connect(world: Any, stack: AsyncExitStack) -> None:
    """One bot, whose library talks to this Discord and to no other."""
    from soundstage.discord import pointed_at

    discord = _library()
    client = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.01)
    request, base = client.http.request, world.api_url

    def bound(route: Any, **options: Any) -> Any:
        route.url = base + route.url.removeprefix(discord.http.Route.BASE)
        return request(route, **options)

    client.http.request = bound

    async def on_message(message: Any) -> None:
        if not message.author.bot:
            await message.channel.send(f"echo {message.content}")

    client.event(on_message)
    with pointed_at(base):
        running = asyncio.create_task(client.start(world.token))
        stack.push_async_callback(_end, client, running)
        await world.wait_for_bot()


async def _end(client: Any, running: asyncio.Task[None]) -> None:
    await client.close()
    await running


async def _talk(world: Any, messages: int) -> None:
    ann = world.user("ann")
    for number in range(messages):
        await ann.says(f"message {number}", channel="general")
        said = await world.expect(f"echo message {number}", within=30)
        if said.content != f"echo message {number}":
            raise BenchError(f"expected an echo of message {number}, got {said.content!r}")
