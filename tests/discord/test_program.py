"""An unmodified bot in a process of its own, which knows nothing of the virtual Discord."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from soundstage.discord import Discord
from soundstage.journal import Journal

BOT = """
import os
import sys

import discord

client = discord.Client(intents=discord.Intents.all())


@client.event
async def on_message(message):
    if message.author != client.user:
        await message.channel.send(f"{sys.argv[1]} {message.author.name}")


client.run(os.environ["DISCORD_TOKEN"], log_handler=None)
"""


@pytest.mark.parametrize("arguments", [["bot.py"], ["-m", "bot"], ["-m", "package"]])
def test_an_unmodified_program_is_run_against_the_virtual_discord(tmp_path, arguments):
    (tmp_path / "bot.py").write_text(BOT)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(BOT)

    async def main():
        world = Discord(Journal())
        await world.start()
        command = [sys.executable, "-m", "soundstage.discord", *arguments, "hello"]
        environment = {**os.environ, **world.environment()}
        program = await asyncio.create_subprocess_exec(*command, env=environment, cwd=tmp_path)
        try:
            await world.wait_for_bot(within=30)
            await world.user("ann").says("hi")
            return (await world.expect("hello ann", within=10)).text
        finally:
            program.terminate()
            await program.wait()
            await world.stop()

    assert asyncio.run(main()) == "hello ann"


@pytest.mark.parametrize("arguments", [[], ["bot.py"], ["-m"], ["-m", "bot"]])
def test_without_a_program_or_an_address_the_usage_is_printed(arguments):
    async def main():
        environment = {name: value for name, value in os.environ.items() if name != "DISCORD_API_BASE"}
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "soundstage.discord",
            *arguments,
            env=environment,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await program.communicate()
        return program.returncode, errors

    code, errors = asyncio.run(main())
    assert code == 1
    assert b"usage: DISCORD_API_BASE=URL" in errors
