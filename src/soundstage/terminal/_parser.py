"""The language of terminals: text, control characters and escape sequences. Pure, and never fails.

How it works. A program sends text in which control characters (below 32) and sequences stand: `ESC` and one
character, `CSI` (`ESC [`) with numbers and a final character, and strings (`OSC`, `DCS`, ...) up to their end.
Their shapes are those of ECMA-48, section 5; what they mean is not decided here. Whatever arrives is cut into
these parts and handed to a `Target`, which knows what it knows and passes over the rest, so that no sequence
ever turns up as text. Input may be cut anywhere, also within a sequence: the parser goes on where it was.

Binary data is taken like any other. An overlong sequence is dropped, a string is kept up to a
limit, and a sequence into which something else breaks is given up.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

MAX_SEQUENCE: Final = 256  # characters
MAX_STRING: Final = 4096

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_CSI: Final = re.compile(r"\x1b\[(?P<marker>[<-?]?)(?P<codes>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])?")
_ESCAPE: Final = re.compile(r"\x1b(?P<between>[ -/]*)(?P<final>[0-~])?")
_STRINGS: Final = {"]": "OSC", "P": "DCS", "X": "SOS", "^": "PM", "_": "APC"}
_STRING_ENDS: Final = re.compile(r"[\x07\x18\x1a\x1b]")


class Target(Protocol):
    """The receiver of the parser's parts."""

    def draw(self, text: str) -> None:
        """Text without control characters."""
        ...

    def control(self, char: str) -> None:
        """A control character."""
        ...

    def escape(self, code: str) -> None:
        """`ESC` and this; `(0` chooses a character set, for example."""
        ...

    def sequence(self, kind: str, codes: str) -> None:
        """A `CSI` sequence: marker, intermediate characters and final one in one text, and its numbers."""
        ...

    def string(self, kind: str, text: str) -> None:
        """A string: `OSC`, `DCS`, `SOS`, `PM` or `APC`."""
        ...


class Parser:
    """Cuts what a program sends into parts."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._rest = ""  # a sequence whose end has not come yet
        self._kind = ""  # of the string that we are in
        self._string = ""

    @property
    def idle(self) -> bool:
        """Whether no sequence has been begun."""
        return not self._rest and not self._kind

    def feed(self, text: str) -> None:
        """Take the next piece."""
        text, self._rest = self._rest + text, ""
        place = 0
        while place < len(text):
            if self._kind:
                place = self._in_string(text, place)
                continue
            found = _CONTROL.search(text, place)
            end = found.start() if found else len(text)
            if end > place:
                self._target.draw(text[place:end])
            place = self._at_control(text, end) if found else end

    def _at_control(self, text: str, place: int) -> int:
        """Take the control character at `place`, with its sequence; where to go on."""
        if text[place] != "\x1b":
            self._target.control(text[place])
            return place + 1
        after = text[place + 1 : place + 2]
        if after in _STRINGS:
            self._kind, self._string = _STRINGS[after], ""
            return place + 2
        found = (_CSI if after == "[" else _ESCAPE).match(text, place)
        assert found is not None
        if found["final"] is None:
            return self._unfinished(text, place, found.end())
        if found.end() - place > MAX_SEQUENCE:
            return found.end()
        if after == "[":
            self._target.sequence(found["marker"] + found["between"] + found["final"], found["codes"])
        else:
            self._target.escape(found["between"] + found["final"])
        return found.end()

    def _unfinished(self, text: str, place: int, end: int) -> int:
        """A sequence without its last character: keep it if more can come, else give it up."""
        if end == len(text) and end - place < MAX_SEQUENCE:
            self._rest = text[place:]
        return end

    def _in_string(self, text: str, place: int) -> int:
        """Go on in a string; `BEL` (for OSC) and `ESC \\` end it, what else breaks in gives it up."""
        found = _STRING_ENDS.search(text, place)
        end = found.start() if found else len(text)
        self._string += text[place : min(end, place + MAX_STRING - len(self._string))]
        if found is None:
            return end
        if found[0] == "\x1b" and end + 1 == len(text):
            self._rest = "\x1b"
            return end + 1
        whole = found[0] == "\x07" or text[end : end + 2] == "\x1b\\"
        kind, self._kind = self._kind, ""
        if whole:
            self._target.string(kind, self._string)
        return end + (2 if text[end : end + 2] == "\x1b\\" else 0 if found[0] == "\x1b" else 1)
