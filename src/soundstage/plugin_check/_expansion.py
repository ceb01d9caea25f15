"""What must reach the model when a command is run, and what of it is missing. Pure.

The CLI puts values in the place of `$ARGUMENTS`, `$0`, `$name` for the `arguments` of the front matter, and of its own
variables, and the output in the place of shell commands. All that is around them has to arrive, in order; spaces and
line ends do not count.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

ARGUMENTS: Final = "alpha beta"
SHELL: Final = r"!`[^`\n]+`|```!.*?```"
_VALUE: Final = r"\\?\$ARGUMENTS(?:\[\d+\])?|\\?\$\d+|\$\{CLAUDE_\w+\}"
_SET: Final = ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR", "CLAUDE_SESSION_ID")


class Gap(NamedTuple):
    """Something that did not arrive: where it is in the text of the command, and what it is."""

    offset: int
    message: str


def first_gap(body: str, sent: str, *, names: tuple[str, ...] = ()) -> Gap | None:
    """What did not arrive when a command was run with `ARGUMENTS`; nothing if all did.

    Args:
        body: the text of the command, below its front matter.
        sent: what the model got.
        names: the `arguments` of the front matter.

    >>> first_gap("Say hello to $ARGUMENTS.", "Say hello to alpha beta.") is None
    True
    >>> first_gap("Say hello to $ARGUMENTS, twice.", "Say hello to alpha beta.")
    Gap(offset=23, message="without ', twice.'")
    """
    plain = _spaced(sent)
    named = "".join(rf"|\\?\${re.escape(name)}\b" for name in names)
    place = begin = 0
    for found in [*re.finditer(f"{SHELL}|{_VALUE}{named}", body, re.DOTALL), None]:
        piece = _spaced(body[begin : found.start() if found else len(body)])
        at = plain.find(piece, place)
        if at < 0:
            return Gap(begin, f"without {piece[:200]!r}")
        place = at + len(piece)
        begin = found.end() if found else begin
    return _lost_arguments(body, plain, named) or _kept_variable(body, plain)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _lost_arguments(body: str, sent: str, named: str) -> Gap | None:
    whole = re.search(r"(?<!\\)\$ARGUMENTS(?!\[)", body)
    some = re.search(rf"(?<!\\)\$ARGUMENTS|(?<!\\)\$\d{named}", body)
    if (whole is not None or some is None) and ARGUMENTS not in sent:
        return Gap(whole.start() if whole else 0, f"without its arguments, {ARGUMENTS!r}")
    return None


def _kept_variable(body: str, sent: str) -> Gap | None:
    for name in _SET:
        if f"${{{name}}}" in sent:
            return Gap(max(body.find(name), 0), f"with ${{{name}}} as it is written")
    return None
