"""Discord's events in words."""

from __future__ import annotations

import pytest

from soundstage.discord._events import (
    DiscordAnswered,
    DiscordChannelChanged,
    DiscordCommandsRegistered,
    DiscordGatewayChanged,
    DiscordInteracted,
    DiscordMessageChanged,
    DiscordRateLimited,
    DiscordReacted,
    DiscordTyped,
)
from soundstage.journal import Record
from soundstage.trace import build_trace

EVENTS = [
    (DiscordGatewayChanged(change="opened"), "gateway: bot opened"),
    (
        DiscordGatewayChanged(
            change="closed", code=4004, reason="bad token", by="discord", detail={"sent": 2}
        ),
        "gateway: discord closed with 4004 · bad token · sent=2",
    ),
    (
        DiscordMessageChanged(change="edited", channel="#tea", sender="bot", by="bot", text="hot"),
        "bot edited own message in #tea: hot",
    ),
    (
        DiscordMessageChanged(change="deleted", channel="#tea", sender="bot", by="ann"),
        "ann deleted message of bot in #tea",
    ),
    (DiscordReacted(change="added", emoji="+1", channel="#tea", sender="ann"), "ann added +1 in #tea"),
    (DiscordTyped(channel="#tea", sender="ann"), "ann is typing in #tea"),
    (
        DiscordChannelChanged(change="created", channel="#tea/plan", kind="thread", by="ann"),
        "thread #tea/plan created by ann",
    ),
    (DiscordChannelChanged(change="deleted", channel="#tea", kind="text"), "text #tea deleted"),
    (DiscordCommandsRegistered(commands=("/ask", "/help")), "global commands: /ask, /help"),
    (DiscordCommandsRegistered(commands=(), scope="guild"), "guild commands: none"),
    (
        DiscordInteracted(
            kind="command", name="/ask", channel="#tea", sender="ann", values={"question": "hot?"}
        ),
        "ann in #tea: command /ask question=hot?",
    ),
    (
        DiscordInteracted(kind="button", name="more", channel="#tea", sender="ann"),
        "ann in #tea: button more",
    ),
    (DiscordAnswered(kind="nothing", name="/ask"), "/ask was not answered in time"),
    (
        DiscordAnswered(kind="message", name="/ask", ephemeral=True),
        "/ask answered with message (only for them)",
    ),
    (
        DiscordAnswered(kind="form", name="/ask", detail={"title": "Ask"}),
        "/ask answered with form · title=Ask",
    ),
    (
        DiscordRateLimited(route="POST /messages", scope="user", retry_after=1.5),
        "POST /messages limited (user), retry after 1.5 s",
    ),
]


@pytest.mark.parametrize(("event", "words"), EVENTS)
def test_an_event_says_what_happened(event, words):
    assert str(event) == words


def test_the_trace_shows_what_happened_on_the_discord():
    records = [
        Record(position=number, time=0.0, run="r", source="discord", cause=None, event=event)
        for number, (event, _) in enumerate(EVENTS, start=1)
    ]
    shown = build_trace(records).format(width=120).splitlines()[:-1]
    assert shown == [f"{type(event).__name__} {words}" for event, words in EVENTS]
