"""REST routes of channels, threads and their members.

Source: https://discord.com/developers/docs/resources/channel
"""

from __future__ import annotations

from typing import Any, Final

from soundstage.discord import _channels as channels
from soundstage.discord import _payloads as payloads
from soundstage.discord._call import Call, Route
from soundstage.discord._drafts import number
from soundstage.discord._problems import UNKNOWN_MEMBER, WRONG_TYPE, RestRefused, invalid
from soundstage.discord._records import THREADS, Channel, ChannelType, Overwrite

LONGEST_NAME: Final = 100
ARCHIVE_AFTER: Final = (60, 1440, 4320, 10080)  # minutes

# key of the body -> field of the record, for channels and for threads
_CHANNEL_FIELDS: Final = {"topic": "topic", "position": "position"}
_THREAD_FIELDS: Final = {
    "archived": "archived",
    "locked": "locked",
    "auto_archive_duration": "archive_minutes",
}


def get_channel(call: Call) -> Any:
    return payloads.channel(call.platform.state, call.channel)


def edit_channel(call: Call) -> Any:
    channel, fields = call.channel, call.fields
    if channel.type is ChannelType.DM:
        raise RestRefused(WRONG_TYPE)
    if not (channel.is_thread and channel.owner_id == call.me):
        manage = "MANAGE_THREADS" if channel.is_thread else "MANAGE_CHANNELS"
        call.platform.state.need(call.me, channel, manage)
    table = _THREAD_FIELDS if channel.is_thread else _CHANNEL_FIELDS
    changes = {field: fields[key] for key, field in table.items() if key in fields}
    if "name" in fields:
        changes["name"] = call.text("name", LONGEST_NAME)
    newer = channels.change_channel(call.platform, channel, by=call.platform.name(call.me), **changes)
    return payloads.channel(call.platform.state, newer)


def delete_channel(call: Call) -> Any:
    state, channel = call.platform.state, call.channel
    payload = payloads.channel(state, channel)
    if channel.type is ChannelType.DM:
        return payload  # closed, which a bot does not notice
    state.need(call.me, channel, "MANAGE_THREADS" if channel.is_thread else "MANAGE_CHANNELS")
    channels.delete_channel(call.platform, channel, by=call.platform.name(call.me))
    return payload


def set_overwrite(call: Call) -> None:
    fields, target = call.fields, call.params["overwrite_id"]
    item = Overwrite(
        id=target,
        kind=1 if fields.get("type") == 1 else 0,
        allow=number("allow", fields.get("allow") or 0),
        deny=number("deny", fields.get("deny") or 0),
    )
    channels.overwrite(call.platform, call.channel, item, by=call.platform.name(call.me))


def remove_overwrite(call: Call) -> None:
    item = Overwrite(id=call.params["overwrite_id"], kind=0)
    channels.overwrite(call.platform, call.channel, item, by=call.platform.name(call.me))


# threads


def _archive_minutes(call: Call) -> int:
    minutes = call.fields.get("auto_archive_duration") or 1440
    if minutes not in ARCHIVE_AFTER:
        choices = ", ".join(map(str, ARCHIVE_AFTER))
        raise invalid("auto_archive_duration", "BASE_TYPE_CHOICES", f"Value must be one of ({choices}).")
    return int(minutes)


def start_thread(call: Call) -> Any:
    """A thread without a message. It is private unless the body says otherwise."""
    given = call.fields.get("type", int(ChannelType.PRIVATE_THREAD))
    if given not in THREADS:
        raise invalid("type", "BASE_TYPE_CHOICES", "Value must be one of (10, 11, 12).")
    kind = ChannelType(given)
    private = kind is ChannelType.PRIVATE_THREAD
    needed = "CREATE_PRIVATE_THREADS" if private else "CREATE_PUBLIC_THREADS"
    call.platform.state.need(call.me, call.channel, needed)
    thread = channels.make_thread(
        call.platform,
        call.channel,
        call.text("name", LONGEST_NAME),
        by=call.me,
        type=kind,
        archive_minutes=_archive_minutes(call),
    )
    return payloads.channel(call.platform.state, thread)


def start_thread_from_message(call: Call) -> Any:
    thread = channels.make_thread(
        call.platform,
        call.channel,
        call.text("name", LONGEST_NAME),
        by=call.me,
        message=call.message,
        archive_minutes=_archive_minutes(call),
    )
    return payloads.channel(call.platform.state, thread)


def _thread(call: Call) -> Channel:
    if not call.channel.is_thread:
        raise RestRefused(WRONG_TYPE)
    return call.channel


def _member_id(call: Call) -> int:
    user_id: int = call.params.get("user_id", call.me)
    call.platform.state.member(user_id)
    return user_id


def join_thread(call: Call) -> None:
    channels.set_thread_member(call.platform, _thread(call), _member_id(call), joined=True)


def leave_thread(call: Call) -> None:
    channels.set_thread_member(call.platform, _thread(call), _member_id(call), joined=False)


def get_thread_member(call: Call) -> Any:
    thread = _thread(call)
    if call.params["user_id"] not in thread.members:
        raise RestRefused(UNKNOWN_MEMBER)
    return payloads.thread_member(thread, call.params["user_id"])


def list_thread_members(call: Call) -> Any:
    thread = _thread(call)
    return [payloads.thread_member(thread, user) for user in thread.members]


def list_archived_threads(call: Call) -> Any:
    state = call.platform.state
    found = [
        thread
        for thread in state.channels.values()
        if thread.is_thread and thread.archived and thread.parent_id == call.channel.id
    ]
    return {
        "threads": [payloads.channel(state, thread) for thread in found],
        "members": [],
        "has_more": False,
    }


_ONE: Final = "/channels/{channel_id}"
_MEMBERS: Final = _ONE + "/thread-members"
_ROLES: Final = ("MANAGE_ROLES",)

ROUTES: Final = (
    Route("GET", _ONE, get_channel),
    Route("PATCH", _ONE, edit_channel),
    Route("DELETE", _ONE, delete_channel),
    Route("PUT", _ONE + "/permissions/{overwrite_id}", set_overwrite, _ROLES),
    Route("DELETE", _ONE + "/permissions/{overwrite_id}", remove_overwrite, _ROLES),
    Route("POST", _ONE + "/threads", start_thread),
    Route(
        "POST", _ONE + "/messages/{message_id}/threads", start_thread_from_message, ("CREATE_PUBLIC_THREADS",)
    ),
    Route("GET", _ONE + "/threads/archived/public", list_archived_threads, ("READ_MESSAGE_HISTORY",)),
    Route("GET", _MEMBERS, list_thread_members),
    Route("PUT", _MEMBERS + "/@me", join_thread),
    Route("DELETE", _MEMBERS + "/@me", leave_thread),
    Route("GET", _MEMBERS + "/{user_id}", get_thread_member),
    Route("PUT", _MEMBERS + "/{user_id}", join_thread, ("SEND_MESSAGES",)),
    Route("DELETE", _MEMBERS + "/{user_id}", leave_thread, ("MANAGE_THREADS",)),
)
