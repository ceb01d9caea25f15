"""Runs the bot on Discord."""

from __future__ import annotations

import argparse

from examples._discord import VARIABLES, live_discord, say_hello
from examples._real import parser, run_real, start
from examples.discord_streaming import configure

ABOUT = f"""\
Reads aloud what people write in one channel of Discord: each sentence is a message. Ctrl-C ends it.

  $ export DISCORD_TOKEN=... DISCORD_CHANNEL_ID=...
  $ python -m examples.discord_streaming

{VARIABLES}
It asks no model.
"""


async def main(options: argparse.Namespace) -> None:
    """Until it is interrupted."""
    discord = live_discord()
    say_hello(discord)
    await run_real(configure(discord.channel_id), discord=discord.gateway, journal=options.journal)


if __name__ == "__main__":
    start(parser("examples.discord_streaming", ABOUT), main)
