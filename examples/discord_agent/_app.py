"""The app: a channel, an agent, and two parts written by hand between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from examples._discord import keep_to_limit
from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AppBuilder,
    AppScope,
    ChatReceived,
    ChatReplyDraft,
    Pump,
)
from soundstage.journal import Event, Record

SYSTEM: Final = "You answer in a channel of Discord: friendly, and as short as the question allows."


def configure(channel_id: int) -> Callable[[AppBuilder], None]:
    """One channel, and the agent that answers in it. Where the journal is kept is up to who runs the app."""

    def discord_agent(app: AppBuilder) -> None:
        app.use_discord(channel_id)
        app.use_agent("gpt-4.1", system=SYSTEM)
        app.with_daemon(lambda scope: _pump(scope, "ask", ChatReceived, AgentPrompt))
        app.with_daemon(lambda scope: _pump(scope, "answer", AgentResponse, ChatReplyDraft))
        keep_to_limit(app)

    return discord_agent


def _pump(scope: AppScope, name: str, source: type[Event], target: type[Any]) -> Pump:
    """Each entry of one kind becomes one of the other, with the same words and the same sender."""

    def pass_on(record: Record) -> None:
        said: Any = record.event
        entry = target(text=said.text, sender=said.sender)
        scope.journal.append(entry, source=name, cause=record.position)

    return Pump(name, scope.followers, (source,), pass_on)
