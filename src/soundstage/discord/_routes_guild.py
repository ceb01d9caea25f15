"""REST routes of the bot itself, other users, the guild, and where the gateway is.

Source: https://discord.com/developers/docs/resources/guild and its neighbours
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.discord import _channels as channels
from soundstage.discord import _payloads as payloads
from soundstage.discord._call import Call, Route
from soundstage.discord._drafts import number
from soundstage.discord._intents import application_flags
from soundstage.discord._problems import NO_DMS, UNKNOWN_GUILD, RestRefused, invalid
from soundstage.discord._records import ChannelType
from soundstage.discord._state import State

MOST_MEMBERS: Final = 1000
LONGEST_NAME: Final = 32


def get_gateway(call: Call) -> Any:
    return {"url": call.platform.settings.gateway}


def get_gateway_bot(call: Call) -> Any:
    limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
    return {"url": call.platform.settings.gateway, "shards": 1, "session_start_limit": limit}


def get_application(call: Call) -> Any:
    return payloads.application(call.platform.state, application_flags(call.platform.settings.privileged))


# users


def get_me(call: Call) -> Any:
    return payloads.user(call.platform.state.bot) | {"verified": True, "email": None, "mfa_enabled": False}


def edit_me(call: Call) -> Any:
    state = call.platform.state
    if "username" in call.fields:
        newer = msgspec.structs.replace(state.bot, name=call.text("username", LONGEST_NAME))
        state.bot = state.users[newer.id] = newer
    return get_me(call)


def get_user(call: Call) -> Any:
    return payloads.user(call.platform.state.user(call.params["user_id"]))


def list_my_guilds(call: Call) -> Any:
    guild = call.platform.state.guild
    mine = str(call.platform.state.permissions(call.me))
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "owner": False,
            "permissions": mine,
            "features": [],
        }
    ]


def open_private(call: Call) -> Any:
    other = call.platform.state.user(number("recipient_id", call.fields.get("recipient_id") or ""))
    if other.id == call.me:
        raise RestRefused(NO_DMS)
    return payloads.channel(call.platform.state, channels.open_private(call.platform, other.id))


# the guild


def _guild(call: Call) -> State:
    if call.params["guild_id"] != call.platform.state.guild.id:
        raise RestRefused(UNKNOWN_GUILD)
    return call.platform.state


def get_guild(call: Call) -> Any:
    return payloads.guild(_guild(call))


def list_channels(call: Call) -> Any:
    state = _guild(call)
    found = [
        item for item in state.channels.values() if item.type is not ChannelType.DM and not item.is_thread
    ]
    return [payloads.channel(state, item) for item in found]


def make_channel(call: Call) -> Any:
    state, given = _guild(call), call.fields.get("type", 0)
    call.platform.state.need_in_guild(call.me, "MANAGE_CHANNELS")
    if given not in (ChannelType.TEXT, ChannelType.VOICE, ChannelType.CATEGORY, ChannelType.NEWS):
        raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of (0, 2, 4, 5).")
    parent = call.fields.get("parent_id")
    channel = channels.make_channel(
        call.platform,
        call.text("name", 100),
        by=call.platform.name(call.me),
        type=ChannelType(given),
        topic=call.fields.get("topic"),
        parent_id=number("parent_id", parent) if parent else None,
    )
    return payloads.channel(state, channel)


def list_active_threads(call: Call) -> Any:
    state = _guild(call)
    threads = list(state.threads())
    mine = [payloads.thread_member(thread, call.me) for thread in threads if call.me in thread.members]
    return {"threads": [payloads.channel(state, thread) for thread in threads], "members": mine}


def list_members(call: Call) -> Any:
    state = _guild(call)
    after, limit = call.id_in_query("after") or 0, call.whole("limit", 1, MOST_MEMBERS)
    found = sorted(item.user_id for item in state.members.values() if item.user_id > after)
    return [payloads.member(state, state.members[user]) for user in found[:limit]]


def search_members(call: Call) -> Any:
    state = _guild(call)
    start, limit = call.query.get("query", "").lower(), call.whole("limit", 1, MOST_MEMBERS)
    found = [
        item for item in state.members.values() if state.users[item.user_id].name.lower().startswith(start)
    ]
    return [payloads.member(state, item) for item in found[:limit]]


def get_member(call: Call) -> Any:
    state = _guild(call)
    return payloads.member(state, state.member(call.params["user_id"]))


def list_roles(call: Call) -> Any:
    return [payloads.role(role) for role in _guild(call).roles.values()]


_GUILD: Final = "/guilds/{guild_id}"

ROUTES: Final = (
    Route("GET", "/gateway", get_gateway, token=False),
    Route("GET", "/gateway/bot", get_gateway_bot),
    Route("GET", "/oauth2/applications/@me", get_application),
    Route("GET", "/applications/@me", get_application),
    Route("GET", "/users/@me", get_me),
    Route("PATCH", "/users/@me", edit_me),
    Route("GET", "/users/@me/guilds", list_my_guilds),
    Route("POST", "/users/@me/channels", open_private),
    Route("GET", "/users/{user_id}", get_user),
    Route("GET", _GUILD, get_guild),
    Route("GET", _GUILD + "/channels", list_channels),
    Route("POST", _GUILD + "/channels", make_channel),
    Route("GET", _GUILD + "/threads/active", list_active_threads),
    Route("GET", _GUILD + "/members", list_members),
    Route("GET", _GUILD + "/members/search", search_members),
    Route("GET", _GUILD + "/members/{user_id}", get_member),
    Route("GET", _GUILD + "/roles", list_roles),
)
