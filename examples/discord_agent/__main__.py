"""Runs the bot on Discord, with a real model and the journal in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from examples._discord import KEYS, VARIABLES, live_discord, say_hello
from examples._real import live_model, model_parser, run_real, start
from examples.discord_agent import configure

ABOUT = f"""\
Answers what people write in one channel of Discord with a model. Ctrl-C ends it.

  $ export DISCORD_TOKEN=... DISCORD_CHANNEL_ID=... OPENAI_API_KEY=...
  $ python -m examples.discord_agent

{VARIABLES}
{KEYS}
The journal of all runs is in discord_agent.jsonl unless --journal names another file.
"""


async def main(options: argparse.Namespace) -> None:
    """Until it is interrupted."""
    discord, model = live_discord(), live_model(options.model)
    say_hello(discord)
    configured = configure(discord.channel_id)
    await run_real(configured, model=model, discord=discord.gateway, journal=options.journal)


if __name__ == "__main__":
    arguments = model_parser("examples.discord_agent", ABOUT)
    arguments.set_defaults(journal=Path("discord_agent.jsonl"))
    start(arguments, main)
