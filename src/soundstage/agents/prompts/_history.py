"""Trim a conversation that has grown too long for its model. Pure.

System messages stay, and so do the first two and the last six messages; one message in the place of the others
says that something is missing. A provider refuses a tool result without its call and a call without its
result, so both stay or both go: a call and its results, with all that stands between them, are one block, and
a block of which one message stays, stays whole. To trim what was trimmed changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from soundstage.agents._errors import SettingError
from soundstage.agents.prompts._budget import estimate_tokens
from soundstage.messages import Message, ToolCall, ToolResult, user

WINDOW: Final = 128_000
SHARE: Final = 0.6
FIRST: Final = 2
LAST: Final = 6
TRIMMED: Final = "[Previous conversation truncated due to context limits]"


def trim_history(
    messages: Sequence[Message],
    *,
    window: int = WINDOW,
    share: float = SHARE,
    first: int = FIRST,
    last: int = LAST,
    count: Callable[[Message], int] | None = None,
) -> tuple[Message, ...]:
    """Leave the middle of a long conversation out.

    What stays may still be too much for the model, if the last messages are huge: cut the results of tools
    where they are made.

    Args:
        messages: the conversation, oldest first.
        window: tokens that the model takes.
        share: of the window; a conversation that is not larger is left as it is.
        first: messages to keep at the beginning, system messages not counted.
        last: messages to keep at the end.
        count: tokens of a message; estimated from its texts unless given.

    Raises:
        SettingError: for a number that makes no sense.

    Example:
        >>> from soundstage.messages import assistant
        >>> long = [user("the task"), assistant("well, " * 100), *(user(f"{n}") for n in range(9))]
        >>> [message.text[:22] for message in trim_history(long, window=100, last=1)]
        ['the task', 'well, well, well, well', '[Previous conversation', '8']
    """
    if window < 1 or not 0 < share <= 1 or first < 0 or last < 1:
        raise SettingError(
            "a conversation cannot be trimmed like this",
            expected="window from 1, share above 0 and at most 1, first from 0, last from 1",
            seen=f"window={window}, share={share}, first={first}, last={last}",
        )
    talk = [place for place, message in enumerate(messages) if message.role != "system"]
    if not talk or sum(map(count or _tokens, messages)) <= window * share:
        return tuple(messages)
    blocks = _blocks([messages[place] for place in talk])
    head, tail = _head(blocks, first), _tail(blocks, len(talk) - last)
    dropped = talk[head:tail]
    if not dropped:
        return tuple(messages)
    gone = set(dropped)
    marked: list[Message] = []
    for place, message in enumerate(messages):
        if place == dropped[0]:
            marked.append(user(TRIMMED))
        if place not in gone:
            marked.append(message)
    return tuple(marked)


def _tokens(message: Message) -> int:
    return estimate_tokens(message.everything)


def _head(blocks: list[tuple[int, int]], wanted: int) -> int:
    """Where the kept beginning ends: with the block that has the last wanted message."""
    return max((end for start, end in blocks if start < wanted), default=0)


def _tail(blocks: list[tuple[int, int]], wanted: int) -> int:
    """Where the kept end begins: with the block that has the first wanted message."""
    return min(start for start, end in blocks if end > wanted)


def _blocks(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """The conversation in blocks (start, end) that stay or go as a whole; `end` is the first place behind."""
    reach = list(range(len(messages)))  # place of a call -> place of the last of its results
    open_calls: dict[str, int] = {}
    for place, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                open_calls[part.id] = place
            elif isinstance(part, ToolResult) and part.call_id in open_calls:
                reach[open_calls[part.call_id]] = place
    blocks: list[tuple[int, int]] = []
    start = end = 0
    for place, last in enumerate(reach):
        if place > end:
            blocks.append((start, end + 1))
            start = place
        end = max(end, last)
    return [*blocks, (start, end + 1)] if messages else []
