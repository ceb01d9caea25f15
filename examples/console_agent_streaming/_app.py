"""The parts of the app."""

from __future__ import annotations

from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentThought,
    AgentThoughtChunk,
    AnyWindow,
    AppBuilder,
    ChatReceived,
    ChatReply,
    LengthWindow,
    MarkerWindow,
    ParagraphSplitter,
    ParagraphWindow,
    RouteBuilder,
    SentenceWindow,
)

SYSTEM = "You answer on a terminal, in short paragraphs of plain text."


def configure(app: AppBuilder) -> None:
    """A console that shows each paragraph of an answer when it is complete."""
    chat = app.use_console(line_format="{text}")
    agent = app.use_agent("gpt-4.1", system=SYSTEM, streaming=True)
    app.covenant().connect(chat).connect(agent).routes(_declare)
    app.with_window(AgentResponseChunk, AnyWindow((ParagraphWindow(), LengthWindow(1024))))
    app.with_splitter(AgentResponse, ParagraphSplitter())
    thoughts = AnyWindow((MarkerWindow(), SentenceWindow(), LengthWindow(2048)))
    app.with_window(AgentThoughtChunk, thoughts)


def _declare(to: RouteBuilder) -> None:
    to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text, sender=said.sender))
    to.route(AgentResponse, ChatReply, lambda answer: ChatReply(text=answer.text, sender=answer.sender))
    to.terminal(AgentThought)
    to.terminal(AgentResponseChunk)  # the windows make responses of them
    to.terminal(AgentThoughtChunk)
