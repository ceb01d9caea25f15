"""The text of a tool's result for the model. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.agents.runtime._errors import ToolError
from soundstage.journal import readable

LONGEST: Final = 8000  # characters; a longer result is cut in the middle
HEAD: Final = 3000
TAIL: Final = 2000
LONGEST_ERROR: Final = 2000
ERROR: Final = "ERROR:"


def shorten(text: str) -> str:
    """A result of at most 8,000 characters as it is, else its first 3,000 and its last 2,000.

    >>> shorten("short")
    'short'
    >>> len(shorten("x" * 8000)), len(shorten("x" * 8001)) < 5100
    (8000, True)
    """
    if len(text) <= LONGEST:
        return text
    left_out = len(text) - HEAD - TAIL
    lines = text.count("\n") + 1
    notice = f"[... {left_out} characters left out; the whole result has {lines} lines ...]"
    return f"{text[:HEAD]}\n{notice}\n{text[-TAIL:]}"


def error_text(text: str) -> str:
    """An error as the model reads it: with the prefix, at most 2,000 characters.

    >>> error_text("no such file")
    'ERROR: no such file'
    """
    words = text.removeprefix(ERROR).strip() or "the tool failed without a word"
    return f"{ERROR} {words}"[:LONGEST_ERROR]


def as_text(value: Any) -> str:
    """A tool's result as text: texts as they are, everything else as JSON.

    Raises:
        ToolError: if it is neither.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(bytes(value))
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, OverflowError, msgspec.MsgspecError) as error:
        reason = str(error).partition("\n")[0]
        raise ToolError(
            f"the tool returned a value of the type {type(value).__name__}, which is neither text nor JSON: {reason}"
        ) from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"the tool returned {len(data)} bytes that are not text") from None
