"""Permissions: the bits by name, and what a member may do in a channel. Pure.

Source: https://discord.com/developers/docs/topics/permissions
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from soundstage.discord._records import Channel, ChannelType, Member, Overwrite, Role
from soundstage.errors import ScriptError

_NAMES: Final = (
    "CREATE_INSTANT_INVITE KICK_MEMBERS BAN_MEMBERS ADMINISTRATOR MANAGE_CHANNELS MANAGE_GUILD ADD_REACTIONS"
    " VIEW_AUDIT_LOG PRIORITY_SPEAKER STREAM VIEW_CHANNEL SEND_MESSAGES SEND_TTS_MESSAGES MANAGE_MESSAGES"
    " EMBED_LINKS ATTACH_FILES READ_MESSAGE_HISTORY MENTION_EVERYONE USE_EXTERNAL_EMOJIS VIEW_GUILD_INSIGHTS"
    " CONNECT SPEAK MUTE_MEMBERS DEAFEN_MEMBERS MOVE_MEMBERS USE_VAD CHANGE_NICKNAME MANAGE_NICKNAMES"
    " MANAGE_ROLES MANAGE_WEBHOOKS MANAGE_GUILD_EXPRESSIONS USE_APPLICATION_COMMANDS REQUEST_TO_SPEAK"
    " MANAGE_EVENTS MANAGE_THREADS CREATE_PUBLIC_THREADS CREATE_PRIVATE_THREADS USE_EXTERNAL_STICKERS"
    " SEND_MESSAGES_IN_THREADS USE_EMBEDDED_ACTIVITIES MODERATE_MEMBERS"
)
BITS: Final = {name: 1 << place for place, name in enumerate(_NAMES.split())}
EVERYTHING: Final = sum(BITS.values())
ADMINISTRATOR: Final = BITS["ADMINISTRATOR"]
_POWERS: Final = (
    "KICK_MEMBERS BAN_MEMBERS ADMINISTRATOR MANAGE_CHANNELS MANAGE_GUILD VIEW_AUDIT_LOG MANAGE_MESSAGES"
    " MENTION_EVERYONE VIEW_GUILD_INSIGHTS MUTE_MEMBERS DEAFEN_MEMBERS MOVE_MEMBERS MANAGE_NICKNAMES"
    " MANAGE_ROLES MANAGE_WEBHOOKS MANAGE_GUILD_EXPRESSIONS MANAGE_EVENTS MANAGE_THREADS MODERATE_MEMBERS"
)
USUAL: Final = EVERYTHING & ~sum(BITS[name] for name in _POWERS.split())  # what @everyone may do
OF_BOT: Final = EVERYTHING & ~ADMINISTRATOR

# In a thread, this permission counts instead of the one for its channel.
_IN_THREADS: Final = {"SEND_MESSAGES": "SEND_MESSAGES_IN_THREADS"}


def bit(name: str) -> int:
    """The bit of a permission.

    Raises:
        ScriptError: if there is none of this name.
    """
    if name not in BITS:
        raise ScriptError(
            f"{name!r} is not a permission of Discord",
            expected="one of " + ", ".join(sorted(BITS)),
            hint="the names are those of Discord's documentation, in upper case",
        )
    return BITS[name]


def permissions(member: Member, roles: Iterable[Role], channel: Channel | None, owner_id: int) -> int:
    """The permissions of a member, in a channel or in the guild as a whole.

    Args:
        member: who.
        roles: the roles of the guild that the member has, @everyone among them.
        channel: where; for a thread, its parent. `None` for the guild.
        owner_id: who owns the guild and may do everything.
    """
    if member.user_id == owner_id:
        return EVERYTHING
    mine = tuple(roles)
    allowed = 0
    for role in mine:
        allowed |= role.permissions
    if allowed & ADMINISTRATOR:
        return EVERYTHING
    if channel is None:
        return allowed
    everyone, others, own = _sorted(channel.overwrites, member, mine)
    for group in (everyone, others, own):
        allowed = _overwritten(allowed, group)
    return allowed


def _sorted(
    overwrites: Iterable[Overwrite], member: Member, roles: tuple[Role, ...]
) -> list[list[Overwrite]]:
    """The overwrites that concern a member, in the order in which they are applied."""
    groups: list[list[Overwrite]] = [[], [], []]
    ids = {role.id: 1 for role in roles if not role.is_everyone} | {
        role.id: 0 for role in roles if role.is_everyone
    }
    for overwrite in overwrites:
        place = 2 if overwrite.id == member.user_id else ids.get(overwrite.id)
        if place is not None:
            groups[place].append(overwrite)
    return groups


def _overwritten(allowed: int, overwrites: list[Overwrite]) -> int:
    deny = allow = 0
    for overwrite in overwrites:
        deny |= overwrite.deny
        allow |= overwrite.allow
    return (allowed & ~deny) | allow


def missing(allowed: int, names: Iterable[str], channel: Channel) -> str | None:
    """The first permission of `names` that is not among `allowed`; a channel that is not seen hides all else."""
    for name in ("VIEW_CHANNEL", *names):
        wanted = _IN_THREADS.get(name, name) if channel.is_thread else name
        if not allowed & BITS[wanted]:
            return wanted
    return None


def all_in_private(channel: Channel) -> bool:
    """Whether permissions do not matter, because the channel is a conversation of two."""
    return channel.type is ChannelType.DM
