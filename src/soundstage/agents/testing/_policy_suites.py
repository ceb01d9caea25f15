"""Guarantees of every window policy and every split policy, whatever it decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from soundstage.agents._buffer import StreamBuffer, Windowing
from soundstage.agents._entries import ChatChunk, ChatReply
from soundstage.agents._splitters import SplitPolicy
from soundstage.agents._windows import Window, WindowPolicy
from soundstage.testing import Guarantee, NotKept, keep_all, same

MakeWindowPolicy = Callable[[], WindowPolicy]
MakeSplitPolicy = Callable[[], SplitPolicy]

# streams as models send them: token by token, with every kind of ending at every kind of place
STREAMS: Final[tuple[tuple[str, ...], ...]] = (
    ("Hello", " ", "World", "!"),
    ("One.\n\n", "Two", ".\r\n\r\n", "Three"),
    ("**Plan", " of ", "action**", "\n", "\n", "Look.", " Then **act**\r\n", "done"),
    ("", " ", "\t", "\n", "\n", ""),
    ("Größe: ", "5 €", "… ", "日本。", "🎭", "!"),
    ("x" * 5000, "y", " ", "z" * 3000),
    tuple("A sentence, letter by letter. And another one?\n\nAnd a paragraph."),
)
TEXTS: Final = ("", " ", "\n\n", "a", *("".join(stream) for stream in STREAMS))


async def verify_window_policy(make: MakeWindowPolicy) -> None:
    """Verify that a window policy keeps what the windowing daemon relies on.

    Args:
        make: makes a new policy each time it is called.

    Raises:
        ExpectationError: for the first guarantee that is not kept.

    Example:
        >>> from soundstage.agents import SentenceWindow
        >>> from soundstage.clock import run
        >>> run(verify_window_policy(SentenceWindow))
    """
    await keep_all("window policy", WINDOW_GUARANTEES, make)


class _Splitter(NamedTuple):
    make: MakeSplitPolicy
    max: int | None


async def verify_split_policy(make: MakeSplitPolicy, *, max: int | None = None) -> None:  # noqa: A002
    """Verify that a split policy keeps what drafts and windowing rely on.

    Args:
        make: makes a new policy each time it is called.
        max: the most characters that a piece may have, if the policy promises a limit.

    Raises:
        ExpectationError: for the first guarantee that is not kept.

    Example:
        >>> from soundstage.agents import LengthSplitter
        >>> from soundstage.clock import run
        >>> run(verify_split_policy(lambda: LengthSplitter(100), max=100))
    """
    guarantees = SPLIT_GUARANTEES if max is not None else SPLIT_GUARANTEES[:-1]
    await keep_all("split policy", guarantees, _Splitter(make, max))


def _windows(lookback: int | None) -> list[Window]:
    """The windows that a policy would see after every chunk of every stream, if it never emitted."""
    found: list[Window] = []
    for stream in STREAMS:
        for count in range(1, len(stream) + 1):
            texts = stream[:count]
            length = sum(map(len, texts))
            found.append(Window(texts, count, length, 0.0, None).newest(lookback))
    return found


async def _lookback(make: MakeWindowPolicy) -> None:
    lookback: Any = make().lookback
    if lookback is not None and (type(lookback) is not int or lookback < 1):
        raise NotKept("a lookback of 1 or more, or None for all chunks", lookback)


async def _answers(make: MakeWindowPolicy) -> None:
    policy = make()
    for window in _windows(policy.lookback):
        answer: Any = policy.emits(window)
        if type(answer) is not bool:
            if hasattr(answer, "close"):
                answer.close()  # a coroutine that nobody will await
            raise NotKept(f"True or False for {window}", answer)


async def _without_memory(make: MakeWindowPolicy) -> None:
    old, windows = make(), _windows(make().lookback)
    for window in [*windows, *reversed(windows)]:
        same(f"the answer of a new policy to {window}", make().emits(window), old.emits(window))


async def _lossless(make: MakeWindowPolicy) -> None:
    for stream in STREAMS:
        buffer = StreamBuffer(Windowing(ChatChunk, ChatReply, make()))
        outputs: list[Any] = []
        for time, text in enumerate(stream):
            outputs += buffer.add(ChatChunk(text=text), float(time))
        outputs += buffer.flush()
        same("the text of all outputs", "".join(stream), "".join(output.text for output in outputs))
        if not all(output.text for output in outputs):
            raise NotKept("no empty output", outputs)


async def _pieces(splitter: _Splitter) -> None:
    for text in TEXTS:
        pieces: Any = splitter.make().pieces(text)
        if not isinstance(pieces, Sequence) or isinstance(pieces, str):
            raise NotKept("a tuple or list of pieces", pieces)
        wrong = [piece for piece in pieces if not isinstance(piece, str) or not piece]
        if wrong:
            raise NotKept(f"only texts that are not empty, as pieces of {text!r}", wrong)


async def _joined(splitter: _Splitter) -> None:
    for text in TEXTS:
        pieces = splitter.make().pieces(text)
        if pieces:
            same("what the pieces join to", text, "".join(pieces))


async def _repeatable(splitter: _Splitter) -> None:
    old = splitter.make()
    for text in [*TEXTS, *reversed(TEXTS)]:
        new = list(splitter.make().pieces(text))
        same(f"the pieces of a new policy for {text!r}", new, list(old.pieces(text)))


async def _limit(splitter: _Splitter) -> None:
    assert splitter.max is not None
    for text in TEXTS:
        longest = max((len(piece) for piece in splitter.make().pieces(text) or (text,)), default=0)
        if longest > splitter.max:
            raise NotKept(f"pieces of at most {splitter.max} characters", f"one of {longest}")


WINDOW_GUARANTEES: Final[Sequence[Guarantee[MakeWindowPolicy]]] = (
    Guarantee("its lookback is a number of chunks", _lookback),
    Guarantee("it answers yes or no to any window", _answers),
    Guarantee("the answer depends on the window alone, not on what was asked before", _without_memory),
    Guarantee("windowing by it loses and adds no text, and emits nothing empty", _lossless),
)
SPLIT_GUARANTEES: Final[Sequence[Guarantee[_Splitter]]] = (
    Guarantee("pieces are texts, and none of them is empty", _pieces),
    Guarantee("the pieces join to the text, or there are none", _joined),
    Guarantee("the pieces depend on the text alone, not on what was cut before", _repeatable),
    Guarantee("no piece is longer than the limit", _limit),
)
