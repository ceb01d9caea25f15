"""REST routes that answer interactions. The token in the path stands for the bot's own.

Source: https://discord.com/developers/docs/interactions/receiving-and-responding#endpoints
"""

from __future__ import annotations

from typing import Any, Final

from soundstage.discord import _interactions as interactions
from soundstage.discord import _payloads as payloads
from soundstage.discord._call import Call, Route
from soundstage.discord._drafts import parse_draft
from soundstage.discord._problems import UNKNOWN_WEBHOOK, RestRefused
from soundstage.discord._records import DiscordMessage
from soundstage.discord._state import Interaction


def respond(call: Call) -> Any:
    """The first answer. Its result is only sent to clients that ask for it."""
    result = interactions.respond(
        call.platform, call.params["interaction_id"], call.params["token"], call.body, call.files
    )
    return result if call.query.get("with_response") in ("1", "true", "True") else None


def _interaction(call: Call) -> Interaction:
    if call.params["application_id"] != call.me:
        raise RestRefused(UNKNOWN_WEBHOOK)
    return interactions.answered(call.platform, call.params["token"])


def _message(call: Call) -> DiscordMessage:
    """The message in the path; without one, the original answer."""
    interaction = _interaction(call)
    if "message_id" not in call.params:
        return interactions.original(call.platform, interaction)
    return interactions.of_interaction(call.platform, interaction, call.params["message_id"])


def follow_up(call: Call) -> Any:
    draft = parse_draft(call.fields)
    message = interactions.follow_up(call.platform, _interaction(call), draft, call.files)
    return payloads.message(call.platform.state, message)


def get_answer(call: Call) -> Any:
    return payloads.message(call.platform.state, _message(call))


def edit_answer(call: Call) -> Any:
    draft = parse_draft(call.fields)
    newer = interactions.change(call.platform, _interaction(call), _message(call), draft, call.files)
    return payloads.message(call.platform.state, newer)


def delete_answer(call: Call) -> None:
    interactions.remove(call.platform, _message(call))


_HOOK: Final = "/webhooks/{application_id}/{token}"
_ORIGINAL: Final = _HOOK + "/messages/@original"
_ONE: Final = _HOOK + "/messages/{message_id}"

ROUTES: Final = (
    Route("POST", "/interactions/{interaction_id}/{token}/callback", respond, token=False),
    Route("POST", _HOOK, follow_up, token=False),
    Route("GET", _ORIGINAL, get_answer, token=False),
    Route("PATCH", _ORIGINAL, edit_answer, token=False),
    Route("DELETE", _ORIGINAL, delete_answer, token=False),
    Route("GET", _ONE, get_answer, token=False),
    Route("PATCH", _ONE, edit_answer, token=False),
    Route("DELETE", _ONE, delete_answer, token=False),
)
