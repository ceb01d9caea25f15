"""What happens on a Discord besides messages, as events of the journal.

Messages are `MessageReceived` (a user wrote) and `MessageSent` (the bot wrote), as in every other world. The
classes here say the rest. Channels are written `#general`, threads `#general/plan`, conversations of two `@ann`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.journal import Event


class DiscordGatewayChanged(Event, frozen=True, kw_only=True):
    """A connection of the bot, or its session, took another state.

    Args:
        change: `opened` a connection; `identified` a new session, `resumed` an old one; `closed` with a code;
            `cut` without one; `invalidated` a session, `asked to reconnect` a bot.
        session: its id, once there is one.
        code: of the closing frame.
        reason: in words.
        by: who did it: the `bot`, or `discord`, which the test plays.
        detail: what else is known: intents, transport, the number of events that were sent again.
    """

    change: Literal["opened", "identified", "resumed", "closed", "cut", "invalidated", "asked to reconnect"]
    session: str = ""
    code: int = 0
    reason: str = ""
    by: Literal["bot", "discord"] = "bot"
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class DiscordMessageChanged(Event, frozen=True, kw_only=True):
    """A message is different or gone. The record's cause is the message; `text` is what it says now."""

    change: Literal["edited", "deleted", "pinned", "unpinned"]
    channel: str
    sender: str
    by: str
    text: str = ""


class DiscordReacted(Event, frozen=True, kw_only=True):
    """Somebody put an emoji under a message, or took it away. The record's cause is the message."""

    change: Literal["added", "removed"]
    emoji: str
    channel: str
    sender: str


class DiscordTyped(Event, frozen=True, kw_only=True):
    """Somebody is typing."""

    channel: str
    sender: str


class DiscordChannelChanged(Event, frozen=True, kw_only=True):
    """A channel or thread was made, changed or deleted."""

    change: Literal["created", "changed", "deleted"]
    channel: str
    kind: str
    by: str = ""


class DiscordCommandsRegistered(Event, frozen=True, kw_only=True):
    """The bot has changed its commands; `commands` are all that there are now, `/ask` and the like."""

    commands: tuple[str, ...]
    scope: Literal["global", "guild"] = "global"


class DiscordInteracted(Event, frozen=True, kw_only=True):
    """A user ran a command, used a component, sent a form in, or is completing an option.

    Args:
        kind: which of these.
        name: `/ask`, the `custom_id` of the component or form.
        channel: where.
        sender: who.
        values: the options of a command by name, the fields of a form, `{"values": [..]}` of a select.
    """

    kind: Literal["command", "button", "select", "form", "completion"]
    name: str
    channel: str
    sender: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)


class DiscordAnswered(Event, frozen=True, kw_only=True):
    """How the bot took an interaction, which is the record's cause; `nothing`: it did not, in time.

    A message that it answers with is a `MessageSent` too.
    """

    kind: Literal["message", "deferred", "deferred update", "update", "choices", "form", "nothing"]
    name: str
    ephemeral: bool = False
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class DiscordRateLimited(Event, frozen=True, kw_only=True):
    """A request of the bot was answered with 429, because the test asked for that."""

    route: str
    scope: Literal["global", "user"]
    retry_after: float
