"""A terminal's screen on the page: its colours, its cursor, its size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soundstage.journal import Journal, Record, ScreenChanged
from soundstage.report import Section, write_page
from soundstage.terminal import Emulator, screen_event

DATA = "世 \x1b[1;31mred\x1b[m <b>\r\n\x1b[7m status \x1b[m\r\n\x1b[38;2;1;2;3;4mx\x1b[m"


def records() -> list[Record]:
    emulator = Emulator(columns=20, rows=5)
    emulator.feed(DATA.encode())
    journal = Journal()
    journal.append(screen_event(emulator.screen(), channel="tty", label="the menu"), source="tty")
    odd: Any = (
        (0, 5, 10**9, "no words"),
        (0, 0, 1, "on javascript:1"),
        (9, 0, 1, "bold"),
        (0, -5, -1, "red"),
    )
    journal.append(ScreenChanged(text="odd", styles=odd, cursor=(0, 10**9)), source="tty")
    return journal.read()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    path = write_page(tmp_path / "page.html", [Section("screens", records())])
    context = browser.new_context()
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert problems == []


def looks(page: Any, text: str, *names: str) -> list[str]:
    place = page.locator("#e1-detail .screen span", has_text=text).first
    return [place.evaluate(f"node => getComputedStyle(node).{name}") for name in names]


def test_a_screen_is_shown_with_its_colours_cursor_and_name(page: Any) -> None:
    page.locator("#e1").click()
    detail = page.locator("#e1-detail")
    assert detail.locator(".screen").text_content() == "世 red <b>\n status \nx \n\n"
    assert looks(page, "red", "color", "fontWeight") == ["rgb(224, 96, 106)", "700"]
    assert looks(page, "status", "color", "backgroundColor") == ["rgb(20, 22, 26)", "rgb(228, 229, 231)"]
    assert looks(page, "x", "color", "textDecorationLine") == ["rgb(1, 2, 3)", "underline"]
    assert detail.locator(".screen .cursor").count() == 1
    assert detail.get_by_text("the menu").count() == 1
    assert detail.get_by_text("20 x 5").count() == 1


def test_a_screen_with_odd_looks_is_shown_all_the_same(page: Any) -> None:
    page.locator("#e2").click()
    assert page.locator("#e2-detail .screen").text_content().startswith("odd")
