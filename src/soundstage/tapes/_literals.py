"""Values as Python source, on one line where they fit and on several where they do not. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

WIDTH: Final = 100


def literal(value: Any, indent: int = 0, taken: int = 0) -> str:
    """A value as Python source.

    Args:
        value: text, number, list, mapping, ...
        indent: columns before the line on which it stands.
        taken: columns of this line that other words take.

    Example:
        >>> literal({"city": "Oslo", "days": [1, True, None]})
        '{"city": "Oslo", "days": [1, True, None]}'
    """
    short = _short(value)
    if len(short) + indent + taken <= WIDTH:
        return short
    pad = " " * (indent + 4)
    if isinstance(value, str):
        return _long_text(value, indent)
    if isinstance(value, Mapping):
        lines = [
            f"{pad}{_short(key)}: {literal(one, indent + 4, len(_short(key)) + 3)},"
            for key, one in value.items()
        ]
        return "\n".join(["{", *lines, " " * indent + "}"])
    if isinstance(value, list | tuple):
        opened, closed = "[]" if isinstance(value, list) else "()"
        lines = [f"{pad}{literal(one, indent + 4, 1)}," for one in value]
        return "\n".join([opened, *lines, " " * indent + closed])
    return short


def _short(value: Any) -> str:
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return quoted if quoted.isprintable() else ascii(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_short(key)}: {_short(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_short, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def _long_text(text: str, indent: int) -> str:
    """A text in pieces, one a line, each up to a line feed or so many characters."""
    pad = " " * (indent + 4)
    most = WIDTH - indent - 10
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        pieces.extend(line[start : start + most] for start in range(0, len(line), most))
    return "\n".join(["(", *(pad + _short(piece) for piece in pieces), " " * indent + ")"])


def call_source(name: str, arguments: Iterable[Any] = (), named: Mapping[str, Any] | None = None) -> str:
    """A call as Python source; values are written as literals.

    Example:
        >>> call_source("script.on", named={"user": "hello", "times": 1})
        'script.on(user="hello", times=1)'
    """
    given = [("", value) for value in arguments] + [
        (f"{key}=", value) for key, value in (named or {}).items()
    ]
    short = ", ".join(word + _short(value) for word, value in given)
    if len(name) + len(short) + 10 <= WIDTH:
        return f"{name}({short})"
    lines = [f"        {word}{literal(value, 8, len(word) + 1)}," for word, value in given]
    return "\n".join([f"{name}(", *lines, "    )"])
