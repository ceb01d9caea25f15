"""Records as Discord's JSON. Pure.

Source: https://discord.com/developers/docs/resources/message and its neighbours; every key that discord.py
reads is there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from soundstage.discord._records import (
    ApplicationCommand,
    Attachment,
    Channel,
    ChannelType,
    DiscordMessage,
    Member,
    Reaction,
    Role,
    User,
)
from soundstage.discord._state import State

Json = dict[str, Any]


def stamp(moment: datetime) -> str:
    """A moment as Discord writes it."""
    return moment.isoformat(timespec="microseconds")


def optional_id(value: int | None) -> str | None:
    """An id on the wire, or null."""
    return None if value is None else str(value)


def user(record: User) -> Json:
    return {
        "id": str(record.id),
        "username": record.name,
        "global_name": None if record.bot else record.name,
        "discriminator": "0",
        "avatar": None,
        "bot": record.bot,
        "public_flags": 0,
    }


def member(state: State, record: Member, *, with_user: bool = True) -> Json:
    payload: Json = {
        "nick": record.nick,
        "avatar": None,
        "roles": [str(role) for role in record.roles],
        "joined_at": stamp(record.joined_at),
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
        "communication_disabled_until": None,
    }
    return {"user": user(state.users[record.user_id]), **payload} if with_user else payload


def role(record: Role) -> Json:
    return {
        "id": str(record.id),
        "name": record.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": record.position,
        "permissions": str(record.permissions),
        "managed": record.managed,
        "mentionable": False,
        "flags": 0,
    }


def channel(state: State, record: Channel) -> Json:
    """A channel, a thread or a conversation of two; each kind has its own keys."""
    messages = state.history(record.id)
    payload: Json = {
        "id": str(record.id),
        "type": int(record.type),
        "last_message_id": optional_id(messages[-1].id if messages else None),
        "flags": 0,
    }
    if record.type is ChannelType.DM:
        others = [user(state.users[other]) for other in record.recipients if other != state.bot.id]
        return {**payload, "recipients": others}
    payload |= {
        "guild_id": str(state.guild.id),
        "name": record.name,
        "parent_id": optional_id(record.parent_id),
        "rate_limit_per_user": 0,
    }
    return payload | (_thread(state, record) if record.is_thread else _guild_channel(record))


def _guild_channel(record: Channel) -> Json:
    payload: Json = {
        "topic": record.topic,
        "position": record.position,
        "nsfw": False,
        "permission_overwrites": [
            {"id": str(item.id), "type": item.kind, "allow": str(item.allow), "deny": str(item.deny)}
            for item in record.overwrites
        ],
    }
    return payload | ({"bitrate": 64000, "user_limit": 0} if record.type is ChannelType.VOICE else {})


def _thread(state: State, record: Channel) -> Json:
    count = len(state.history(record.id))
    payload: Json = {
        "owner_id": str(record.owner_id),
        "message_count": count,
        "total_message_sent": count,
        "member_count": len(record.members),
        "thread_metadata": {
            "archived": record.archived,
            "auto_archive_duration": record.archive_minutes,
            "archive_timestamp": stamp(record.created_at),
            "locked": record.locked,
            "create_timestamp": stamp(record.created_at),
        },
    }
    mine = {"member": thread_member(record, state.bot.id)} if state.bot.id in record.members else {}
    return payload | mine


def thread_member(record: Channel, user_id: int) -> Json:
    return {
        "id": str(record.id),
        "user_id": str(user_id),
        "join_timestamp": stamp(record.created_at),
        "flags": 0,
    }


def attachment(record: Attachment) -> Json:
    payload: Json = {
        "id": str(record.id),
        "filename": record.filename,
        "size": record.size,
        "url": record.url,
        "proxy_url": record.url,
        "content_type": record.content_type,
    }
    return payload | ({"description": record.description} if record.description else {})


def emoji(key: str) -> Json:
    """An emoji by its key: a Unicode one, or `name:id` for a custom one."""
    name, _, number = key.rpartition(":")
    return {"id": number, "name": name} if name and number.isdigit() else {"id": None, "name": key}


def reaction(state: State, record: Reaction) -> Json:
    return {
        "emoji": emoji(record.emoji),
        "count": len(record.users),
        "count_details": {"burst": 0, "normal": len(record.users)},
        "me": state.bot.id in record.users,
        "me_burst": False,
        "burst_colors": [],
    }


def message(state: State, record: DiscordMessage, *, nested: bool = False) -> Json:
    """A message; the one that it replies to is inside, unless this one is inside another itself."""
    payload: Json = {
        "id": str(record.id),
        "channel_id": str(record.channel_id),
        "author": user(state.users[record.author_id]),
        "content": record.content,
        "timestamp": stamp(record.sent_at),
        "edited_timestamp": stamp(record.edited_at) if record.edited_at else None,
        "tts": record.tts,
        "mention_everyone": "@everyone" in record.content,
        "mentions": [user(state.users[mentioned]) for mentioned in record.mentions],
        "mention_roles": [],
        "attachments": [attachment(item) for item in record.attachments],
        "embeds": list(record.embeds),
        "components": list(record.components),
        "pinned": record.pinned,
        "type": int(record.type),
        "flags": record.flags,
    }
    if record.reactions:
        payload["reactions"] = [reaction(state, item) for item in record.reactions]
    if record.nonce is not None:
        payload["nonce"] = record.nonce
    if record.answers is not None:
        payload |= {
            "interaction_metadata": record.answers,
            "webhook_id": str(state.bot.id),
            "application_id": str(state.bot.id),
        }
    if record.id in state.channels:
        payload["thread"] = channel(state, state.channels[record.id])
    return payload if record.reply_to is None else payload | _reference(state, record, nested=nested)


def _reference(state: State, record: DiscordMessage, *, nested: bool) -> Json:
    where = state.channels[record.channel_id]
    reference: Json = {
        "type": 0,
        "message_id": str(record.reply_to),
        "channel_id": str(record.channel_id),
        "fail_if_not_exists": True,
    }
    if where.type is not ChannelType.DM:
        reference["guild_id"] = str(state.guild.id)
    if nested:
        return {"message_reference": reference}
    known = state.messages.get(record.channel_id, {}).get(record.reply_to or 0)
    inner = None if known is None else message(state, known, nested=True)
    return {"message_reference": reference, "referenced_message": inner}


def without_content(payload: Json) -> Json:
    """A message as a bot sees it that may not read what users write."""
    return payload | {"content": "", "embeds": [], "attachments": [], "components": []}


def guild(state: State) -> Json:
    """The guild as `GUILD_CREATE` and the REST API give it."""
    record = state.guild
    return {
        "id": str(record.id),
        "name": record.name,
        "icon": None,
        "splash": None,
        "owner_id": str(record.owner_id),
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 1,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "system_channel_id": None,
        "system_channel_flags": 0,
        "features": [],
        "emojis": [],
        "stickers": [],
        "roles": [role(item) for item in state.roles.values()],
        "approximate_member_count": len(state.members),
    }


def guild_create(state: State) -> Json:
    """The guild with everything in it, as a session gets it after `READY`."""
    first = next(iter(state.members.values()))
    places = [item for item in state.channels.values() if item.type is not ChannelType.DM]
    return guild(state) | {
        "unavailable": False,
        "large": False,
        "joined_at": stamp(first.joined_at),
        "member_count": len(state.members),
        "members": [member(state, item) for item in state.members.values()],
        "channels": [channel(state, item) for item in places if not item.is_thread],
        "threads": [channel(state, item) for item in state.threads()],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def application(state: State, flags: int) -> Json:
    """The application that the bot belongs to; its id is the bot's."""
    return {
        "id": str(state.bot.id),
        "name": state.bot.name,
        "icon": None,
        "description": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": flags,
        "owner": user(state.users[state.guild.owner_id]),
        "team": None,
        "bot": user(state.bot),
        "interactions_endpoint_url": None,
        "approximate_guild_count": 1,
    }


def command(state: State, record: ApplicationCommand) -> Json:
    """A command as it was registered, with what Discord adds."""
    defaults: Json = {
        "description": "",
        "type": record.type,
        "default_member_permissions": None,
        "nsfw": False,
    }
    scope = {"guild_id": str(record.guild_id)} if record.guild_id else {}
    known = {"id": str(record.id), "application_id": str(state.bot.id), "version": str(record.id), **scope}
    return defaults | record.spec | known
