"""A screen as text, as a picture, as HTML and as an event: complete, escaped, always the same."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundstage.report
from soundstage.journal import Journal, ScreenChanged, decode_record, encode_record
from soundstage.terminal import Emulator, Screen, screen_event
from soundstage.terminal._paint import BACKGROUND, FOREGROUND, PALETTE

SVG = "{http://www.w3.org/2000/svg}"
LOOKS = (
    ("\x1b[31m", "color:#e0606a", 'fill="#e0606a"'),
    ("\x1b[38;5;208m", "color:#ff8700", 'fill="#ff8700"'),
    ("\x1b[38;2;1;2;3m", "color:#010203", 'fill="#010203"'),
    ("\x1b[44m", "background:#4aa5f0", '<rect x="0" y="0" width="16" height="18" fill="#4aa5f0"/>'),
    ("\x1b[7m", f"color:{BACKGROUND};background:{FOREGROUND}", f'fill="{BACKGROUND}"'),
    ("\x1b[1m", "font-weight:bold", 'font-weight="bold"'),
    ("\x1b[3m", "font-style:italic", 'font-style="italic"'),
    ("\x1b[4;9m", "text-decoration:underline line-through", 'text-decoration="underline line-through"'),
    ("\x1b[8m", f"color:{BACKGROUND}", f'fill="{BACKGROUND}"'),
    ("\x1b[2m", "color:#9ea0a2", 'fill="#9ea0a2"'),
)


def screen_of(data: str | bytes, columns: int = 12, rows: int = 3) -> Screen:
    emulator = Emulator(columns=columns, rows=rows)
    emulator.feed(data.encode() if isinstance(data, str) else data)
    return emulator.screen()


class Texts(HTMLParser):
    """The text of a piece of HTML, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def html_text(html: str) -> str:
    parser = Texts()
    parser.feed(html)
    assert set(parser.tags) <= {"pre", "span"}
    return parser.text.removeprefix("\n")


def test_a_screenshot_is_the_screen_in_a_frame():
    assert screen_of("hi 世").screenshot() == (
        "+-- 12 x 3 --+\n|hi 世       |\n|            |\n|            |\n+-- cursor at row 0, column 5 --+"
    )
    assert screen_of("\x1b[?25lhi").screenshot(cut=True) == (
        "+-- 12 x 3 --+\n|hi          |\n+-- no cursor; 2 empty rows below --+"
    )


@pytest.mark.parametrize(("codes", "html", "svg"), LOOKS)
def test_colours_and_attributes_are_drawn(codes, html, svg):
    screen = screen_of(f"\x1b[?25l{codes}hi\x1b[m plain")
    assert f'<span style="{html}">hi</span> plain' in screen.html()
    assert svg in screen.svg()


def test_the_cursor_is_drawn_unless_it_is_hidden():
    screen, hidden = screen_of("hi\x1b[H"), screen_of("hi\x1b[H\x1b[?25l")
    assert f'<span style="color:{BACKGROUND};background:{FOREGROUND}">h</span>i' in screen.html()
    assert "span" not in hidden.html()
    assert 'fill-opacity="0.5"' in screen.svg()
    assert "fill-opacity" not in hidden.svg()


def test_wide_characters_keep_the_columns_straight():
    screen = screen_of("\x1b[?25la世b")
    assert '<span style="display:inline-block;width:2ch">世</span>b' in screen.html()
    texts = [(item.text, item.get("x"), item.get("textLength")) for item in _texts(screen)]
    assert texts == [("a", "0", "8"), ("世", "8", "16"), ("b", "24", "8")]


def _texts(screen: Screen) -> list[ET.Element]:
    return list(ET.fromstring(screen.svg()).iter(f"{SVG}text"))


def test_spaces_between_letters_are_kept_by_every_viewer():
    [text] = _texts(screen_of("\x1b[?25l  a   b"))
    assert (text.text, text.get("x"), text.get("textLength")) == ("a\u00a0\u00a0\u00a0b", "16", "40")


def test_a_title_and_markup_are_only_text():
    screen = screen_of('\x1b]2;<"&\x07<b>&amp;"', columns=20)
    assert html_text(screen.html()).splitlines()[0].rstrip() == '<b>&amp;"'
    assert [item.text for item in _texts(screen)] == ['<b>&amp;"']
    assert next(ET.fromstring(screen.svg()).iter(f"{SVG}title")).text == '<"&'


@given(
    st.lists(
        st.sampled_from(
            [*(codes for codes, _, _ in LOOKS), "\x1b[m", "\r\n", "世", "e\u0301", "<&>\"'", "\ufffe", "a b "]
        )
    )
)
def test_every_picture_is_well_formed_complete_and_the_same_each_time(parts):
    data = "".join(parts)
    screen = screen_of(data)
    drawn = [line.replace("\ufffe", "\ufffd").rstrip() for line in screen.lines]
    assert [line.rstrip() for line in html_text(screen.html()).split("\n")] == drawn
    letters = "".join(item.text or "" for item in _texts(screen))
    assert letters.replace("\u00a0", "") == "".join(drawn).replace(" ", "")
    assert (screen.svg(), screen.html()) == (screen_of(data).svg(), screen_of(data).html())


def test_an_event_has_the_text_once_and_the_looks_by_place():
    screen = screen_of("世 \x1b[1;31mred\x1b[m\r\n\x1b[44m x")
    assert screen_event(screen, channel="tty", label="first") == ScreenChanged(
        text="世 red\n x",
        channel="tty",
        label="first",
        columns=12,
        rows=3,
        cursor=(1, 2),
        styles=((0, 2, 5, "bold red"), (1, 0, 2, "on blue")),
    )


def test_an_event_says_how_spaces_look_that_are_not_in_the_text():
    event = screen_event(screen_of("\x1b[?25l\x1b[7m\x1b[K"), channel="tty")
    assert (event.text, event.styles, event.cursor) == ("", (), None)
    event = screen_event(screen_of("ab\x1b[44m\x1b[K"), channel="tty")
    assert (event.text, event.styles) == ("ab", ((0, 2, 12, "on blue"),))


def test_an_event_survives_the_file():
    journal = Journal()
    journal.append(screen_event(screen_of("\x1b[1mx"), channel="tty"), source="tty")
    [record] = journal.read()
    assert decode_record(encode_record(record)) == record


def test_the_page_has_the_same_colours():
    script = (Path(soundstage.report.__file__).parent / "templates" / "screen.js").read_text()
    found = dict(re.findall(r'"?([a-z-]+)"?: "(#[0-9a-f]{6})"', script))
    assert found == PALETTE
    assert f'INK = "{FOREGROUND}"' in script
    assert f'GROUND = "{BACKGROUND}"' in script
