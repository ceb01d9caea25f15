"""Tracebacks without the frames that carried an error from the app or the test to a report.

Frames of Soundstage, of asyncio and of pytest say nothing to a user; those of the user and of other libraries stay.
Rounds of a recursion that look alike are folded into one. Tracebacks are made anew, never changed: whoever has the
old one keeps it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Final

from soundstage.errors import SoundstageError
from soundstage.match import repeats

ENDED_WITH: Final = "and so the test ended with"
PLUMBING: Final = frozenset(
    {"soundstage", "asyncio", "concurrent", "contextlib", "threading", "_pytest", "pluggy"}
)


def hide_frames(error: BaseException) -> None:
    """Leave out of an error, its causes and the members of its group the frames that say nothing to a user."""
    for each in errors_of(error):
        each.__traceback__ = shown_frames(each, is_plumbing)


def shown_frames(error: BaseException, hidden: Callable[[FrameType], bool]) -> TracebackType | None:
    """The traceback of an error without hidden frames, recursion folded; what is folded is in a note."""
    entries = [entry for entry in _entries(error.__traceback__) if not hidden(entry.tb_frame)]
    kept: list[TracebackType] = []
    for start, length, times in repeats([(entry.tb_frame.f_code, entry.tb_lineno) for entry in entries]):
        kept += entries[start : start + length]
        if times > 1:
            code = entries[start].tb_frame.f_code
            error.add_note(f"(the recursion in {code.co_name} is shown once; it came {times} times)")
            if start + length * times == len(entries):
                kept.append(entries[-1])
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


def is_plumbing(frame: FrameType) -> bool:
    """Whether a frame is one of ours, of asyncio or of pytest."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in PLUMBING


def is_ours(error: BaseException) -> bool:
    """Whether one of our frames is in an error."""
    return any(
        str(entry.tb_frame.f_globals.get("__name__", "")).startswith("soundstage.")
        for each in errors_of(error)
        for entry in _entries(each.__traceback__)
    )


def errors_of(error: BaseException) -> list[BaseException]:
    """An error, those that led to it, and the members of groups, each once."""
    found: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if id(each) in found:
            continue
        found[id(each)] = each
        waiting += [other for other in (each.__cause__, each.__context__) if other is not None]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
    return list(found.values())


def joined_frames(first: BaseException, then: BaseException) -> TracebackType | None:
    """The traceback of one error as if it had come out of the place of the user's where another one did."""
    chain = then.__traceback__
    for entry in reversed(list(_entries(shown_frames(first, is_plumbing)))):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


def in_one_line(error: BaseException) -> str:
    """An error as the journal and messages name it: its class, and the first line of what it says."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def ended_with(error: BaseException, cause: str) -> str:
    """A note on the cause of a failure: what the test came to by that, all that an assertion says, else one line.

    Args:
        error: what the test came to.
        cause: the cause in one line; what the error says of it is left out.
    """
    if isinstance(error, SoundstageError):
        said = error.summary.partition(cause)[2].strip("; ") or error.summary
        said += f", expected {error.expected}" if error.expected and "\n" not in error.expected else ""
    else:
        said = str(error) if isinstance(error, AssertionError) else str(error).partition("\n")[0]
    return f"{ENDED_WITH} {type(error).__name__}: {said}".rstrip(": ")


def told(error: BaseException) -> str:
    """An error as a traceback of the user's frames."""
    hide_frames(error)
    return "".join(traceback.format_exception(error, chain=error.__cause__ is not None)).rstrip()


def _entries(first: TracebackType | None) -> Iterator[TracebackType]:
    while first is not None:
        yield first
        first = first.tb_next
