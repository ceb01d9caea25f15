"""The app: a channel, an agent, and the routes between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from examples._discord import keep_to_limit
from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AgentThought,
    AppBuilder,
    ChatReceived,
    ChatReplyDraft,
    RouteBuilder,
)

SYSTEM: Final = "You answer in a channel of Discord: friendly, and as short as the question allows."


def configure(channel_id: int) -> Callable[[AppBuilder], None]:
    """One channel, and the agent that answers in it. Where the journal is kept is up to who runs the app."""

    def declarative_discord_agent(app: AppBuilder) -> None:
        channel = app.use_discord(channel_id)
        agent = app.use_agent("gpt-4.1", system=SYSTEM)
        app.covenant().connect(channel).connect(agent).routes(declare)
        keep_to_limit(app)

    return declarative_discord_agent


def declare(to: RouteBuilder) -> None:
    """The routes: what is said is asked, what is answered is said; thoughts are for nobody."""
    to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text, sender=said.sender))
    to.route(AgentResponse, ChatReplyDraft, lambda said: ChatReplyDraft(text=said.text, sender=said.sender))
    to.terminal(AgentThought)
