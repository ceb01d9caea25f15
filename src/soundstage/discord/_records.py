"""Frozen records of the state of a Discord. Ids are numbers here and texts on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import IntEnum, IntFlag
from typing import Any

import msgspec


class ChannelType(IntEnum):
    """Kinds of channels, by Discord's numbers."""

    TEXT = 0
    DM = 1
    VOICE = 2
    CATEGORY = 4
    NEWS = 5
    NEWS_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12


class MessageType(IntEnum):
    """Kinds of messages, by Discord's numbers."""

    DEFAULT = 0
    REPLY = 19
    COMMAND = 20


class MessageFlag(IntFlag):
    """Flags of messages, by Discord's bits."""

    SUPPRESS_EMBEDS = 1 << 2
    HAS_THREAD = 1 << 5
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SILENT = 1 << 12
    COMPONENTS_V2 = 1 << 15


THREADS = frozenset({ChannelType.NEWS_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD})
WITH_MESSAGES = THREADS | {ChannelType.TEXT, ChannelType.DM, ChannelType.VOICE, ChannelType.NEWS}


class _Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the records in this file."""


class User(_Frozen, frozen=True, kw_only=True):
    """Somebody with an account: a person or a bot."""

    id: int
    name: str
    bot: bool = False

    @property
    def mention(self) -> str:
        """The text that mentions this user in a message."""
        return f"<@{self.id}>"


class Role(_Frozen, frozen=True, kw_only=True):
    """A role of the guild."""

    id: int
    name: str
    permissions: int
    position: int = 0
    is_everyone: bool = False
    managed: bool = False


class Member(_Frozen, frozen=True, kw_only=True):
    """A user in the guild."""

    user_id: int
    joined_at: datetime
    roles: tuple[int, ...] = ()
    nick: str | None = None


class Overwrite(_Frozen, frozen=True, kw_only=True):
    """Permissions that one channel allows or denies to a role (kind 0) or a member (kind 1)."""

    id: int
    kind: int
    allow: int = 0
    deny: int = 0


class Channel(_Frozen, frozen=True, kw_only=True):
    """A channel, a thread or a conversation of two."""

    id: int
    type: ChannelType
    created_at: datetime
    name: str = ""
    parent_id: int | None = None
    topic: str | None = None
    position: int = 0
    overwrites: tuple[Overwrite, ...] = ()
    recipients: tuple[int, ...] = ()
    members: tuple[int, ...] = ()
    owner_id: int = 0
    archived: bool = False
    locked: bool = False
    archive_minutes: int = 1440

    @property
    def is_thread(self) -> bool:
        """Whether it is a thread."""
        return self.type in THREADS


class Attachment(_Frozen, frozen=True, kw_only=True):
    """A file that came with a message. `url` is where its content can be had."""

    id: int
    filename: str
    size: int
    url: str
    content_type: str = "application/octet-stream"
    description: str | None = None


class Reaction(_Frozen, frozen=True, kw_only=True):
    """An emoji under a message and who put it there. Custom emoji are written `name:id`."""

    emoji: str
    users: tuple[int, ...]


class DiscordMessage(_Frozen, frozen=True, kw_only=True):
    """A message, as it is now.

    Attributes:
        content: what its author typed.
        text: everything that a reader sees: the content, then texts of embeds and components, and files.
        embeds: as Discord's JSON.
        components: as Discord's JSON.
        answers: the interaction that it answers, as Discord's `interaction_metadata`.
    """

    id: int
    channel_id: int
    author_id: int
    sent_at: datetime
    content: str = ""
    type: MessageType = MessageType.DEFAULT
    edited_at: datetime | None = None
    embeds: tuple[dict[str, Any], ...] = ()
    components: tuple[dict[str, Any], ...] = ()
    attachments: tuple[Attachment, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    mentions: tuple[int, ...] = ()
    reply_to: int | None = None
    flags: int = 0
    tts: bool = False
    pinned: bool = False
    nonce: str | int | None = None
    answers: dict[str, Any] | None = None

    @property
    def ephemeral(self) -> bool:
        """Whether only one user sees it, and only for now."""
        return bool(self.flags & MessageFlag.EPHEMERAL)

    @property
    def loading(self) -> bool:
        """Whether the bot has only said that it is thinking."""
        return bool(self.flags & MessageFlag.LOADING)

    @property
    def text(self) -> str:
        """Everything that a reader sees."""
        files = (f"[file {attachment.filename}]" for attachment in self.attachments)
        embeds = (line for embed in self.embeds for line in _embed_lines(embed))
        return "\n".join(
            line for line in (self.content, *embeds, *_component_lines(self.components), *files) if line
        )


class ApplicationCommand(_Frozen, frozen=True, kw_only=True):
    """A command that the bot has registered; `spec` is what it sent. Without a guild it is global."""

    id: int
    name: str
    type: int
    spec: dict[str, Any]
    guild_id: int | None = None


def _embed_lines(embed: dict[str, Any]) -> Iterator[str]:
    for name in ("author", "title", "description"):
        value = embed.get(name)
        yield str(value.get("name", "")) if isinstance(value, dict) else str(value or "")
    for field in embed.get("fields") or ():
        yield f"{field.get('name', '')}: {field.get('value', '')}"
    yield str((embed.get("footer") or {}).get("text", ""))


def _component_lines(components: tuple[dict[str, Any], ...] | list[dict[str, Any]]) -> Iterator[str]:
    """The texts of "components v2"; labels of buttons are no text."""
    for component in components:
        if isinstance(component.get("content"), str):
            yield component["content"]
        yield from _component_lines(component.get("components") or ())
