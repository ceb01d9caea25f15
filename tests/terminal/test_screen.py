"""The emulator shows what an xterm would show, whatever comes, and however it is cut."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import MatchError
from soundstage.terminal import Cell, Emulator, Position, Screen, Style

SEQUENCES = (
    *(
        "\x1b[2J",
        "\x1b[H",
        "\x1b[3;5H",
        "\x1b[K",
        "\x1b[1K",
        "\x1b[J",
        "\x1b[1J",
        "\x1b[2L",
        "\x1b[M",
        "\x1b[3P",
    ),
    *(
        "\x1b[2@",
        "\x1b[4X",
        "\x1b[S",
        "\x1b[2T",
        "\x1b[2;4r",
        "\x1b[r",
        "\x1bM",
        "\x1bD",
        "\x1bE",
        "\x1b7",
        "\x1b8",
    ),
    *(
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[?6h",
        "\x1b[?6l",
        "\x1b[5b",
    ),
    *(
        "\x1b[1;31m",
        "\x1b[44m",
        "\x1b[m",
        "\x1b(0lqk\x1b(B",
        "\x1b]2;title\x07",
        "\x1bP+q00\x1b\\",
        "\x1b[?25l",
    ),
    *(
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[6n",
        "\x1b#8",
        "\x1bc",
        "\x1b[!p",
        "\x1b[2Z",
        "\x1b[3I",
        "\x1b[?5h",
    ),
)
PIECES = st.one_of(
    st.sampled_from(SEQUENCES),
    st.sampled_from(["\r\n", "\n", "\r", "\b", "\t", "世界", "e\u0301", "❤\ufe0f", "─┐"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30),
)
STREAMS = st.lists(PIECES, max_size=25).map("".join).map(str.encode)


def emulator(data: str | bytes = b"", **options: Any) -> Emulator:
    made = Emulator(**{"columns": 10, "rows": 4, **options})
    made.feed(data.encode() if isinstance(data, str) else data)
    return made


def lines(data: str | bytes, **options: Any) -> list[str]:
    return emulator(data, **options).screen().lines


def whole(made: Emulator) -> tuple[Screen, list[str]]:
    return made.screen(), made.scrollback


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("one\r\ntwo", ["one", "two", "", ""], id="lines"),
        pytest.param("one\ntwo", ["one", "   two", "", ""], id="a line feed keeps the column"),
        pytest.param("0123456789ab", ["0123456789", "ab", "", ""], id="a long line wraps"),
        pytest.param(
            "0123456789\r\nab", ["0123456789", "ab", "", ""], id="a full line wraps only when it has to"
        ),
        pytest.param(
            "\x1b[?7l0123456789ab", ["012345678b", "", "", ""], id="without wrapping the end is overwritten"
        ),
        pytest.param(
            "012345678世", ["012345678", "世", "", ""], id="a wide character does not fit into one column"
        ),
        pytest.param("世界\x1b[2Gx", [" x界", "", "", ""], id="half a wide character is none"),
        pytest.param("世界\x1b[3G\x1b[P", ["世", "", "", ""], id="deleting half of one deletes it"),
        pytest.param(
            "a❤\ufe0fb\u200dc", ["a❤\ufe0fb\u200dc", "", "", ""], id="selectors and joiners end nothing"
        ),
        pytest.param("e\u0301x", ["e\u0301x", "", "", ""], id="a mark is in the cell of its letter"),
        pytest.param("abc\x1b[1;2H\x1b[@", ["a bc", "", "", ""], id="insert"),
        pytest.param("abc\x1b[1;2H\x1b[P", ["ac", "", "", ""], id="delete"),
        pytest.param("abc\x1b[1;2H\x1b[X", ["a c", "", "", ""], id="erase"),
        pytest.param("abc\x1b[4hX\x1b[1GY", ["YabcX", "", "", ""], id="insert mode"),
        pytest.param("a\r\nb\r\nc\x1b[1;1H\x1b[M", ["b", "c", "", ""], id="delete a line"),
        pytest.param("a\r\n\r\nc\x1b[1;1H\x1b[M", ["", "c", "", ""], id="delete a line before an empty one"),
        pytest.param("a\r\nb\x1b[1;1H\x1b[L", ["", "a", "b", ""], id="insert a line"),
        pytest.param("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nX", ["a", "c", "X", "d"], id="a region scrolls"),
        pytest.param("a\r\nb\x1b[1;1H\x1bMX", ["X", "a", "b", ""], id="up at the top scrolls down"),
        pytest.param("a\r\nb\x1b[S", ["b", "", "", ""], id="scroll up"),
        pytest.param("a\r\nb\x1b[T", ["", "a", "b", ""], id="scroll down"),
        pytest.param("=\x1b[4b", ["=====", "", "", ""], id="repeat"),
        pytest.param("\tx\x1b[Zy", ["        y", "", "", ""], id="tabs, and back"),
        pytest.param("\x1b(0lqk\x1b(Bq", ["┌─┐q", "", "", ""], id="line drawing"),
        pytest.param("\x1b)0a\x0eq\x0fq", ["a─q", "", "", ""], id="line drawing by shifting"),
        pytest.param("a\x1b7\x1b[3;3Hb\x1b8c", ["ac", "", "  b", ""], id="save and restore"),
        pytest.param("abc\x1b[2Jd", ["   d", "", "", ""], id="erase all"),
        pytest.param("abc\bX\rY", ["YbX", "", "", ""], id="backspace and return"),
        pytest.param("old\x1b[?1049h\x1b[Hnew", ["new", "", "", ""], id="the alternate screen"),
        pytest.param("old\x1b[?1049hnew\x1b[?1049l!", ["old!", "", "", ""], id="and back"),
        pytest.param("a\x00\x7f\x07b", ["ab", "", "", ""], id="what is not shown"),
        pytest.param("\x1b#8\x1b[2;2H\x1b[J", ["EEEEEEEEEE", "E", "", ""], id="the alignment pattern"),
    ],
)
def test_the_screen_is_that_of_an_xterm(data, expected):
    assert lines(data) == expected


@pytest.mark.parametrize(
    "unknown",
    [
        "\x1b[>4;2m",
        "\x1b[?u",
        "\x1b[<u",
        "\x1b[=1;1u",
        "\x1b[2 q",
        "\x1b[?69$p",
        "\x1b[;;;z",
        "\x1b[1:2:3z",
        "\x1b[6>n",
        "\x1bP1$r0m\x1b\\",
        "\x1b_Gi=1\x1b\\",
        "\x1b^x\x1b\\",
        "\x1bXx\x1b\\",
        "\x1b]8;;http://x\x07",
        "\x1b]52;c;eA==\x07",
        "\x1b=",
        "\x1b>",
        "\x1b%G",
        "\x1b[38;5m",
        "\x1b[38;9m",
        "\x1b[9999;9999H\x1b[H",
        "\x1b[" + "1" * 300 + "m",
    ],
)
def test_a_sequence_that_nobody_knows_is_not_shown(unknown):
    screen = emulator(f"{unknown}x", columns=20).screen()
    assert screen.text == "x"
    assert screen.cell(0, 0) == Cell("x")


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("1;31", Style(fg="red", bold=True)),
        ("38;5;1", Style(fg="red")),
        ("38;5;9", Style(fg="bright-red")),
        ("91;102", Style(fg="bright-red", bg="bright-green")),
        ("38;5;208", Style(fg="#ff8700")),
        ("38;5;244;1", Style(fg="#808080", bold=True)),
        ("48;2;1;2;3;4", Style(bg="#010203", underline=True)),
        ("38:2::1:2:3;48:5:2", Style(fg="#010203", bg="green")),
        ("38:2:1:2:3", Style(fg="#010203")),
        ("4:3;58:2::1:2:3", Style(underline=True)),
        ("4;4:0", Style()),
        (
            "2;3;5;7;8;9;21",
            Style(dim=True, italic=True, blink=True, reverse=True, hidden=True, strike=True, underline=True),
        ),
        ("1;2;22;3;23;4;24;5;25;7;27;8;28;9;29;31;39;41;49", Style()),
        ("31;0", Style()),
        ("31;", Style()),
        ("38;5;999;38;2;1", Style()),
        ("999;31", Style(fg="red")),
    ],
)
def test_colours_and_attributes_are_those_of_xterm(codes, style):
    screen = emulator(f"\x1b[{codes}mx").screen()
    assert screen.cell(0, 0) == Cell("x", style)
    assert Style.parse(str(style)) == style


def test_what_is_erased_or_scrolls_in_has_the_colour_behind_the_text():
    screen = emulator("abc\x1b[44;1;4m\x1b[1;2H\x1b[K").screen()
    assert [cell.style for cell in screen.rows[0][:3]] == [Style(), Style(bg="blue"), Style(bg="blue")]
    assert set(emulator("\x1b[44;1;4m\x1b[4;1H\r\n").screen().rows[3]) == {Cell(" ", Style(bg="blue"))}
    assert set(emulator("\x1b[44;1;4m\x1b[2J").screen().rows[2]) == {Cell(" ", Style(bg="blue"))}


def test_a_screen_in_reverse_is_reversed_everywhere():
    screen = emulator("a\x1b[7mb\x1b[?5h").screen()
    assert [cell.style.reverse for cell in screen.rows[0][:3]] == [True, False, True]


def test_lines_that_scroll_out_are_kept_up_to_a_limit():
    made = emulator("".join(f"{number}\r\n" for number in range(20)), history=5)
    assert made.scrollback == ["12", "13", "14", "15", "16"]
    made.feed(b"\x1b[3J")
    assert made.scrollback == []


def test_the_alternate_screen_leaves_nothing_behind():
    made = emulator("\x1b[?1049h" + "x\r\n" * 10 + "\x1b[?1049l")
    assert whole(made) == whole(emulator())


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("ab\x1b[6n", "\x1b[1;3R"),
        ("\x1b[?6n", "\x1b[?1;1R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[c", "\x1b[?62;22c"),
        ("\x1b[>c", "\x1b[>0;0;0c"),
        ("\x1b[18t", "\x1b[8;4;10t"),
        ("\x1b]11;?\x07", "\x1b]11;rgb:1414/1616/1a1a\x1b\\"),
        ("\x1b[?2026$p", "\x1b[?2026;2$y"),
        ("\x1b[?7$p", "\x1b[?7;1$y"),
        ("\x1b[?1049h\x1b[?1049$p", "\x1b[?1049;1$y"),
        ("\x1b[?12345$p", "\x1b[?12345;0$y"),
        ("\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"),
    ],
)
def test_questions_are_answered_once(question, answer):
    made = emulator(question)
    assert made.take_answers() == answer.encode()
    assert made.take_answers() == b""


def test_modes_and_title_are_known():
    made = emulator("\x1b[?1h\x1b[?2004h\x1b[?25l\x1b]0;a title\x1b\\")
    assert (made.cursor_keys, made.bracketed_paste) == (True, True)
    assert (made.screen().cursor.visible, made.screen().title) == (False, "a title")
    made.feed(b"\x1bc")
    assert (made.cursor_keys, made.bracketed_paste) == (False, False)
    assert whole(made) == whole(emulator())


def test_a_synchronized_update_is_shown_when_it_is_complete():
    made = emulator("old\x1b[?2026h\x1b[2J\x1b[Hne")
    assert (made.screen().text, made.screen(held=False).text, made.updating) == ("old", "ne", True)
    made.feed(b"w\x1b[?2026l")
    assert (made.screen().text, made.updating) == ("new", False)


@pytest.mark.parametrize(
    ("data", "columns", "rows", "expected", "cursor"),
    [
        ("a\r\nb", 10, 2, ["a", "b"], (1, 1)),
        ("a\r\nb\r\nc\r\nd", 10, 2, ["c", "d"], (1, 1)),
        ("a\r\nb", 10, 6, ["a", "b", "", "", "", ""], (1, 1)),
        ("012345678", 5, 4, ["01234", "", "", ""], (0, 4)),
        ("0123世", 5, 4, ["0123", "", "", ""], (0, 4)),
        ("ab", 20, 4, ["ab", "", "", ""], (0, 2)),
    ],
)
def test_another_size_keeps_what_fits(data, columns, rows, expected, cursor):
    made = emulator(data)
    made.resize(columns, rows)
    screen = made.screen()
    assert screen.lines == expected
    assert screen.cursor[:2] == cursor
    assert screen.size == (columns, rows) == made.size
    made.feed(b"\x1b[1;1H\ta")
    assert made.screen().size == (columns, rows)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (1001, 5), (5, -1)])
def test_a_screen_without_a_sensible_size_is_refused(size):
    with pytest.raises(ValueError, match="1 to 1000"):
        Emulator(columns=size[0], rows=size[1])
    with pytest.raises(ValueError, match="1 to 1000"):
        emulator().resize(*size)


def test_a_text_is_found_by_its_place_on_the_screen():
    screen = emulator("世界 ab\r\n\r\n  ab12").screen()
    assert screen.find("ab") == Position(0, 5)
    assert screen.find(r"/\d+/") == Position(2, 4)
    assert screen.find("nothing") is None
    assert screen.cell(0, 1) == Cell("")
    with pytest.raises(IndexError, match="outside of 4 rows and 10 columns"):
        screen.cell(4, 0)
    with pytest.raises(MatchError, match="only a text or an expression"):
        screen.find(["a", "b"])


@given(STREAMS, st.lists(st.integers(0, 400), max_size=6))
def test_the_screen_is_the_same_however_the_input_is_cut(data, cuts):
    made = emulator()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, end in itertools.pairwise(places):
        made.feed(data[start:end])
    assert whole(made) == whole(emulator(data))


@given(
    st.binary(max_size=400)
    | st.lists(PIECES | st.binary(max_size=5).map(lambda raw: raw.decode("latin-1")))
    .map("".join)
    .map(str.encode),
    st.integers(1, 12),
    st.integers(1, 5),
)
def test_whatever_comes_the_screen_is_a_screen(data, columns, rows):
    made = emulator(data, columns=columns, rows=rows)
    screen = made.screen(held=False)
    assert screen.size == (columns, rows)
    assert all(len(row) == columns for row in screen.rows)
    assert 0 <= screen.cursor.row < rows
    assert 0 <= screen.cursor.column < columns
    assert not any(set(cell.text) & set(map(chr, range(32))) for row in screen.rows for cell in row)
    made.resize(rows, columns)
    made.feed(data)
    assert made.screen(held=False).size == (rows, columns)


LINES = st.lists(
    st.sampled_from(["y", "", "a" * 9, "b" * 10, "c" * 33, "世界" * 4, "t\tt"]), min_size=1, max_size=40
)


@given(
    STREAMS,
    LINES,
    st.sampled_from(["\r\n", "\n", "\r\r\n"]),
    st.sampled_from(["", "\x1b[?7l", "\x1b[4h", "\x1b[41m", "\x1b[2;3r"]),
)
def test_a_flood_ends_where_it_would_end_if_all_of_it_were_drawn(before, parts, end, mode):
    flood = (mode + end.join(parts * (20000 // len(end.join(parts) + end)))).encode()
    at_once, piece_by_piece = emulator(before, history=7), emulator(before, history=7)
    at_once.feed(flood)
    for start in range(0, len(flood), 8192):  # too little each time to leave anything out
        piece_by_piece.feed(flood[start : start + 8192])
    assert whole(at_once) == whole(piece_by_piece)


@pytest.mark.parametrize("length", [16384, 16385, 30000, 30007])
@pytest.mark.parametrize("before", ["", "abc", "0123456789"])
def test_a_flood_without_line_ends_too(length, before):
    text = "".join(str(number % 10) for number in range(length))
    made = emulator(before, history=3)
    for start in range(0, length, 5000):
        made.feed(text[start : start + 5000].encode())
    assert whole(emulator(before + text, history=3)) == whole(made)


def test_a_flood_is_drawn_in_slices_and_most_of_it_not_at_all():
    made = emulator()
    made.add(b"y\r\n" * 300_000)
    steps = 1
    while made.step():
        steps += 1
    assert steps < 5
    assert made.screen().text == "y\ny\ny"


def test_a_cell_takes_only_so_many_marks():
    assert len(emulator("a" + "\u0301" * 1000).screen().cell(0, 0).text) < 20


def test_the_alternate_screen_goes_on_where_the_other_was_and_the_cursor_is_restored():
    made = emulator("ab\x1b[31m\x1b[2;3r\x1b[1;3H\x1b[?1049hc")
    assert made.screen().cell(0, 2) == Cell("c", Style(fg="red"))
    made.feed(b"\x1b[m\x1b[4;1H\x1b[?1049l!")
    assert made.screen().lines[0] == "ab!"
    assert made.screen().cell(0, 2).style == Style(fg="red")


def test_a_string_that_never_ends_does_not_fill_the_memory():
    made = emulator(b"\x1b]0;" + b"x" * 1_000_000 + b"\x07after")
    assert made.screen().text == "after"
    assert len(made.screen().title) < 5000


def test_pyte_is_loaded_only_when_a_terminal_is_made():
    code = "import sys, soundstage.worlds, soundstage.drivers; print('pyte' in sys.modules, 'wcwidth' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
