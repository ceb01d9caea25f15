"""The app: a branch, a route, and the two policies that this example shows."""

from __future__ import annotations

from collections.abc import Callable

from examples._discord import PIECE
from soundstage.agents import (
    AnyWindow,
    AppBuilder,
    ChainSplitter,
    ChatChunk,
    ChatReceived,
    ChatReplyDraft,
    LengthSplitter,
    LengthWindow,
    RouteBuilder,
    SentenceSplitter,
    SentenceWindow,
)


def configure(channel_id: int) -> Callable[[AppBuilder], None]:
    """One channel whose messages come back sentence by sentence."""

    def discord_streaming(app: AppBuilder) -> None:
        app.covenant().connect(app.use_discord(channel_id)).routes(_declare)
        # draft -> chunks: sentences, and what is too long for one in parts
        app.with_splitter(ChatReplyDraft, ChainSplitter((SentenceSplitter(), LengthSplitter(PIECE))))
        # chunks -> messages: when a sentence is whole, or enough has come together
        app.with_window(ChatChunk, AnyWindow((SentenceWindow(), LengthWindow(PIECE))))

    return discord_streaming


def _declare(to: RouteBuilder) -> None:
    to.route(ChatReceived, ChatReplyDraft, lambda said: ChatReplyDraft(text=said.text, sender="reader"))
