"""A virtual Discord, gateway and REST API on loopback, for bots that do not know that it is not the real one.

`Discord` is the world with its test side. `DiscordGateway` is a narrow seam for apps that want one, with two
peers: `VirtualDiscordGateway` in process on virtual time, and `DiscordPyGateway` on the real library.
"""

from soundstage.worlds.discord._conversation import DiscordScriptedConversation
from soundstage.worlds.discord._discord import Discord
from soundstage.worlds.discord._discordpy import DiscordPyGateway, pointed_at
from soundstage.worlds.discord._events import (
    DiscordAnswered,
    DiscordChannelChanged,
    DiscordCommandsRegistered,
    DiscordGatewayChanged,
    DiscordInteracted,
    DiscordMessageChanged,
    DiscordRateLimited,
    DiscordReacted,
    DiscordTyped,
)
from soundstage.worlds.discord._records import Attachment, Channel, Message, Reaction, User
from soundstage.worlds.discord._seam import ChannelNotFoundError, DiscordGateway, DiscordInboundMessage
from soundstage.worlds.discord._state import Guild
from soundstage.worlds.discord._user import DiscordUser
from soundstage.worlds.discord._virtual import (
    SentMessage,
    VirtualChannel,
    VirtualDiscordGateway,
    VirtualUser,
)

__all__ = [
    "Attachment",
    "Channel",
    "ChannelNotFoundError",
    "Discord",
    "DiscordAnswered",
    "DiscordChannelChanged",
    "DiscordCommandsRegistered",
    "DiscordGateway",
    "DiscordGatewayChanged",
    "DiscordInboundMessage",
    "DiscordInteracted",
    "DiscordMessageChanged",
    "DiscordPyGateway",
    "DiscordRateLimited",
    "DiscordReacted",
    "DiscordScriptedConversation",
    "DiscordTyped",
    "DiscordUser",
    "Guild",
    "Message",
    "Reaction",
    "SentMessage",
    "User",
    "VirtualChannel",
    "VirtualDiscordGateway",
    "VirtualUser",
    "pointed_at",
]
