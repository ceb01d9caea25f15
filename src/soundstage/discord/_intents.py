"""Intents: which events a bot asks for, and which of them Discord has to allow. Pure.

Source: https://discord.com/developers/docs/events/gateway#gateway-intents
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from soundstage.errors import ScriptError

INTENTS: Final = {
    "GUILDS": 1 << 0,
    "GUILD_MEMBERS": 1 << 1,
    "GUILD_MODERATION": 1 << 2,
    "GUILD_EXPRESSIONS": 1 << 3,
    "GUILD_INTEGRATIONS": 1 << 4,
    "GUILD_WEBHOOKS": 1 << 5,
    "GUILD_INVITES": 1 << 6,
    "GUILD_VOICE_STATES": 1 << 7,
    "GUILD_PRESENCES": 1 << 8,
    "GUILD_MESSAGES": 1 << 9,
    "GUILD_MESSAGE_REACTIONS": 1 << 10,
    "GUILD_MESSAGE_TYPING": 1 << 11,
    "DIRECT_MESSAGES": 1 << 12,
    "DIRECT_MESSAGE_REACTIONS": 1 << 13,
    "DIRECT_MESSAGE_TYPING": 1 << 14,
    "MESSAGE_CONTENT": 1 << 15,
    "GUILD_SCHEDULED_EVENTS": 1 << 16,
    "AUTO_MODERATION_CONFIGURATION": 1 << 20,
    "AUTO_MODERATION_EXECUTION": 1 << 21,
    "GUILD_MESSAGE_POLLS": 1 << 24,
    "DIRECT_MESSAGE_POLLS": 1 << 25,
}
KNOWN: Final = sum(INTENTS.values())
PRIVILEGED: Final = ("GUILD_MEMBERS", "GUILD_PRESENCES", "MESSAGE_CONTENT")

# intent -> flag of the application that says that it may be used
APPLICATION_FLAGS: Final = {"GUILD_PRESENCES": 1 << 13, "GUILD_MEMBERS": 1 << 15, "MESSAGE_CONTENT": 1 << 19}


class Needs(NamedTuple):
    """The intents without which an event is not sent: in the guild, and in conversations of two."""

    guild: int
    private: int = 0


_MESSAGES: Final = Needs(INTENTS["GUILD_MESSAGES"], INTENTS["DIRECT_MESSAGES"])
_REACTIONS: Final = Needs(INTENTS["GUILD_MESSAGE_REACTIONS"], INTENTS["DIRECT_MESSAGE_REACTIONS"])
_GUILDS: Final = Needs(INTENTS["GUILDS"])
_MEMBERS: Final = Needs(INTENTS["GUILD_MEMBERS"])

# event -> intents; events that are not here are always sent
NEEDS: Final = {
    "GUILD_CREATE": _GUILDS,
    "GUILD_ROLE_UPDATE": _GUILDS,
    "CHANNEL_CREATE": _GUILDS,
    "CHANNEL_UPDATE": _GUILDS,
    "CHANNEL_DELETE": _GUILDS,
    "CHANNEL_PINS_UPDATE": Needs(INTENTS["GUILDS"], INTENTS["DIRECT_MESSAGES"]),
    "THREAD_CREATE": _GUILDS,
    "THREAD_UPDATE": _GUILDS,
    "THREAD_DELETE": _GUILDS,
    "THREAD_MEMBERS_UPDATE": _GUILDS,
    "GUILD_MEMBER_ADD": _MEMBERS,
    "MESSAGE_CREATE": _MESSAGES,
    "MESSAGE_UPDATE": _MESSAGES,
    "MESSAGE_DELETE": _MESSAGES,
    "MESSAGE_DELETE_BULK": _MESSAGES,
    "MESSAGE_REACTION_ADD": _REACTIONS,
    "MESSAGE_REACTION_REMOVE": _REACTIONS,
    "MESSAGE_REACTION_REMOVE_ALL": _REACTIONS,
    "MESSAGE_REACTION_REMOVE_EMOJI": _REACTIONS,
    "TYPING_START": Needs(INTENTS["GUILD_MESSAGE_TYPING"], INTENTS["DIRECT_MESSAGE_TYPING"]),
}


def wants(intents: int, event: str, *, private: bool) -> bool:
    """Whether a session with these intents gets an event."""
    needs = NEEDS.get(event)
    if needs is None:
        return True
    wanted = needs.private if private else needs.guild
    return not wanted or bool(intents & wanted)


def disallowed(intents: int, allowed: Iterable[str]) -> list[str]:
    """The privileged intents among `intents` that the application may not use."""
    permitted = set(allowed)
    return [name for name in PRIVILEGED if intents & INTENTS[name] and name not in permitted]


def check_privileged(names: Iterable[str]) -> tuple[str, ...]:
    """The names, if all are privileged intents.

    Raises:
        ScriptError: if one is not.
    """
    given = tuple(names)
    for name in given:
        if name not in PRIVILEGED:
            raise ScriptError(
                f"{name!r} is not a privileged intent", expected="some of " + ", ".join(PRIVILEGED)
            )
    return given


def application_flags(allowed: Iterable[str]) -> int:
    """The flags of an application that may use these privileged intents."""
    return sum(APPLICATION_FLAGS[name] for name in allowed)
