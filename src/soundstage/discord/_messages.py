"""Post, edit, delete and pin messages. Each does all three steps of `_platform`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

import msgspec

from soundstage.discord import _payloads as payloads
from soundstage.discord._drafts import Draft, Upload, described, listed, need_something, number
from soundstage.discord._events import DiscordMessageChanged
from soundstage.discord._platform import Platform
from soundstage.discord._problems import NO_DMS, NOT_TEXT, NOT_THE_AUTHOR, RestRefused, invalid
from soundstage.discord._records import (
    WITH_MESSAGES,
    Attachment,
    Channel,
    ChannelType,
    DiscordMessage,
    MessageFlag,
    MessageType,
)
from soundstage.journal import Event, MessageReceived, MessageSent

_MENTION: Final = re.compile(r"<@!?(\d+)>")
replace = msgspec.structs.replace


def post(
    platform: Platform,
    channel: Channel,
    author_id: int,
    draft: Draft,
    files: tuple[Upload, ...] = (),
    *,
    flags: int = 0,
    answers: dict[str, Any] | None = None,
    cause: int | None = None,
) -> DiscordMessage:
    """Post a message.

    Args:
        platform: where.
        channel: in which channel.
        author_id: whose.
        draft: what it says.
        files: what comes with it.
        flags: set in addition to those of the draft.
        answers: the interaction that it answers.
        cause: the position of the event that led to it; found by itself for a bot that does not say.
    """
    _check_place(platform, channel, author_id)
    reply = _replied(platform, channel, draft)
    message = DiscordMessage(
        id=platform.snowflakes.draw(),
        channel_id=channel.id,
        author_id=author_id,
        sent_at=platform.now(),
        content=draft.text,
        type=MessageType.COMMAND if answers else MessageType.REPLY if reply else MessageType.DEFAULT,
        embeds=tuple(listed(draft.embeds)),
        components=tuple(listed(draft.components)),
        attachments=attach(platform, channel.id, files),
        mentions=_mentions(platform, channel, draft, reply),
        reply_to=reply,
        flags=int(draft.shown_flags & ~MessageFlag.EPHEMERAL | flags),
        tts=draft.tts,
        nonce=draft.nonce,
        answers=answers,
    )
    platform.state.put(message)
    if not message.loading:
        journal(platform, message, cause)
    if not message.ephemeral:
        platform.tell_message("MESSAGE_CREATE", message)
    return message


def journal(platform: Platform, message: DiscordMessage, cause: int | None = None) -> None:
    """Put a message on record, under the label of its channel."""
    state = platform.state
    ours = message.author_id == state.bot.id
    kind: type[MessageSent | MessageReceived] = MessageSent if ours else MessageReceived
    label = state.label(state.channels[message.channel_id])
    event: Event = kind(text=message.text, channel=label, sender=platform.name(message.author_id))
    if ours and cause is None:
        cause = platform.positions.get(message.reply_to or 0) or platform.received.get(message.channel_id)
    position = platform.record(event, cause)
    platform.positions[message.id] = position
    platform.posted[position] = message
    if not ours:
        platform.received[message.channel_id] = position


def _check_place(platform: Platform, channel: Channel, author_id: int) -> None:
    if channel.type not in WITH_MESSAGES:
        raise RestRefused(NOT_TEXT)
    if channel.type is ChannelType.DM and author_id == platform.state.bot.id:
        others = [platform.state.users[user] for user in channel.recipients if user != author_id]
        if any(user.bot for user in others):
            raise RestRefused(NO_DMS)


def _replied(platform: Platform, channel: Channel, draft: Draft) -> int | None:
    """The message that a draft replies to, if it is there."""
    reference = draft.message_reference
    if reference is None:
        return None
    known = platform.state.messages.get(channel.id, {}).get(
        number("message_reference.message_id", reference.message_id)
    )
    if known is None and reference.fail_if_not_exists:
        raise invalid("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
    return known.id if known else None


def _mentions(platform: Platform, channel: Channel, draft: Draft, reply: int | None) -> tuple[int, ...]:
    found = [int(number) for number in _MENTION.findall(draft.text)]
    if reply is not None and (draft.allowed_mentions is None or draft.allowed_mentions.replied_user):
        found.append(platform.state.messages[channel.id][reply].author_id)
    return tuple(dict.fromkeys(user for user in found if user in platform.state.users))


def attach(platform: Platform, channel_id: int, files: Iterable[Upload]) -> tuple[Attachment, ...]:
    """Keep files and give them an address."""
    made: list[Attachment] = []
    for file in files:
        number = platform.snowflakes.draw()
        platform.state.files[number] = file.content
        made.append(
            Attachment(
                id=number,
                filename=file.filename,
                size=len(file.content),
                url=f"{platform.settings.url}/attachments/{channel_id}/{number}/{quote(file.filename, safe='')}",
                content_type=file.type,
                description=file.description,
            )
        )
    return tuple(made)


def edited(
    platform: Platform, message: DiscordMessage, draft: Draft, files: dict[str, Upload] | None = None
) -> DiscordMessage:
    """The message as `draft` changes it; what it does not say stays."""
    uploads = described(draft, files or {})
    attachments = message.attachments
    if isinstance(draft.attachments, list) or uploads:
        kept = {str(file.id) for file in listed(draft.attachments)}
        attachments = tuple(item for item in attachments if str(item.id) in kept)
        attachments += attach(platform, message.channel_id, uploads)
    changes: dict[str, Any] = {
        name: tuple(listed(value))
        for name, value in (("embeds", draft.embeds), ("components", draft.components))
        if isinstance(value, list) or value is None
    }
    if isinstance(draft.content, str) or draft.content is None:
        changes["content"] = draft.text
    return replace(message, attachments=attachments, edited_at=platform.now(), **changes)


def edit(
    platform: Platform,
    message: DiscordMessage,
    draft: Draft,
    files: dict[str, Upload] | None = None,
    *,
    by: int,
) -> DiscordMessage:
    """Change a message; only its author may."""
    if message.author_id != by:
        raise RestRefused(NOT_THE_AUTHOR)
    newer = edited(platform, message, draft, files)
    if not newer.text and not newer.components:
        need_something(Draft(), ())
    platform.state.put(newer)
    _note_change(platform, newer, "edited", by, text=newer.text)
    if not newer.ephemeral:
        platform.tell_message("MESSAGE_UPDATE", newer)
    return newer


def complete(
    platform: Platform, message: DiscordMessage, draft: Draft, files: dict[str, Upload], cause: int
) -> DiscordMessage:
    """Put an answer in the place of "the bot is thinking": now the message counts as sent."""
    newer = edited(platform, message, draft, files)
    newer = replace(newer, flags=newer.flags & ~MessageFlag.LOADING)
    platform.state.put(newer)
    journal(platform, newer, cause)
    if not newer.ephemeral:
        platform.tell_message("MESSAGE_UPDATE", newer)
    return newer


def delete(platform: Platform, message: DiscordMessage, *, by: int, tell: bool = True) -> None:
    """Delete a message."""
    channel = platform.state.channels[message.channel_id]
    del platform.state.messages[message.channel_id][message.id]
    if not message.loading:
        _note_change(platform, message, "deleted", by, text=message.text)
    if tell and not message.ephemeral:
        gone = {"id": str(message.id), "channel_id": str(message.channel_id)}
        platform.tell("MESSAGE_DELETE", channel, gone)


def delete_many(platform: Platform, channel: Channel, messages: list[DiscordMessage], *, by: int) -> None:
    """Delete messages at once."""
    for message in messages:
        delete(platform, message, by=by, tell=False)
    ids = [str(message.id) for message in messages]
    platform.tell("MESSAGE_DELETE_BULK", channel, {"ids": ids, "channel_id": str(channel.id)})


def pin(platform: Platform, message: DiscordMessage, *, pinned: bool, by: int) -> None:
    """Pin a message, or take the pin away."""
    newer = replace(message, pinned=pinned)
    platform.state.put(newer)
    _note_change(platform, newer, "pinned" if pinned else "unpinned", by, text=newer.text)
    platform.tell_message("MESSAGE_UPDATE", newer)
    channel = platform.state.channels[message.channel_id]
    last = payloads.stamp(platform.now())
    platform.tell("CHANNEL_PINS_UPDATE", channel, {"channel_id": str(channel.id), "last_pin_timestamp": last})


def _note_change(platform: Platform, message: DiscordMessage, change: Any, by: int, *, text: str) -> None:
    channel = platform.state.channels[message.channel_id]
    event = DiscordMessageChanged(
        change=change,
        channel=platform.state.label(channel),
        sender=platform.name(message.author_id),
        by=platform.name(by),
        text=text,
    )
    platform.record(event, platform.positions.get(message.id))
