"""Two ways to run a bot of the examples: in process on a virtual gateway, and as a program with discord.py.

As a program it is the one that a person starts, on a Discord on loopback. In both ways there are the channels
`general`, which is the bot's own, and `random`.
"""

from __future__ import annotations

import sys

from soundstage import Script
from soundstage.agents import configured_app
from soundstage.discord import Discord, VirtualDiscordGateway, discord_of
from soundstage.host import HostBuilder
from soundstage.journal import MessageReceived
from support.ways import ROOT, start_alone

GENERAL = 1001  # the id of the channel in process


def in_process(bot, *more, journal=None):
    """The bot's own configuration, and what a test changes in it, with a strict script."""
    builder = HostBuilder().add(VirtualDiscordGateway).with_app(configured_app(bot.configure(GENERAL), *more))
    builder.with_script(Script(strict=True))
    return builder if journal is None else builder.with_journal(journal)


def as_program(bot, *arguments, journal=None, variables=None, **options):
    """`python -m examples...` with discord.py pointed at the loopback, and a strict script on a port."""
    kept = [] if journal is None else ["--journal", journal]
    launcher = [sys.executable, "-m", "soundstage.discord"]
    builder = HostBuilder().add(Discord, channels=["general", "random"]).with_script(Script(strict=True))
    argv = [*launcher, "-m", bot.__name__, *arguments, *kept]

    def environment(host):
        channel = {"DISCORD_CHANNEL_ID": str(discord_of(host).channel("general").id)}
        return {**channel, "PYTHONPATH": str(ROOT), **(variables or {})}  # it runs in a throw-away home

    # a busy machine may take its time; in process, the 5 s of every expectation are enough
    return builder.with_timeout(30).with_program(argv, environment=environment, **options)


def start_bot_alone(bot, *arguments, **environment):
    """The program without a host and without variables, but those that are given."""
    without = {"DISCORD_TOKEN": "", "DISCORD_CHANNEL_ID": ""}
    return start_alone(bot, *arguments, **{**without, **environment})


def said(host):
    """The bot's messages, in order."""
    return [message.text for message in discord_of(host).sent_messages]


def heard(host):
    """The messages of people, in order."""
    return [record.event.text for record in host.journal.read(type=MessageReceived)]


WAYS = {"in process": in_process, "program": as_program}
