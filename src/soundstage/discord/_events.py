"""The events of a Discord in the journal, besides messages.

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

    def __str__(self) -> str:
        code = f"with {self.code}" if self.code else ""
        head = " ".join(part for part in ("gateway:", self.by, self.change, code) if part)
        return " · ".join(part for part in (head, self.reason, _facts(self.detail)) if part)


class DiscordMessageChanged(Event, frozen=True, kw_only=True):
    """A message is different or gone. The record's cause is the message; `text` is what it says now."""

    change: Literal["edited", "deleted", "pinned", "unpinned"]
    channel: str
    sender: str
    by: str
    text: str = ""

    def __str__(self) -> str:
        whose = "own message" if self.by == self.sender else f"message of {self.sender}"
        return f"{self.by} {self.change} {whose} in {self.channel}" + (f": {self.text}" if self.text else "")


class DiscordReacted(Event, frozen=True, kw_only=True):
    """Somebody put an emoji under a message, or took it away. The record's cause is the message."""

    change: Literal["added", "removed"]
    emoji: str
    channel: str
    sender: str

    def __str__(self) -> str:
        return f"{self.sender} {self.change} {self.emoji} in {self.channel}"


class DiscordTyped(Event, frozen=True, kw_only=True):
    """Somebody is typing."""

    channel: str
    sender: str

    def __str__(self) -> str:
        return f"{self.sender} is typing in {self.channel}"


class DiscordChannelChanged(Event, frozen=True, kw_only=True):
    """A channel or thread was made, changed or deleted."""

    change: Literal["created", "changed", "deleted"]
    channel: str
    kind: str
    by: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.channel} {self.change}" + (f" by {self.by}" if self.by else "")


class DiscordCommandsRegistered(Event, frozen=True, kw_only=True):
    """The bot has changed its commands; `commands` are all that there are now, `/ask` and the like."""

    commands: tuple[str, ...]
    scope: Literal["global", "guild"] = "global"

    def __str__(self) -> str:
        return f"{self.scope} commands: {', '.join(self.commands) or 'none'}"


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

    def __str__(self) -> str:
        head = f"{self.sender} in {self.channel}: {self.kind} {self.name}"
        return f"{head} {_facts(self.values)}" if self.values else head


class DiscordAnswered(Event, frozen=True, kw_only=True):
    """How the bot took an interaction, which is the record's cause; `nothing`: it did not, in time.

    A message that it answers with is a `MessageSent` too.
    """

    kind: Literal["message", "deferred", "deferred update", "update", "choices", "form", "nothing"]
    name: str
    ephemeral: bool = False
    detail: dict[str, Any] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        if self.kind == "nothing":
            return f"{self.name} was not answered in time"
        private = " (only for them)" if self.ephemeral else ""
        head = f"{self.name} answered with {self.kind}{private}"
        return f"{head} · {_facts(self.detail)}" if self.detail else head


class DiscordRateLimited(Event, frozen=True, kw_only=True):
    """A request of the bot was answered with 429, because the test asked for that."""

    route: str
    scope: Literal["global", "user"]
    retry_after: float

    def __str__(self) -> str:
        return f"{self.route} limited ({self.scope}), retry after {self.retry_after:g} s"


def _facts(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
