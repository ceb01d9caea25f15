"""Interactions: a user runs a command or uses a component, and the bot answers, within its time.

An interaction is `open` until the bot says how it takes it: with a message, with "later" (deferred), by changing
the message whose component was used, with a form or with choices. It has three seconds for that, then the
token is void, and users read "The application did not respond". Once it has answered, the token is good for
fifteen minutes of edits and further messages.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple

from soundstage.discord import _messages as messages
from soundstage.discord import _payloads as payloads
from soundstage.discord._drafts import Draft, Upload, described, need_something, parse_draft
from soundstage.discord._events import DiscordAnswered, DiscordInteracted
from soundstage.discord._platform import Platform
from soundstage.discord._problems import (
    ACKNOWLEDGED,
    INVALID_TOKEN,
    UNKNOWN_INTERACTION,
    UNKNOWN_MESSAGE,
    UNKNOWN_WEBHOOK,
    RestRefused,
    invalid,
)
from soundstage.discord._records import Channel, ChannelType, DiscordMessage, MessageFlag
from soundstage.discord._state import Interaction

COMMAND: Final = 2
COMPONENT: Final = 3
COMPLETION: Final = 4
FORM: Final = 5
VALID: Final = timedelta(minutes=15)
FILE_LIMIT: Final = 10 * 1024 * 1024
Kind = Literal["command", "button", "select", "form", "completion"]


class Use(NamedTuple):
    """An interaction that a user starts.

    Attributes:
        type: Discord's number of it.
        kind: its name in the journal.
        name: of the command; `custom_id` of the component or form.
        data: as Discord sends it.
        values: what the user filled in, for the journal.
        message: the one whose component it is.
    """

    type: int
    kind: Kind
    name: str
    data: dict[str, Any]
    values: dict[str, Any]
    message: DiscordMessage | None = None


def begin(platform: Platform, user_id: int, channel: Channel, use: Use) -> Interaction:
    """A user does something that the bot has to answer."""
    state = platform.state
    number = platform.snowflakes.draw()
    event = DiscordInteracted(
        kind=use.kind,
        name=use.name,
        channel=state.label(channel),
        sender=platform.name(user_id),
        values=use.values,
    )
    position = platform.record(event, platform.positions.get(use.message.id) if use.message else None)
    interaction = Interaction(
        id=number,
        token=platform.ids.draw("interaction-", 32),
        type=use.type,
        name=use.name,
        user_id=user_id,
        channel_id=channel.id,
        made_at=platform.now(),
        position=position,
        metadata=_metadata(platform, number, user_id, use),
        message_id=use.message.id if use.message else None,
    )
    state.interactions[interaction.token] = interaction
    platform.later(platform.settings.answer_within, lambda: _too_late(platform, interaction.token))
    platform.tell("INTERACTION_CREATE", channel, _payload(platform, interaction, channel, use))
    return interaction


def _owners(platform: Platform, channel: Channel, user_id: int) -> dict[str, str]:
    return {"1": str(user_id)} if channel.type is ChannelType.DM else {"0": str(platform.state.guild.id)}


def _metadata(platform: Platform, number: int, user_id: int, use: Use) -> dict[str, Any]:
    metadata = {
        "id": str(number),
        "type": use.type,
        "user": payloads.user(platform.state.users[user_id]),
        "authorizing_integration_owners": {"0": str(platform.state.guild.id)},
    }
    return metadata | ({"interacted_message_id": str(use.message.id)} if use.message else {})


def _payload(platform: Platform, interaction: Interaction, channel: Channel, use: Use) -> dict[str, Any]:
    state = platform.state
    private = channel.type is ChannelType.DM
    payload: dict[str, Any] = {
        "id": str(interaction.id),
        "application_id": str(state.bot.id),
        "type": interaction.type,
        "data": use.data,
        "channel_id": str(channel.id),
        "channel": payloads.channel(state, channel)
        | {"permissions": _bits(platform, channel, interaction.user_id)},
        "token": interaction.token,
        "version": 1,
        "app_permissions": _bits(platform, channel, state.bot.id),
        "locale": "en-US",
        "entitlements": [],
        "authorizing_integration_owners": _owners(platform, channel, interaction.user_id),
        "context": 1 if private else 0,
        "attachment_size_limit": FILE_LIMIT,
    }
    if use.message is not None:
        payload["message"] = payloads.message(state, use.message)
    if private:
        return payload | {"user": payloads.user(state.users[interaction.user_id])}
    member = payloads.member(state, state.members[interaction.user_id])
    return payload | {
        "member": member | {"permissions": _bits(platform, channel, interaction.user_id)},
        "guild": {"id": str(state.guild.id), "locale": "en-US", "features": []},
        "guild_locale": "en-US",
    }


def _bits(platform: Platform, channel: Channel, user_id: int) -> str:
    return str(platform.state.permissions(user_id, channel))


def _too_late(platform: Platform, token: str) -> None:
    interaction = platform.state.interactions[token]
    if interaction.stage == "open":
        _keep(platform, interaction, stage="expired")
        platform.record(DiscordAnswered(kind="nothing", name=interaction.name), interaction.position)


def _keep(platform: Platform, interaction: Interaction, **changes: Any) -> Interaction:
    newer = interaction._replace(**changes)
    platform.state.interactions[newer.token] = newer
    return newer


# the first answer


class _Answer(NamedTuple):
    """A way to answer first: its name, which interactions take it, and what it does."""

    kind: Literal["message", "deferred", "deferred update", "update", "choices", "form"]
    types: frozenset[int]
    give: Callable[[Platform, Interaction, dict[str, Any], dict[str, Upload]], DiscordMessage | None]


def respond(
    platform: Platform, number: int, token: str, body: Any, files: dict[str, Upload]
) -> dict[str, Any]:
    """The bot's first answer. Returns what Discord tells it about the message."""
    interaction = platform.state.interactions.get(token)
    if interaction is None or interaction.id != number or interaction.stage == "expired":
        raise RestRefused(UNKNOWN_INTERACTION)
    if interaction.stage != "open":
        raise RestRefused(ACKNOWLEDGED)
    kind = body.get("type") if isinstance(body, dict) else None
    answer = _ANSWERS.get(kind) if isinstance(kind, int) else None
    if answer is None or interaction.type not in answer.types:
        raise invalid("type", "BASE_TYPE_CHOICES", f"Value {kind!r} does not answer this interaction.")
    data = body.get("data") or {}
    message = answer.give(platform, interaction, data, files)
    ephemeral = message is not None and message.ephemeral
    told = DiscordAnswered(
        kind=answer.kind,
        name=interaction.name,
        ephemeral=ephemeral,
        detail=data if answer.kind in ("choices", "form") else {},
    )
    platform.record(told, interaction.position)
    return _callback(platform, interaction, kind, message)


def _callback(
    platform: Platform, interaction: Interaction, kind: Any, message: DiscordMessage | None
) -> dict[str, Any]:
    told: dict[str, Any] = {"id": str(interaction.id), "type": interaction.type}
    if message is None:
        return {"interaction": told, "resource": {"type": kind}}
    told |= {
        "response_message_id": str(message.id),
        "response_message_loading": message.loading,
        "response_message_ephemeral": message.ephemeral,
    }
    return {
        "interaction": told,
        "resource": {"type": kind, "message": payloads.message(platform.state, message)},
    }


def _ephemeral(draft: Draft) -> int:
    return draft.shown_flags & MessageFlag.EPHEMERAL


def _post(
    platform: Platform, interaction: Interaction, draft: Draft, files: tuple[Upload, ...], flags: int
) -> DiscordMessage:
    return messages.post(
        platform,
        platform.state.channel(interaction.channel_id),
        platform.state.bot.id,
        draft,
        files,
        flags=flags,
        answers=interaction.metadata,
        cause=interaction.position,
    )


def _message(
    platform: Platform, interaction: Interaction, data: dict[str, Any], files: dict[str, Upload]
) -> DiscordMessage:
    draft = parse_draft(data)
    uploads = described(draft, files)
    need_something(draft, uploads)
    message = _post(platform, interaction, draft, uploads, _ephemeral(draft))
    _keep(platform, interaction, stage="answered", original=message.id)
    return message


def _deferred(platform: Platform, interaction: Interaction, data: dict[str, Any], _: Any) -> DiscordMessage:
    flags = MessageFlag.LOADING | _ephemeral(parse_draft(data))
    message = _post(platform, interaction, Draft(), (), flags)
    _keep(platform, interaction, stage="deferred", original=message.id)
    return message


def _deferred_update(platform: Platform, interaction: Interaction, *_: Any) -> None:
    _keep(platform, interaction, stage="deferred update", original=interaction.message_id)


def _update(
    platform: Platform, interaction: Interaction, data: dict[str, Any], files: dict[str, Upload]
) -> DiscordMessage:
    source = _source(platform, interaction)
    draft = parse_draft(data)
    _keep(platform, interaction, stage="answered", original=source.id)
    return messages.edit(platform, source, draft, files, by=platform.state.bot.id)


def _choices(platform: Platform, interaction: Interaction, *_: Any) -> None:
    _keep(platform, interaction, stage="answered")


def _form(platform: Platform, interaction: Interaction, data: dict[str, Any], _: Any) -> None:
    if not isinstance(data.get("custom_id"), str):
        raise invalid("data.custom_id", "BASE_TYPE_REQUIRED", "This field is required")
    _keep(platform, interaction, stage="answered")
    platform.state.forms[interaction.user_id] = (interaction, data)


_WITH_MESSAGE: Final = frozenset({COMPONENT, FORM})
_ANSWERS: Final = {
    4: _Answer("message", frozenset({COMMAND, COMPONENT, FORM}), _message),
    5: _Answer("deferred", frozenset({COMMAND, COMPONENT, FORM}), _deferred),
    6: _Answer("deferred update", _WITH_MESSAGE, _deferred_update),
    7: _Answer("update", _WITH_MESSAGE, _update),
    8: _Answer("choices", frozenset({COMPLETION}), _choices),
    9: _Answer("form", frozenset({COMMAND, COMPONENT}), _form),
}


# what comes after it


def answered(platform: Platform, token: str) -> Interaction:
    """The interaction of a token that may still be used, or Discord's 404 or 401."""
    interaction = platform.state.interactions.get(token)
    if interaction is None or interaction.stage in ("open", "expired"):
        raise RestRefused(UNKNOWN_WEBHOOK)
    if platform.now() - interaction.made_at > VALID:
        raise RestRefused(INVALID_TOKEN)
    return interaction


def follow_up(
    platform: Platform, interaction: Interaction, draft: Draft, files: dict[str, Upload]
) -> DiscordMessage:
    """A further message. The first one after "later" takes the place of "the bot is thinking"."""
    uploads = described(draft, files)
    need_something(draft, uploads)
    if interaction.stage == "deferred" and original(platform, interaction).loading:
        return change(platform, interaction, original(platform, interaction), draft, files)
    return _post(platform, interaction, draft, uploads, _ephemeral(draft))


def _source(platform: Platform, interaction: Interaction) -> DiscordMessage:
    known = platform.state.messages.get(interaction.channel_id, {}).get(interaction.message_id or 0)
    if known is None:
        raise RestRefused(UNKNOWN_MESSAGE)
    return known


def original(platform: Platform, interaction: Interaction) -> DiscordMessage:
    """The message of the first answer."""
    return of_interaction(platform, interaction, interaction.original or 0)


def of_interaction(platform: Platform, interaction: Interaction, number: int) -> DiscordMessage:
    """A message that answers an interaction, whoever sees it, or Discord's 404."""
    known = platform.state.messages.get(interaction.channel_id, {}).get(number)
    ours = known is not None and (known.answers or {}).get("id") == str(interaction.id)
    if known is None or not (ours or known.id == interaction.original):
        raise RestRefused(UNKNOWN_MESSAGE)
    return known


def change(
    platform: Platform,
    interaction: Interaction,
    message: DiscordMessage,
    draft: Draft,
    files: dict[str, Upload],
) -> DiscordMessage:
    """Edit an answer; "the bot is thinking" becomes one."""
    if not message.loading:
        return messages.edit(platform, message, draft, files, by=platform.state.bot.id)
    newer = messages.complete(platform, message, draft, files, interaction.position)
    _keep(platform, interaction, stage="answered")
    return newer


def remove(platform: Platform, message: DiscordMessage) -> None:
    """Delete an answer."""
    messages.delete(platform, message, by=platform.state.bot.id)
