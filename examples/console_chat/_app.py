"""The parts of the app."""

from __future__ import annotations

from soundstage.agents import AppBuilder, ChatReceived, ChatReply, RouteBuilder


def configure(app: AppBuilder) -> None:
    """A console whose lines come back."""
    app.covenant().connect(app.use_console()).routes(_declare)


def _declare(to: RouteBuilder) -> None:
    to.route(ChatReceived, ChatReply, _echo)


def _echo(said: ChatReceived) -> ChatReply:
    return ChatReply(text=said.text, sender="echo")
