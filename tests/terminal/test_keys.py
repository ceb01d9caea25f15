"""Keys are the bytes that an xterm sends for them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ScriptError
from soundstage.terminal import key_bytes, paste_bytes

TERMINFO = (
    *(
        ("kcuu1", "Up"),
        ("kcud1", "Down"),
        ("kcuf1", "Right"),
        ("kcub1", "Left"),
        ("khome", "Home"),
        ("kend", "End"),
    ),
    *(("kich1", "Insert"), ("kdch1", "Delete"), ("kpp", "PageUp"), ("knp", "PageDown"), ("kbs", "Backspace")),
    *((f"kf{number}", f"F{number}") for number in range(1, 13)),
    *(("kcbt", "Shift-Tab"), ("kLFT", "Shift-Left"), ("kDC", "Shift-Delete"), ("kPRV", "Shift-PageUp")),
    *(("kf13", "Shift-F1"), ("kf29", "Ctrl-F5"), ("kf49", "Alt-F1")),
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("Enter", b"\r"),
        ("Tab", b"\t"),
        ("Escape", b"\x1b"),
        ("Space", b" "),
        ("a", b"a"),
        ("-", b"-"),
        ("é", "é".encode()),
        ("Ctrl-C", b"\x03"),
        ("Ctrl-c", b"\x03"),
        ("Ctrl-D", b"\x04"),
        ("Ctrl-Space", b"\0"),
        ("Ctrl-[", b"\x1b"),
        ("Ctrl-\\", b"\x1c"),
        ("Ctrl-_", b"\x1f"),
        ("Alt-x", b"\x1bx"),
        ("Alt-Enter", b"\x1b\r"),
        ("Ctrl-Alt-x", b"\x1b\x18"),
        ("Ctrl-Right", b"\x1b[1;5C"),
        ("Ctrl-Shift-Up", b"\x1b[1;6A"),
        ("Alt-PageDown", b"\x1b[6;3~"),
    ],
)
def test_a_key_is_the_bytes_that_a_program_reads(key, expected):
    assert key_bytes(key) == expected


def test_cursor_keys_have_the_form_that_the_program_has_chosen():
    assert (key_bytes("Up"), key_bytes("Up", application=True)) == (b"\x1b[A", b"\x1bOA")
    assert (key_bytes("End"), key_bytes("End", application=True)) == (b"\x1b[F", b"\x1bOF")
    assert key_bytes("Ctrl-Up", application=True) == b"\x1b[1;5A"


def test_keys_are_those_of_the_terminfo_entry():
    code = (
        "import curses, json, os, sys\n"
        "curses.setupterm('xterm-256color', os.open(os.devnull, os.O_RDWR))\n"
        "print(json.dumps({name: curses.tigetstr(name).decode() for name in sys.argv[1:]}))"
    )
    argv = [sys.executable, "-c", code, *(name for name, _ in TERMINFO)]
    known = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    sent = {name: key_bytes(key, application=True).decode() for name, key in TERMINFO}
    assert sent == known | {"kbs": "\x7f"}  # some entries have ^H for it; xterm itself sends DEL


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("Entr", "press('Enter')"),
        ("enter", "press('Enter')"),
        ("Ctrl+C", "press('Ctrl-C')"),
        ("PgUp", "press('PageUp')"),
        ("Ctrl-é", "press('é')"),
        ("Ctrl-Enter", "press('Enter')"),
        ("Shift-a", "press('A')"),
        ("Hyper-Up", "send"),
        ("", "send"),
        ("two words", "send"),
    ],
)
def test_a_key_that_a_terminal_cannot_send_is_refused_with_a_hint(key, hint):
    with pytest.raises(ScriptError) as caught:
        key_bytes(key)
    assert "PageUp" in caught.value.expected
    assert hint in caught.value.hint


def test_a_paste_has_marks_only_if_the_program_wants_them():
    assert paste_bytes("a\nb\r\nc", bracketed=False) == b"a\rb\rc"
    assert paste_bytes("a\nb", bracketed=True) == b"\x1b[200~a\rb\x1b[201~"


@given(st.lists(st.sampled_from(["\x1b[201~", "\x1b[20", "1~", "rm -rf", "\n"])).map("".join))
def test_a_pasted_text_cannot_end_the_paste(text):
    assert paste_bytes(text, bracketed=True).count(b"\x1b[201~") == 1
