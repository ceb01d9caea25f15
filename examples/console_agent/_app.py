"""The parts of the app."""

from __future__ import annotations

from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AgentThought,
    AppBuilder,
    ChatReceived,
    ChatReply,
    RouteBuilder,
)

SYSTEM = "You answer on a terminal: plain text, as short as the question allows."


def configure(app: AppBuilder) -> None:
    """A console, an agent, and the ways between them."""
    chat = app.use_console()
    agent = app.use_agent("gpt-4.1", system=SYSTEM)
    app.covenant().connect(chat).connect(agent).routes(_declare)


def _declare(to: RouteBuilder) -> None:
    to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text, sender=said.sender))
    to.route(AgentResponse, ChatReply, lambda answer: ChatReply(text=answer.text, sender=answer.sender))
    to.terminal(AgentThought)
