"""Conditions on a screen, and what a message shows when they do not hold."""

from __future__ import annotations

import pytest

from soundstage.errors import MatchError
from soundstage.match import matcher
from soundstage.terminal import Emulator, Screen, ScreenText, nearest, styled

DATA = "plain \x1b[1;31mError: 2\x1b[m\r\n\x1b[7m status \x1b[m\r\nlogin:\r\n\r\n\x1b[32mok\x1b[m ok"


def screen_of(data: str = DATA) -> Screen:
    emulator = Emulator(columns=30, rows=6)
    emulator.feed(data.encode())
    return emulator.screen()


TEXT = ScreenText.of(screen_of())


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (styled("Error", fg="red"), True),
        (styled("Error: 2", fg="red", bold=True), True),
        (styled(r"/Error: \d/", bold=True), True),
        (styled("Error", fg="green"), False),
        (styled("Error", bold=False), False),
        (styled("plain Error", fg="red"), False),
        (styled("plain", fg=""), True),
        (styled("status", reverse=True), True),
        (styled("ok", fg="green"), True),
        (styled("ok", fg=""), True),
        (styled("nowhere", fg="green"), False),
        (["nothing", styled("Error", fg="red")], True),
        ({"all": ["login", styled("Error", fg="red")]}, True),
        ({"not": styled("Error", fg="red")}, False),
        ({"not": styled("Error", fg="blue")}, True),
        ("/Error.*\n status/", True),
        (lambda text: text.screen.cell(0, 6).style.bold, True),
    ],
)
def test_text_looks_and_functions_are_conditions_alone_and_combined(wanted, fits):
    assert matcher(wanted).matches(TEXT) is fits


def test_a_look_that_differs_is_named_with_its_place():
    assert (
        styled("Error", fg="green").explain(TEXT)
        == "'Error' with fg='green': at row 0, column 6 it is bold red"
    )
    assert (
        styled("plain", bold=True).explain(TEXT) == "'plain' with bold=True: at row 0, column 0 it is plain"
    )
    assert "not on the screen" in (styled("none", bold=True).explain(TEXT) or "")


def test_spaces_have_a_look_only_if_there_is_nothing_else():
    screen = ScreenText.of(screen_of("\x1b[1mtwo\x1b[m \x1b[1mwords\x1b[m\x1b[41m  "))
    assert styled("two words", bold=True).matches(screen)
    assert not styled("  ", bg="blue").matches(screen)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: styled("x", fg="pink"), "not a colour"),
        (lambda: styled("x", bg="#12345"), "not a colour"),
        (lambda: styled("x", bald=True), "no attribute 'bald'"),
        (lambda: styled("x"), "a look is needed"),
        (lambda: styled(["x"], bold=True), "only a text or an expression"),
        (lambda: matcher({"not": styled("x", bold=True)}).matches("text"), "would be true of any str"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(make, problem):
    with pytest.raises(MatchError, match=problem):
        make()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("Login:", ["nearest: row 2: 'login:'"]),
        ("/lo[gj]in> /", ["nearest: row 2: 'login:'"]),
        ("xyzzy", []),
        (["xyzzy", "Eror: 2"], ["nearest: row 0: 'plain Error: 2'"]),
        ({"all": ["login:", "statos"]}, ["nearest: row 1: ' status'"]),
        (styled("Error", fg="blue"), ["nearest: 'Error' with fg='blue': at row 0, column 6 it is bold red"]),
        (styled("Logins", fg="blue"), ["nearest: row 2: 'login:'"]),
        (
            "gone by",
            ["nearest: 'it is gone by now' has scrolled out of the screen, 2 line(s) above its first row"],
        ),
        ({"not": "login"}, []),
    ],
)
def test_a_message_shows_what_comes_nearest(wanted, expected):
    assert nearest(matcher(wanted), screen_of(), ["first", "it is gone by now", "last"]) == expected


def test_of_lines_that_are_equally_near_the_shortest_is_shown():
    screen = screen_of("ready> first\r\nready>\r\nready> second")
    assert nearest(matcher("redy>"), screen) == ["nearest: row 1: 'ready>'"]
