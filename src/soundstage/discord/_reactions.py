"""Emoji under messages. Each function does all three steps of `_platform`."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from soundstage.discord import _payloads as payloads
from soundstage.discord._events import DiscordReacted
from soundstage.discord._platform import Platform
from soundstage.discord._records import DiscordMessage, Reaction

Change = Literal["added", "removed"]
_CUSTOM: Final = re.compile(r"<?(?:a?:)?(?P<name>\w+):(?P<id>\d+)>?")


def emoji_key(text: str) -> str:
    """An emoji as it is kept: a Unicode one as it is, a custom one as `name:id` however it was written."""
    found = _CUSTOM.fullmatch(text)
    return f"{found['name']}:{found['id']}" if found else text


def react(platform: Platform, message: DiscordMessage, emoji: str, user_id: int) -> None:
    """Put an emoji under a message; harmless when it is there."""
    known = {reaction.emoji: reaction.users for reaction in message.reactions}
    if user_id in known.get(emoji, ()):
        return
    known[emoji] = (*known.get(emoji, ()), user_id)
    _put_reactions(platform, message, known)
    member = platform.state.members.get(user_id)
    extra: dict[str, Any] = {"member": payloads.member(platform.state, member)} if member else {}
    extra["message_author_id"] = str(message.author_id)
    _tell_reaction(platform, message, "added", emoji, user_id, extra)


def unreact(platform: Platform, message: DiscordMessage, emoji: str, user_id: int) -> None:
    """Take an emoji away; harmless when it is not there."""
    known = {reaction.emoji: reaction.users for reaction in message.reactions}
    if user_id not in known.get(emoji, ()):
        return
    known[emoji] = tuple(user for user in known[emoji] if user != user_id)
    _put_reactions(platform, message, known)
    _tell_reaction(platform, message, "removed", emoji, user_id, {})


def clear_reactions(platform: Platform, message: DiscordMessage, emoji: str | None = None) -> None:
    """Take away all emoji, or all of one kind."""
    known = {} if emoji is None else {item.emoji: item.users for item in message.reactions}
    gone = [item for item in message.reactions if emoji in (None, item.emoji)]
    known.pop(emoji or "", None)
    _put_reactions(platform, message, known)
    channel = platform.state.channels[message.channel_id]
    for reaction in gone:
        for user_id in reaction.users:
            _note_reaction(platform, message, "removed", reaction.emoji, user_id)
    where = {"channel_id": str(channel.id), "message_id": str(message.id)}
    if emoji is None:
        platform.tell("MESSAGE_REACTION_REMOVE_ALL", channel, where)
    else:
        platform.tell("MESSAGE_REACTION_REMOVE_EMOJI", channel, where | {"emoji": payloads.emoji(emoji)})


def _put_reactions(platform: Platform, message: DiscordMessage, known: dict[str, tuple[int, ...]]) -> None:
    kept = tuple(Reaction(emoji=emoji, users=users) for emoji, users in known.items() if users)
    platform.state.put(msgspec.structs.replace(message, reactions=kept))


def _note_reaction(
    platform: Platform, message: DiscordMessage, change: Change, emoji: str, user_id: int
) -> None:
    label = platform.state.label(platform.state.channels[message.channel_id])
    event = DiscordReacted(change=change, emoji=emoji, channel=label, sender=platform.name(user_id))
    platform.record(event, platform.positions.get(message.id))


def _tell_reaction(
    platform: Platform,
    message: DiscordMessage,
    change: Change,
    emoji: str,
    user_id: int,
    extra: dict[str, Any],
) -> None:
    _note_reaction(platform, message, change, emoji, user_id)
    data = {
        "user_id": str(user_id),
        "channel_id": str(message.channel_id),
        "message_id": str(message.id),
        "emoji": payloads.emoji(emoji),
        "burst": False,
        "type": 0,
    }
    event = f"MESSAGE_REACTION_{'ADD' if change == 'added' else 'REMOVE'}"
    platform.tell(event, platform.state.channels[message.channel_id], data | extra)
