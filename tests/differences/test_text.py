"""Differences for people: cause and place, below them the lines; colours only when they are asked for."""

from __future__ import annotations

from soundstage.differences import differences, unified
from soundstage.messages import system, user


def test_each_difference_has_a_head_and_its_lines(request_of):
    old = request_of(system("Be kind.\nBe brief.\nBe true."), user("hello"))
    new = request_of(system("Be kind.\nBe exact.\nBe true."), user("hello"), model="n")
    assert unified(differences(old, new)).splitlines() == [
        "system prompt edited: messages[0] system, part 1, line 2",
        "    Be kind.",
        "  - Be brief.",
        "  + Be exact.",
        "    Be true.",
        "other model or settings: model",
        "  - 'm'",
        "  + 'n'",
    ]


def test_a_message_that_was_put_in_is_shown_on_its_side(request_of):
    assert unified(differences(request_of(), request_of(user("one\ntwo")))).splitlines() == [
        "prompt edited: messages[0] user",
        "  + one",
        "  + two",
    ]
    assert unified(differences(request_of(user("one")), request_of())).splitlines() == [
        "prompt edited: messages[0] user",
        "  - one",
    ]


def test_colours_are_those_of_a_diff(request_of):
    found = differences(request_of(user("a")), request_of(user("b")))
    assert unified(found, colour=True) == (
        "\x1b[1mprompt edited: messages[0] user, part 1\x1b[0m\n  \x1b[31m- 'a'\x1b[0m\n  \x1b[32m+ 'b'\x1b[0m"
    )
    assert "\x1b" not in unified(found)


def test_a_text_cannot_steer_the_terminal(request_of):
    found = differences(request_of(user("a\nb")), request_of(user("a\n\x1b[2Jb")))
    assert "\x1b" not in unified(found)


def test_of_many_differences_the_rest_is_counted(request_of):
    found = differences(request_of(), request_of(settings={f"s{number:02}": number for number in range(25)}))
    assert unified(found).splitlines()[-1] == "and 5 more"


def test_an_empty_line_has_no_blanks_at_its_end_and_no_colour(request_of):
    found = differences(request_of(user("a\n\nb\n\nc")), request_of(user("a\n\nB\n\nc")))
    assert unified(found).split("\n")[1:] == ["", "  - b", "  + B", ""]
    assert unified(found, colour=True).split("\n")[1:] == [
        "", "  \x1b[31m- b\x1b[0m", "  \x1b[32m+ B\x1b[0m", "",
    ]  # fmt: skip
