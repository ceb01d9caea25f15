"""The text that must reach the model when a command is run, and the parts of it that are missing. Pure.

What the CLI puts in the place of arguments and of its own variables is known (`command_pieces`), the output of shell
commands is not. All that is known has to arrive, in order; spaces and line ends do not count.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from soundstage.claude_code import command_pieces

ARGUMENTS: Final = "alpha beta"
_SET: Final = (
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_SESSION_ID",
    "CLAUDE_EFFORT",
)


class Gap(NamedTuple):
    """Something that did not arrive: where it is in the text of the command, and what it is."""

    offset: int
    message: str


def first_gap(body: str, sent: str, *, names: tuple[str, ...] = ()) -> Gap | None:
    """Return the first part that did not arrive when a command was run with `ARGUMENTS`; `None` if all did.

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
    place = 0
    for piece in command_pieces(body, ARGUMENTS, names=names):
        wanted = _spaced(piece.text) if piece.certain else ""
        at = plain.find(wanted, place)
        if at < 0:
            return Gap(piece.offset, _without(wanted))
        place = at + len(wanted)
    return _kept_variable(body, plain)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _without(wanted: str) -> str:
    if wanted.removeprefix("ARGUMENTS: ") == ARGUMENTS:
        return f"without its arguments, {ARGUMENTS!r}"
    return f"without {wanted[:200]!r}"


def _kept_variable(body: str, sent: str) -> Gap | None:
    for name in _SET:
        if f"${{{name}}}" in sent:
            return Gap(max(body.find(name), 0), f"with ${{{name}}} as it is written")
    return None
