"""The program of the Discord scenario: a bot on discord.py with a model, a slash command and buttons.

It knows nothing of Soundstage: `python -m soundstage.demo.discord_bot` with DISCORD_TOKEN, OPENAI_BASE_URL and
OPENAI_API_KEY runs on the real Discord just as well.
"""

from __future__ import annotations

import logging
import os

import aiohttp
import discord
from discord import app_commands


async def ask(question: str) -> str:
    """Ask the model and return its answer."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": question}]}
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as answer:
        answer.raise_for_status()
        reply = await answer.json()
        return str(reply["choices"][0]["message"]["content"])


class Release(discord.ui.View):
    """Two buttons: somebody else than who asked has to agree."""

    def __init__(self, version: str, asker: discord.abc.User) -> None:
        super().__init__(timeout=60)
        self.version = version
        self.asker = asker

    @discord.ui.button(label="Release", style=discord.ButtonStyle.success)
    async def release(self, interaction: discord.Interaction, _: discord.ui.Button[Release]) -> None:
        """Edits the question, or refuses privately."""
        if interaction.user == self.asker:
            await interaction.response.send_message("Somebody else has to agree.", ephemeral=True)
            return
        self.stop()
        text = f"{self.version} is released; {interaction.user.name} agreed."
        await interaction.response.edit_message(content=text, view=None)

    @discord.ui.button(label="Wait", style=discord.ButtonStyle.secondary)
    async def wait_(self, interaction: discord.Interaction, _: discord.ui.Button[Release]) -> None:
        """Edits the question."""
        self.stop()
        await interaction.response.edit_message(content=f"{self.version} waits.", view=None)


class Bot(discord.Client):
    """Answers questions with the model's words, and has a command `/release`."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.all())
        self.commands = app_commands.CommandTree(self)

    async def setup_hook(self) -> None:
        """Announce the command."""
        self.commands.command(name="release", description="Release a version, if somebody agrees")(release)
        await self.commands.sync()

    async def on_message(self, message: discord.Message) -> None:
        """Reply to what ends with a question mark."""
        if message.author.bot or not message.content.endswith("?"):
            return
        async with message.channel.typing():
            answer = await ask(message.content)
        await message.reply(answer)


async def release(interaction: discord.Interaction, version: str) -> None:
    """The command: asks the channel."""
    view = Release(version, interaction.user)
    await interaction.response.send_message(f"Release {version}?", view=view)


if __name__ == "__main__":
    Bot().run(os.environ["DISCORD_TOKEN"], log_level=logging.WARNING)
