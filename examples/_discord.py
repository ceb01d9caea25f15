"""Shared by the bots among the examples: the connection to the real Discord, and its limit of 2,000 characters."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple

from examples._real import PROVIDERS, MissingError, need_extra, variable
from soundstage.agents import (
    AnyWindow,
    AppBuilder,
    ChainSplitter,
    ChatChunk,
    ChatReplyDraft,
    LengthSplitter,
    LengthWindow,
    ParagraphSplitter,
    ParagraphWindow,
    SentenceSplitter,
)
from soundstage.discord import DiscordPyGateway

LIMIT: Final = 2000  # characters of a message, https://discord.com/developers/docs/resources/message
PIECE: Final = LIMIT // 2  # a window that is not full yet and one more piece stay below the limit
VARIABLES: Final = """\
It needs two variables, and the extra `discord`:

  DISCORD_TOKEN       of the bot: https://discord.com/developers/applications, Bot, Reset Token;
                      switch on "Message Content Intent" there, and invite the bot to your server
  DISCORD_CHANNEL_ID  of the channel in which it answers: in Discord, switch on the developer mode
                      (Settings, Advanced), then right-click the channel, Copy Channel ID
"""
KEYS: Final = (
    f"And the key of a model: {' or '.join(provider.key for provider in PROVIDERS)}; calls cost money.\n"
)


class LiveDiscord(NamedTuple):
    """The way to Discord.

    Args:
        gateway: on discord.py.
        channel_id: the one channel in which the bot listens and answers.
    """

    gateway: DiscordPyGateway
    channel_id: int


def live_discord() -> LiveDiscord:
    """Discord, as the environment has it.

    Raises:
        MissingError: if the extra or a variable is not there, or the channel's is no id.
    """
    need_extra("discord", "discord")
    token = variable(
        "DISCORD_TOKEN", what="the token of the bot", hint="see --help; export DISCORD_TOKEN=..."
    )
    channel = variable(
        "DISCORD_CHANNEL_ID",
        what="the id of the channel",
        hint="right-click the channel in Discord, Copy Channel ID; export DISCORD_CHANNEL_ID=...",
    )
    if not (channel.isascii() and channel.isdigit()):
        raise MissingError(
            "the channel is not named by its id",
            expected="DISCORD_CHANNEL_ID is a number, such as 1043597381295784007",
            seen=repr(channel),
            hint="right-click the channel in Discord, Copy Channel ID (it is in the developer mode)",
        )
    return LiveDiscord(DiscordPyGateway(token, channels=[int(channel)]), int(channel))


def say_hello(discord: LiveDiscord) -> None:
    """Tell the person at the terminal what happens."""
    print(f"Answering in the channel {discord.channel_id}; Ctrl-C ends the bot.", file=sys.stderr, flush=True)


def keep_to_limit(app: AppBuilder) -> None:
    """Cut drafts so that each paragraph is a message, and a long one several, between sentences where it can be."""
    pieces = ChainSplitter((ParagraphSplitter(), SentenceSplitter(), LengthSplitter(PIECE)))
    app.with_splitter(ChatReplyDraft, pieces)
    app.with_window(ChatChunk, AnyWindow((ParagraphWindow(), LengthWindow(PIECE))))
