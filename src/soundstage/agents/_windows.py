"""Window policies: when the chunks of a stream so far become one output. Frozen values without state.

A policy is asked after each chunk. It sees a `Window`: the newest texts, as many as its `lookback`, and the size
of the whole buffer. When it answers yes, the whole buffer becomes the output, not only what the policy saw.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import msgspec

from soundstage.agents._errors import SettingError
from soundstage.agents._marker import MARKER


class Window(NamedTuple):
    """The newest chunks of a buffer, on which a policy decides.

    Args:
        texts: of the newest chunks, the newest last; at least one.
        chunks: how many chunks are in the whole buffer.
        length: characters in the whole buffer.
        started: when the first chunk of the buffer came, in seconds on the run's clock.
        emitted: when the buffer was emitted last; `None` if it has never been.
    """

    texts: tuple[str, ...]
    chunks: int
    length: int
    started: float = 0.0
    emitted: float | None = None

    def newest(self, lookback: int | None) -> Window:
        """The same buffer with no more than `lookback` texts (all, if `None`)."""
        return self if lookback is None else self._replace(texts=self.texts[-lookback:])


@runtime_checkable
class WindowPolicy(Protocol):
    """Says when to emit."""

    @property
    def lookback(self) -> int | None:
        """How many of the newest chunks it needs to see, at least 1; `None` for all of them."""
        ...

    def emits(self, window: Window) -> bool:
        """Whether the buffer becomes an output now."""
        ...


class _Policy(msgspec.Struct, frozen=True):
    """Base of the policies in this file: equal when their fields are."""


class ImmediateWindow(_Policy, frozen=True):
    """Every chunk is an output."""

    lookback: ClassVar[int | None] = 1

    def emits(self, window: Window) -> bool:
        """Yes."""
        return True


class CompletionWindow(_Policy, frozen=True):
    """Nothing is an output before the stream is complete; then everything is one."""

    lookback: ClassVar[int | None] = 1

    def emits(self, window: Window) -> bool:
        """No."""
        return False


class ParagraphWindow(_Policy, frozen=True):
    """The buffer ends with a blank line; spaces and tabs behind it do not matter."""

    lookback: ClassVar[int | None] = None  # what ends the buffer may come in many chunks

    def emits(self, window: Window) -> bool:
        """Whether the text ends with LF LF or CR LF CR LF."""
        end = ""
        for text in reversed(window.texts):
            end = (text + end).rstrip(" \t")
            if len(end) >= len("\r\n\r\n"):
                break
        return end.endswith(("\n\n", "\r\n\r\n"))


class SentenceWindow(_Policy, frozen=True):
    """The last four chunks end with `.`, `!` or `?`; white space behind it does not matter."""

    lookback: ClassVar[int | None] = 4

    def emits(self, window: Window) -> bool:
        """Whether the text ends like a sentence."""
        return "".join(window.texts).rstrip().endswith((".", "!", "?"))


class LengthWindow(_Policy, frozen=True):
    """The whole buffer has reached `max` characters, however small the chunks are.

    An output is longer than `max` by what the last chunk had too much. Where a hard limit matters, add a
    `LengthSplitter` for the outputs.

    Raises:
        SettingError: if `max` is less than 1.
    """

    max: int
    lookback: ClassVar[int | None] = 1

    def __post_init__(self) -> None:
        check_max(self.max)

    def emits(self, window: Window) -> bool:
        """Whether the buffer is that long."""
        return window.length >= self.max


class MarkerWindow(_Policy, frozen=True):
    """The last ten chunks hold a summary marker: `**bold text**`, then a blank line or CR LF."""

    lookback: ClassVar[int | None] = 10

    def emits(self, window: Window) -> bool:
        """Whether there is a marker."""
        return MARKER.search("".join(window.texts)) is not None


class FunctionWindow(_Policy, frozen=True):
    """Emits when a function of the window says so.

    Args:
        function: takes a `Window`, answers yes or no at once, keeps no state.
        lookback: how many chunks it needs to see; `None` for all.

    Raises:
        SettingError: if `lookback` is less than 1, or `function` cannot be called or is asynchronous.

    Example:
        >>> words = FunctionWindow(lambda window: window.texts[-1].endswith(" "))
        >>> words.emits(Window(("Hello", " "), chunks=2, length=6))
        True
    """

    function: Callable[[Window], bool]
    lookback: int | None = 1

    def __post_init__(self) -> None:
        if not callable(self.function) or inspect.iscoroutinefunction(self.function):
            raise SettingError(
                "a window policy needs a function that answers at once", seen=repr(self.function)
            )
        check_lookback(self.lookback)

    def emits(self, window: Window) -> bool:
        """The answer of the function."""
        return bool(self.function(window))


class AnyWindow(_Policy, frozen=True):
    """At least one of several policies says yes. Each sees what its own lookback allows.

    Raises:
        SettingError: if there is none.

    Example:
        >>> policy = AnyWindow((SentenceWindow(), LengthWindow(2000)))
        >>> policy.lookback
        4
    """

    policies: tuple[WindowPolicy, ...]

    def __post_init__(self) -> None:
        if not self.policies:
            raise SettingError(
                "a composite of no window policies would never emit", hint="CompletionWindow()"
            )

    @property
    def lookback(self) -> int | None:
        """The longest of its parts."""
        found = [policy.lookback for policy in self.policies]
        return None if None in found else max(number for number in found if number is not None)

    def emits(self, window: Window) -> bool:
        """Whether one of them does."""
        return any(policy.emits(window.newest(policy.lookback)) for policy in self.policies)


def check_max(number: object) -> None:
    if type(number) is not int or number < 1:
        raise SettingError("a maximum length is a whole number from 1", seen=f"max={number!r}")


def check_lookback(number: object) -> None:
    if number is not None and (type(number) is not int or number < 1):
        raise SettingError(
            "a lookback is a whole number from 1, or None for all chunks", seen=f"lookback={number!r}"
        )
