"""Regular expressions of JavaScript as those of Python. Pure."""

from __future__ import annotations

import re
from typing import Final

from soundstage.errors import WrongValueError

_SPACE: Final = r" \t\n\r\f\v\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
_BOUNDS: Final = {
    "b": r"(?:(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]))",
    "B": r"(?:(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<![A-Za-z0-9_])(?![A-Za-z0-9_]))",
}
_ODD: Final = re.compile(r"(?<!\\)\(\?(?![:=!<])[^)]?")  # such groups are Python's alone
_PIECE: Final = re.compile(
    r"\\u(?P<u>[0-9a-fA-F]{4})|\\x(?P<x>[0-9a-fA-F]{2})|\\k<(?P<k>\w+)>|\(\?<(?P<name>[A-Za-z_$]\w*)>"
    r"|\\(?P<escape>.)|(?P<plain>.)",
    re.DOTALL,
)


def python_pattern(pattern: str) -> str:
    """A pattern that finds in Python what this one finds in JavaScript, without flags.

    Raises:
        WrongValueError: for a group that JavaScript does not have.

    Example:
        >>> python_pattern(r"^\\d+$")
        '\\\\A[0-9]+\\\\Z'
    """
    odd = _ODD.search(pattern)
    if odd is not None:
        raise WrongValueError(
            f"{odd.group()} is no JavaScript", seen=pattern, hint="write both cases, such as [Aa]"
        )
    made, inside = [], False
    for piece in _PIECE.finditer(pattern):
        plain = piece["plain"]
        if inside and plain == "]":
            inside = False
            made.append("]")
        elif inside:
            made.append(_in_class(piece))
        elif plain == "[":
            inside = True
            made.append("[")
        else:
            made.append(_outside(piece))
    return "".join(made).replace("[^]", r"[\s\S]").replace("[]", "(?!)")


def _code(piece: re.Match[str]) -> str:
    return chr(int(piece["u"] or piece["x"], 16))


def _in_class(piece: re.Match[str]) -> str:
    escape = piece["escape"]
    if piece["u"] or piece["x"]:
        return re.escape(_code(piece))
    if escape in _CLASSES:
        return _CLASSES[escape]
    if escape in ("D", "W", "S"):
        return rf"\{escape}"
    if escape is not None:
        return "\\x08" if escape == "b" else _escaped(escape)
    return "\\[" if piece["plain"] == "[" else re.sub(r"[&~|]", r"\\\g<0>", piece.group())


def _outside(piece: re.Match[str]) -> str:
    escape = piece["escape"]
    if piece["u"] or piece["x"]:
        return re.escape(_code(piece))
    if piece["k"]:
        return f"(?P={piece['k']})"
    if piece["name"]:
        return f"(?P<{piece['name']}>"
    if escape is None:
        return {"$": r"\Z", "^": r"\A", ".": r"[^\n\r\u2028\u2029]"}.get(piece.group(), piece.group())
    if escape.lower() in _CLASSES:
        return f"[{'^' if escape.isupper() else ''}{_CLASSES[escape.lower()]}]"
    return _BOUNDS.get(escape) or _escaped(escape)


def _escaped(letter: str) -> str:
    """An escape: one that means something in both, or else the letter itself."""
    return f"\\{letter}" if letter in "nrtfv123456789" else "\\0" if letter == "0" else re.escape(letter)
