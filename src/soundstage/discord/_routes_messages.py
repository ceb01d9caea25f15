"""REST routes of messages and of what hangs on them.

Source: https://discord.com/developers/docs/resources/message
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from soundstage.discord import _messages as messages
from soundstage.discord import _payloads as payloads
from soundstage.discord import _reactions as reactions
from soundstage.discord._call import Call, Route
from soundstage.discord._drafts import described, need_something, number, parse_draft
from soundstage.discord._ids import snowflake
from soundstage.discord._permissions import BITS
from soundstage.discord._problems import ARCHIVED, BULK_COUNT, TOO_OLD, RestRefused, invalid
from soundstage.discord._records import DiscordMessage

MOST: Final = 100
VALID_FOR_BULK: Final = timedelta(days=14)


def create_message(call: Call) -> Any:
    state, channel = call.platform.state, call.channel
    if channel.archived and channel.locked:
        raise RestRefused(ARCHIVED)
    draft = parse_draft(call.fields)
    files = described(draft, call.files)
    need_something(draft, files)
    allowed = state.permissions(call.me, channel)
    if files:
        state.need(call.me, channel, "ATTACH_FILES")
    if draft.message_reference is not None:
        state.need(call.me, channel, "READ_MESSAGE_HISTORY")
    if not allowed & BITS["EMBED_LINKS"] and isinstance(draft.embeds, list):
        draft.embeds = []  # Discord posts the rest of the message
    return payloads.message(state, messages.post(call.platform, channel, call.me, draft, files))


def list_messages(call: Call) -> Any:
    """The history, newest first, and around, before or after a message."""
    state = call.platform.state
    if not state.permissions(call.me, call.channel) & BITS["READ_MESSAGE_HISTORY"]:
        return []
    limit = call.whole("limit", 50, MOST)
    found = state.history(call.channel.id)
    before, after, around = (call.id_in_query(name) for name in ("before", "after", "around"))
    if around is not None:
        middle = sum(1 for message in found if message.id < around)
        start = max(middle - limit // 2, 0)
        found = found[start : start + limit]
    elif after is not None:
        found = [message for message in found if message.id > after][:limit]
    elif before is not None:
        found = [message for message in found if message.id < before]
    return [payloads.message(state, message) for message in found[::-1][:limit]]


def get_message(call: Call) -> Any:
    return payloads.message(call.platform.state, call.message)


def edit_message(call: Call) -> Any:
    newer = messages.edit(call.platform, call.message, parse_draft(call.fields), call.files, by=call.me)
    return payloads.message(call.platform.state, newer)


def delete_message(call: Call) -> None:
    message = call.message
    if message.author_id != call.me:
        call.platform.state.need(call.me, call.channel, "MANAGE_MESSAGES")
    messages.delete(call.platform, message, by=call.me)


def delete_messages(call: Call) -> None:
    ids = call.fields.get("messages")
    if not isinstance(ids, list):
        raise invalid("messages", "BASE_TYPE_REQUIRED", "This field is required")
    if not 2 <= len(ids) <= MOST:
        raise RestRefused(BULK_COUNT)
    wanted = {number("messages", value) for value in ids}
    if min(wanted) < snowflake(call.platform.now() - VALID_FOR_BULK):
        raise RestRefused(TOO_OLD)
    found = [message for message in call.platform.state.history(call.channel.id) if message.id in wanted]
    messages.delete_many(call.platform, call.channel, found, by=call.me)


def start_typing(call: Call) -> None:
    platform, channel = call.platform, call.channel
    platform.typing(channel, call.me)


def list_pins(call: Call) -> Any:
    items = [
        {"pinned_at": payloads.stamp(call.platform.now()), "message": payload}
        for payload in list_old_pins(call)
    ]
    return {"items": items, "has_more": False}


def list_old_pins(call: Call) -> Any:
    state = call.platform.state
    pinned = [message for message in state.history(call.channel.id) if message.pinned]
    return [payloads.message(state, message) for message in reversed(pinned)]


def pin_message(call: Call) -> None:
    messages.pin(call.platform, call.message, pinned=True, by=call.me)


def unpin_message(call: Call) -> None:
    messages.pin(call.platform, call.message, pinned=False, by=call.me)


# reactions


def _emoji(call: Call) -> str:
    return reactions.emoji_key(call.params["emoji"])


def add_reaction(call: Call) -> None:
    message, emoji = call.message, _emoji(call)
    if emoji not in {reaction.emoji for reaction in message.reactions}:
        call.platform.state.need(call.me, call.channel, "ADD_REACTIONS")
    reactions.react(call.platform, message, emoji, call.me)


def remove_own_reaction(call: Call) -> None:
    reactions.unreact(call.platform, call.message, _emoji(call), call.me)


def remove_reaction(call: Call) -> None:
    reactions.unreact(call.platform, call.message, _emoji(call), call.params["user_id"])


def clear_reactions(call: Call) -> None:
    reactions.clear_reactions(call.platform, call.message)


def clear_reaction(call: Call) -> None:
    reactions.clear_reactions(call.platform, call.message, _emoji(call))


def list_reactions(call: Call) -> Any:
    users = _users(call.message, _emoji(call))
    after, limit = call.id_in_query("after") or 0, call.whole("limit", 25, MOST)
    state = call.platform.state
    return [payloads.user(state.users[user]) for user in sorted(users) if user > after][:limit]


def _users(message: DiscordMessage, emoji: str) -> tuple[int, ...]:
    return next((item.users for item in message.reactions if item.emoji == emoji), ())


_ALL: Final = "/channels/{channel_id}/messages"
_ONE: Final = _ALL + "/{message_id}"
_EMOJI: Final = _ONE + "/reactions/{emoji}"
_READ: Final = ("READ_MESSAGE_HISTORY",)
_MANAGE: Final = ("MANAGE_MESSAGES",)

ROUTES: Final = (
    Route("POST", _ALL, create_message, ("SEND_MESSAGES",)),
    Route("GET", _ALL, list_messages),
    Route("POST", _ALL + "/bulk-delete", delete_messages, _MANAGE),
    Route("GET", _ALL + "/pins", list_pins, _READ),
    Route("PUT", _ALL + "/pins/{message_id}", pin_message, _MANAGE),
    Route("DELETE", _ALL + "/pins/{message_id}", unpin_message, _MANAGE),
    Route("GET", "/channels/{channel_id}/pins", list_old_pins, _READ),
    Route("PUT", "/channels/{channel_id}/pins/{message_id}", pin_message, _MANAGE),
    Route("DELETE", "/channels/{channel_id}/pins/{message_id}", unpin_message, _MANAGE),
    Route("GET", _ONE, get_message, _READ),
    Route("PATCH", _ONE, edit_message),
    Route("DELETE", _ONE, delete_message),
    Route("POST", "/channels/{channel_id}/typing", start_typing, ("SEND_MESSAGES",)),
    Route("PUT", _EMOJI + "/@me", add_reaction, _READ),
    Route("DELETE", _EMOJI + "/@me", remove_own_reaction),
    Route("DELETE", _EMOJI + "/{user_id}", remove_reaction, _MANAGE),
    Route("GET", _EMOJI, list_reactions, _READ),
    Route("DELETE", _EMOJI, clear_reaction, _MANAGE),
    Route("DELETE", _ONE + "/reactions", clear_reactions, _MANAGE),
)
