"""Let a test do to a Discord the things that no user can: limits, permissions, broken connections."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from soundstage.discord import _channels as channels
from soundstage.discord import _payloads as payloads
from soundstage.discord._gateway import INVALID, RECONNECT
from soundstage.discord._limits import Limit
from soundstage.discord._permissions import bit
from soundstage.discord._platform import Platform
from soundstage.discord._records import Channel, Member, Overwrite, User
from soundstage.discord._rest import ROUTES, RestApi
from soundstage.discord._sessions import GatewayClose, encode
from soundstage.errors import ScriptError, near_names
from soundstage.journal import Noted

BY: Final = "the test"
MEMBER: Final = 1


def rate_limit(api: RestApi, route: str | None, *, times: int, retry_after: float) -> None:
    """Refuse the next requests of a route, or of all.

    Raises:
        ScriptError: if there is no such route.
        ValueError: if a number makes no sense.
    """
    if times < 1:
        raise ValueError(f"a limit refuses at least one request, got times={times}")
    if not 0 <= retry_after < math.inf:
        raise ValueError(f"retry_after is a number of seconds, got {retry_after!r}")
    known = {known.key for known in ROUTES}
    if route is not None and route not in known:
        near = near_names(route, known, cutoff=0.3)
        raise ScriptError(
            f"there is no route {route!r}",
            expected="a method and a path as Discord documents it",
            seen="near it: " + ", ".join(near) if near else "nothing like it",
            hint='rate_limit("POST /channels/{channel_id}/messages"), or rate_limit() for all',
        )
    api.limits.add(Limit(route, times, retry_after))


def permit(platform: Platform, permission: str, channel: Channel | None, *, allowed: bool) -> None:
    """Let the bot do something, or not: in one channel, or anywhere."""
    wanted, bot = bit(permission), platform.state.bot.id
    if channel is None:
        _permit_anywhere(platform, wanted, allowed=allowed)
        return
    old = next((item for item in channel.overwrites if item.id == bot), Overwrite(id=bot, kind=MEMBER))
    item = Overwrite(
        id=bot,
        kind=MEMBER,
        allow=old.allow | wanted if allowed else old.allow & ~wanted,
        deny=old.deny & ~wanted if allowed else old.deny | wanted,
    )
    channels.overwrite(platform, channel, item, by=BY)


def _permit_anywhere(platform: Platform, wanted: int, *, allowed: bool) -> None:
    """Change the bot's own role; what is forbidden must not come back over @everyone."""
    state = platform.state
    own = state.members[state.bot.id].roles
    for role in list(state.roles.values()):
        if role.id not in own and (allowed or not role.is_everyone):
            continue
        bits = role.permissions | wanted if allowed else role.permissions & ~wanted
        newer = msgspec.structs.replace(role, permissions=bits)
        if newer != role:
            state.roles[role.id] = newer
            platform.tell("GUILD_ROLE_UPDATE", None, {"role": payloads.role(newer)})


def join(platform: Platform, name: str, *, bot: bool) -> User:
    """A new member of the guild.

    Raises:
        ScriptError: if the name is empty.
    """
    if not name.strip():
        raise ScriptError("a user needs a name", seen=repr(name))
    state = platform.state
    user = User(id=platform.snowflakes.fixed(), name=name, bot=bot)
    member = Member(user_id=user.id, joined_at=platform.now())
    state.users[user.id] = user
    state.members[user.id] = member
    platform.record(Noted(text=f"{name} joined {state.guild.name}", data={"bot": bot}))
    platform.tell("GUILD_MEMBER_ADD", None, payloads.member(state, member))
    return user


def drop(platform: Platform, *, resumable: bool, code: int | None) -> None:
    """Break all connections, without a closing frame or with a code."""
    platform.each_connection("cut" if code is None else "closed", GatewayClose(code), forget=not resumable)


def invalidate(platform: Platform, *, resumable: bool) -> None:
    """Tell the bot that its session is over, or that it has to resume it."""
    platform.each_connection("invalidated", encode(INVALID, resumable), forget=not resumable)


def ask_to_reconnect(platform: Platform) -> None:
    """Tell the bot to come back over another connection."""
    platform.each_connection("asked to reconnect", encode(RECONNECT), forget=False)
