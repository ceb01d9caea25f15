"""Keys of a terminal's keyboard, and the bytes that a program reads when they are pressed. Pure.

The sequences are those of xterm, as the terminfo entry `xterm-256color` describes them ("PC-Style Function
Keys" in xterm's control sequences). The cursor keys have two forms; a program chooses with DECCKM.

A key is written as on a keyboard: `Enter`, `Up`, `F5`, `a`, and with `Ctrl-`, `Alt-` and `Shift-` before it.
"""

from __future__ import annotations

from typing import Final

from soundstage.errors import ScriptError, near_names
from soundstage.match import preview

PLAIN: Final = {
    "Enter": "\r",
    "Tab": "\t",
    "Shift-Tab": "\x1b[Z",
    "Escape": "\x1b",
    "Backspace": "\x7f",
    "Space": " ",
}
CURSOR: Final = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "Home": "H", "End": "F"}
FUNCTION: Final = {"F1": "P", "F2": "Q", "F3": "R", "F4": "S"}
NUMBERED: Final = {
    "Insert": 2,
    "Delete": 3,
    "PageUp": 5,
    "PageDown": 6,
    **{
        f"F{number}": code
        for number, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
    },
}
MODIFIERS: Final = {"Shift": 1, "Alt": 2, "Ctrl": 4}  # xterm adds them up, and 1
_CONTROL: Final = {
    **{letter: chr(ord(letter) & 0x1F) for letter in "abcdefghijklmnopqrstuvwxyz[\\]^_"},
    "Space": "\0",
    "@": "\0",
    "?": "\x7f",
    "/": "\x1f",
    "Backspace": "\b",
}
NAMES: Final = (*PLAIN, *CURSOR, *FUNCTION, *NUMBERED)

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"


def key_bytes(name: str, *, application: bool = False) -> bytes:
    """The bytes that a program reads when a key is pressed.

    Args:
        name: `Enter`, `Ctrl-C`, `Alt-x`, `Shift-Tab`, `Ctrl-Right`, or any single character.
        application: whether the program has asked for the other form of the cursor keys (DECCKM).

    Raises:
        ScriptError: for a key that does not exist, or that a terminal cannot send.

    >>> key_bytes("Ctrl-C"), key_bytes("Up"), key_bytes("Up", application=True), key_bytes("Alt-x")
    (b'\\x03', b'\\x1b[A', b'\\x1bOA', b'\\x1bx')
    """
    key, held = _parts(name)
    found = _sequence(key, held, application=application)
    if found is None:
        raise ScriptError(
            f"there is no key {preview(name)} on a terminal",
            expected="a character, or one of " + ", ".join(NAMES) + "; before it Ctrl-, Alt- or Shift-",
            hint=_hint(name),
        )
    return found.encode()


def _parts(name: str) -> tuple[str, frozenset[str]]:
    """The key, and the modifiers before it."""
    held: set[str] = set()
    while "-" in name[1:]:
        modifier, _, rest = name.partition("-")
        if modifier not in MODIFIERS or not rest:
            break
        held.add(modifier)
        name = rest
    return name, frozenset(held)


def _sequence(key: str, held: frozenset[str], *, application: bool) -> str | None:
    code = 1 + sum(MODIFIERS[modifier] for modifier in held)
    if key in CURSOR:
        return f"\x1b[1;{code}{CURSOR[key]}" if held else f"\x1b{'O' if application else '['}{CURSOR[key]}"
    if key in FUNCTION:
        return f"\x1b[1;{code}{FUNCTION[key]}" if held else f"\x1bO{FUNCTION[key]}"
    if key in NUMBERED:
        return f"\x1b[{NUMBERED[key]};{code}~" if held else f"\x1b[{NUMBERED[key]}~"
    return _letter(key, held)


def _letter(key: str, held: frozenset[str]) -> str | None:
    """A key that is a character. Alt puts Escape before it; Shift is in the character itself."""
    rest = held - {"Alt"}
    if not rest:
        found = PLAIN.get(key) or (key if len(key) == 1 else None)
    elif rest == {"Ctrl"}:
        found = _CONTROL.get(key.lower() if len(key) == 1 else key)
    elif rest == {"Shift"}:
        found = PLAIN.get(f"Shift-{key}")
    else:
        found = None
    return found if found is None or "Alt" not in held else "\x1b" + found


def _hint(name: str) -> str:
    """A key to press instead: the same in our words, without what a terminal cannot tell apart, or a like one."""
    ours = name.replace("+", "-")
    key, held = _parts(ours)
    without = key.upper() if "Shift" in held and len(key) == 1 else key
    close = near_names(key, NAMES, most=1)
    for other in (ours, without, *close):
        if other and _sequence(*_parts(other), application=False) is not None:
            return f"press({other!r})"
    return "send(text) types a text; send('\\x1b...') sends any sequence"


def paste_bytes(text: str, *, bracketed: bool) -> bytes:
    """The bytes that a program reads when a text is pasted: line ends as Enter, and marks around it if it wants them.

    The end mark cannot be within the text: a program would take what follows for typed.

    >>> paste_bytes("one\\ntwo", bracketed=True)
    b'\\x1b[200~one\\rtwo\\x1b[201~'
    """
    typed = text.replace("\r\n", "\r").replace("\n", "\r")
    if not bracketed:
        return typed.encode()
    while PASTE_END in typed:
        typed = typed.replace(PASTE_END, "")
    return f"{PASTE_START}{typed}{PASTE_END}".encode()
