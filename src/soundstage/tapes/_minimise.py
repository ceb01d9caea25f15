"""The shortest script with which a program still fails: less and less of it, while it does. Pure.

How it works. The rules of a tape are a list, and `fails` says whether a run on some of them ends as the first one did.
Parts of the list are left out, halves first, then quarters (delta debugging), until no single rule can be left out.
Then each reply is tried without one of its calls, without a block, with half of its text, and each rule without one of
its conditions. The result is one from which nothing more can be taken away, not the least of all. What the program asks
is its own: a request is shorter only where it repeats a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from soundstage.models import Reply
from soundstage.tapes._to_script import DraftRule

T = TypeVar("T")


def shortest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of a list for which `fails` holds, and of which nothing can be left out.

    Args:
        items: a list for which it holds.
        fails: asked of parts, in their order.

    Example:
        >>> shortest(range(20), lambda part: 3 in part and 17 in part)
        [3, 17]
    """
    kept, pieces = list(items), 2
    while kept:
        size = -(-len(kept) // pieces)
        for start in range(0, len(kept), size):
            less = kept[:start] + kept[start + size :]
            if fails(less):
                kept, pieces = less, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                break
            pieces = min(2 * pieces, len(kept))
    return kept


def minimised(rules: Sequence[DraftRule], fails: Callable[[Sequence[DraftRule]], bool]) -> list[DraftRule]:
    """The fewest rules, with the smallest replies and the fewest conditions, for which `fails` holds.

    Args:
        rules: rules for which it holds.
        fails: asked of fewer and smaller ones.
    """
    kept = shortest(rules, fails)
    place = 0
    while place < len(kept):
        for rule in _smaller_rules(kept[place]):
            tried = [*kept[:place], rule, *kept[place + 1 :]]
            if fails(tried):
                kept = tried
                break
        else:
            place += 1
    return kept


def _smaller_rules(rule: DraftRule) -> Iterator[DraftRule]:
    """The rule with a smaller reply, then with one condition less; one stays, for a rule without any serves once."""
    for reply in smaller(rule.reply):
        yield rule._replace(reply=reply)
    if len(rule.when) > 1:
        for name in rule.when:
            yield rule._replace(when={key: part for key, part in rule.when.items() if key != name})


def smaller(reply: Reply) -> Iterator[Reply]:
    """Replies with one thing less, that with the most first. An error has nothing to take away."""
    for place in range(len(reply.tool_calls)):
        calls = reply.tool_calls[:place] + reply.tool_calls[place + 1 :]
        if calls or reply.text:
            yield msgspec.structs.replace(reply, tool_calls=calls)
    for place in range(len(reply.blocks or ())):
        blocks = reply.blocks or ()
        if len(blocks) > 1:
            yield msgspec.structs.replace(reply, blocks=blocks[:place] + blocks[place + 1 :])
    if reply.text and reply.tool_calls:
        yield msgspec.structs.replace(reply, text=None)
    if reply.text and len(reply.text) > 1:
        half = len(reply.text) // 2
        yield msgspec.structs.replace(reply, text=reply.text[:half])
        yield msgspec.structs.replace(reply, text=reply.text[half:])
