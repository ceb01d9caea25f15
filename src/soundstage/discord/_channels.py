"""Channels, threads and conversations of two: made and changed, by the bot or by a user."""

from __future__ import annotations

import msgspec

from soundstage.discord import _payloads as payloads
from soundstage.discord._events import DiscordChannelChanged
from soundstage.discord._platform import Platform
from soundstage.discord._problems import THREAD_EXISTS, WRONG_TYPE, RestRefused
from soundstage.discord._records import (
    Channel,
    ChannelType,
    DiscordMessage,
    MessageFlag,
    Overwrite,
)

replace = msgspec.structs.replace


def make_channel(
    platform: Platform,
    name: str,
    *,
    by: str,
    type: ChannelType = ChannelType.TEXT,  # noqa: A002
    topic: str | None = None,
    parent_id: int | None = None,
    fixed: bool = False,
) -> Channel:
    """Add a channel to the guild."""
    channel = Channel(
        id=platform.snowflakes.fixed() if fixed else platform.snowflakes.draw(),
        type=type,
        created_at=platform.now(),
        name=name,
        topic=topic,
        parent_id=parent_id,
        position=len(platform.state.channels),
    )
    platform.keep_channel(channel, "created", by=by)
    return channel


def make_thread(
    platform: Platform,
    parent: Channel,
    name: str,
    *,
    by: int,
    message: DiscordMessage | None = None,
    type: ChannelType = ChannelType.PUBLIC_THREAD,  # noqa: A002
    archive_minutes: int = 1440,
) -> Channel:
    """Start a thread, under a message or on its own. Under a message it has that message's id."""
    state = platform.state
    if parent.type not in (ChannelType.TEXT, ChannelType.NEWS):
        raise RestRefused(WRONG_TYPE)
    if message is not None and message.id in state.channels:
        raise RestRefused(THREAD_EXISTS)
    thread = Channel(
        id=message.id if message else platform.snowflakes.draw(),
        type=type,
        created_at=platform.now(),
        name=name,
        parent_id=parent.id,
        owner_id=by,
        members=tuple(dict.fromkeys((by, state.bot.id))),
        archive_minutes=archive_minutes,
    )
    platform.keep_channel(thread, "created", by=platform.name(by), newly_created=True)
    if message is not None:
        newer = replace(message, flags=message.flags | MessageFlag.HAS_THREAD)
        state.put(newer)
        platform.tell_message("MESSAGE_UPDATE", newer)
    return thread


def open_private(platform: Platform, user_id: int) -> Channel:
    """The conversation of the bot with a user; made if they have none."""
    state = platform.state
    known = state.private(user_id)
    if known is not None:
        return known
    channel = Channel(
        id=platform.snowflakes.draw(),
        type=ChannelType.DM,
        created_at=platform.now(),
        recipients=(user_id, state.bot.id),
    )
    platform.keep_channel(channel, "created", by=platform.name(user_id))
    return channel


def change_channel(platform: Platform, channel: Channel, *, by: str, **changes: object) -> Channel:
    """Change a channel or thread."""
    newer = replace(channel, **changes)
    platform.keep_channel(newer, "changed", by=by)
    return newer


def delete_channel(platform: Platform, channel: Channel, *, by: str) -> None:
    """Delete a channel with its threads."""
    for thread in [item for item in platform.state.channels.values() if item.parent_id == channel.id]:
        if thread.is_thread:
            platform.keep_channel(thread, "deleted", by=by)
    platform.keep_channel(channel, "deleted", by=by)


def set_thread_member(platform: Platform, thread: Channel, user_id: int, *, joined: bool) -> None:
    """A user joins or leaves a thread."""
    others = tuple(user for user in thread.members if user != user_id)
    newer = replace(thread, members=(*others, user_id) if joined else others)
    platform.state.channels[thread.id] = newer
    platform.record(
        DiscordChannelChanged(
            change="changed",
            channel=platform.state.label(newer),
            kind="thread",
            by=platform.name(user_id),
        )
    )
    data = {"id": str(thread.id), "member_count": len(newer.members)}
    added = {"added_members": [payloads.thread_member(newer, user_id)]}
    removed = {"removed_member_ids": [str(user_id)]}
    platform.tell("THREAD_MEMBERS_UPDATE", newer, data | (added if joined else removed))


def overwrite(platform: Platform, channel: Channel, item: Overwrite, *, by: str) -> None:
    """Set what a role or member may do in a channel; an overwrite without any bit is removed."""
    kept = tuple(other for other in channel.overwrites if other.id != item.id)
    wanted = (*kept, item) if item.allow or item.deny else kept
    change_channel(platform, channel, by=by, overwrites=wanted)
