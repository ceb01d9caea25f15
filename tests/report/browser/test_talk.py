"""Messages, other acts of people, and named screens, above the events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soundstage.discord import (
    DiscordAnswered,
    DiscordInteracted,
    DiscordMessageChanged,
    DiscordReacted,
)
from soundstage.journal import Event, Journal, MessageReceived, MessageSent, Noted, ScreenChanged
from soundstage.report import Section, write_page

ROOM = "#general"
EVIL = "<img src=x onerror='window.pwned = 1'></li><script>window.pwned = 2</script>"


def journal_of(*steps: tuple[Event, int | None]) -> Any:
    journal = Journal()
    for event, cause in steps:
        journal.append(event, source="discord", cause=cause)
    return journal.read()


def clicked(sender: str) -> DiscordInteracted:
    return DiscordInteracted(kind="button", name="x9", channel=ROOM, sender=sender, values={"label": "Yes"})


def on_discord() -> Any:
    return journal_of(
        (MessageReceived(text="why?", channel=ROOM, sender="ann"), None),
        (MessageSent(text="because", channel=ROOM, sender="bot"), 1),
        (DiscordReacted(change="added", emoji=":)", channel=ROOM, sender="bob"), 2),
        (
            DiscordInteracted(
                kind="command", name="/ship", channel=ROOM, sender="ann", values={"version": "1.2"}
            ),
            None,
        ),
        (clicked("ann"), 4),
        (MessageSent(text="not you", channel=ROOM, sender="bot"), 5),
        (DiscordAnswered(kind="message", name="x9", ephemeral=True), 5),
        (DiscordMessageChanged(change="edited", channel=ROOM, sender="bot", by="bot", text="shipped"), 2),
        (Noted(text="nobody said this"), None),
    )


def on_screen() -> Any:
    return journal_of(
        (ScreenChanged(text="one", channel="tty"), None),
        (ScreenChanged(text="two", channel="tty", label="the menu"), None),
        (MessageReceived(text="[Enter]", channel="tty", sender="test"), None),
        (ScreenChanged(text="three", channel="tty", label="chosen"), None),
        (ScreenChanged(text="four", channel="tty"), None),
    )


def hostile() -> Any:
    return journal_of(
        (MessageReceived(text=EVIL, channel=EVIL, sender=EVIL), None),
        (MessageSent(text=EVIL, channel="other", sender="__proto__"), None),
        (
            DiscordInteracted(kind="button", name=EVIL, channel=EVIL, sender=EVIL, values={"label": [EVIL]}),
            None,
        ),
        (DiscordReacted(change="added", emoji=EVIL, channel=EVIL, sender=EVIL), 1),
        (DiscordMessageChanged(change="edited", channel=EVIL, sender=EVIL, by="mod", text=EVIL), 1),
        (ScreenChanged(text=EVIL, channel=EVIL, label=EVIL), None),
    )


@pytest.fixture
def talk(browser: Any, tmp_path: Path) -> Any:
    """Opens a page of records and gives what stands under the heading of the talk."""
    contexts: list[Any] = []
    problems: list[str] = []

    def show(records: Any, **options: Any) -> Any:
        path = write_page(tmp_path / "page.html", [Section("run", records)])
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request", lambda request: problems.extend([request.url] * (not request.url.startswith("file:")))
        )
        page.goto(path.as_uri())
        return page.locator(".talk")

    yield show
    for context in contexts:
        context.close()
    assert problems == []


def turns(talk: Any) -> list[tuple[str, str]]:
    return [
        (item.locator(".who").inner_text(), item.locator(".said").inner_text())
        for item in talk.locator(".turn:not(.shown)").all()
    ]


def test_a_discord_reads_as_a_conversation(talk: Any) -> None:
    shown = talk(on_discord())
    assert shown.locator("h3").inner_text() == "Conversation"
    assert turns(shown) == [
        ("ann", "why?"),
        ("bot", "because"),
        ("bob", "added :)"),
        ("ann", "runs /ship version=1.2"),
        ("ann", "uses the button Yes"),
        ("bot", "not you\nonly ann sees this"),
        ("bot", "edited a message\nshipped"),
    ]


def test_a_turn_leads_to_its_event(talk: Any) -> None:
    shown = talk(on_discord())
    shown.locator(".at").nth(1).click()
    shown.page.locator('#e2[aria-expanded="true"]').wait_for()


def test_screens_with_a_name_are_shown_between_what_was_typed(talk: Any) -> None:
    shown = talk(on_screen())
    assert shown.locator("h3").inner_text() == "Screens"
    assert shown.locator(".caption").all_inner_texts() == ["the menu", "chosen"]
    assert [text.strip() for text in shown.locator(".screen").all_inner_texts()] == ["two", "three"]
    assert shown.locator(".turn:not(.shown) .said").all_inner_texts() == ["[Enter]"]


def test_without_names_the_last_screen_is_shown(talk: Any) -> None:
    shown = talk(journal_of((ScreenChanged(text="one"), None), (ScreenChanged(text="two"), None)))
    assert [text.strip() for text in shown.locator(".screen").all_inner_texts()] == ["two"]
    assert shown.locator(".caption").inner_text() == "the last screen"


def test_several_channels_are_named(talk: Any) -> None:
    sent = [(MessageSent(text="hi", channel=name, sender="bot"), None) for name in ("#a", "#b")]
    assert [said for _, said in turns(talk(journal_of(*sent)))] == ["hi\n#a", "hi\n#b"]


def test_a_long_conversation_is_shown_in_part_until_it_is_asked_for(talk: Any) -> None:
    shown = talk(journal_of(*[(MessageSent(text=f"line {number}"), None) for number in range(100)]))
    assert shown.locator(".turn").count() == 40
    shown.get_by_role("button", name="Show 60 more turns").click()
    assert turns(shown)[-1] == ("app", "line 99")


def test_a_run_in_which_nobody_says_anything_has_no_conversation(talk: Any) -> None:
    assert not talk(journal_of((Noted(text="quiet"), None))).is_visible()


def test_hostile_turns_stay_text(talk: Any) -> None:
    shown = talk(hostile())
    assert shown.page.evaluate("window.pwned ?? null") is None
    assert shown.page.evaluate("document.querySelectorAll('img').length") == 0
    assert EVIL in shown.inner_text()
    assert turns(talk(hostile()))[1][0] == "__proto__"


@pytest.mark.parametrize("width", [320, 1280])
def test_the_turns_do_not_make_the_page_wider_than_the_window(talk: Any, width: int) -> None:
    wide = ScreenChanged(text="x" * 120, columns=120, rows=2, label="wide")
    long = MessageSent(text="W" * 500, sender="S" * 200)
    page = talk(journal_of((wide, None), (long, None)), viewport={"width": width, "height": 700}).page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
