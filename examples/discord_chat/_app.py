"""The parts of the app."""

from __future__ import annotations

from collections.abc import Callable

from examples._discord import keep_to_limit
from soundstage.agents import AppBuilder, ChatReceived, ChatReplyDraft, RouteBuilder


def configure(channel_id: int) -> Callable[[AppBuilder], None]:
    """One channel whose messages come back, with the name of who wrote them."""

    def discord_chat(app: AppBuilder) -> None:
        app.covenant().connect(app.use_discord(channel_id)).routes(_declare)
        keep_to_limit(app)  # a message may be as long as Discord allows, and the name is added to it

    return discord_chat


def _declare(to: RouteBuilder) -> None:
    to.route(ChatReceived, ChatReplyDraft, _echo)


def _echo(said: ChatReceived) -> ChatReplyDraft:
    return ChatReplyDraft(text=f"{said.sender}: {said.text}", sender="echo")
