"""The messages of two requests side by side."""

from __future__ import annotations

from typing import NamedTuple

from soundstage.differences._align import apart
from soundstage.differences._compare import likeness_of
from soundstage.differences._form import form_of
from soundstage.differences._types import Normaliser
from soundstage.messages import ModelRequest


class MessagePair(NamedTuple):
    """A message of each request, by its place from 0; `None` where there is no partner.

    Args:
        recorded: the place in the one request.
        seen: that in the other.
        same: whether they do not differ.
    """

    recorded: int | None
    seen: int | None
    same: bool = False


def message_pairs(
    recorded: ModelRequest, seen: ModelRequest, *, normalise: Normaliser | None = None
) -> tuple[MessagePair, ...]:
    """The messages of two requests in pairs, in the order of the second; what is gone stands where it was.

    Args:
        recorded: the request as it was.
        seen: the request as it is.
        normalise: takes out of every text what changes from run to run.

    Example:
        >>> from soundstage.messages import system, user
        >>> old, new = ModelRequest(model="m", messages=(user("a"),)), ModelRequest(model="m", messages=(system("b"),))
        >>> message_pairs(old, new)
        (MessagePair(recorded=0, seen=None, same=False), MessagePair(recorded=None, seen=0, same=False))
    """
    before, now = (form_of(request, normalise).messages for request in (recorded, seen))
    parted = apart([one.print for one in before], [one.print for one in now], likeness_of(before, now))
    gone = {pair.recorded for pair in parted}
    new = {pair.seen for pair in parted}
    kept = [place for place in range(len(before)) if place not in gone]
    found = [MessagePair(pair.recorded, pair.seen, pair.moved) for pair in parted]
    left = (place for place in range(len(now)) if place not in new)
    found += [MessagePair(i, k, same=True) for i, k in zip(kept, left, strict=True)]
    return tuple(_in_order(found))


def _in_order(pairs: list[MessagePair]) -> list[MessagePair]:
    """In the order of the second request; what only the first has, before what followed it there."""
    gone = sorted(pair.recorded for pair in pairs if pair.seen is None and pair.recorded is not None)
    found: list[MessagePair] = []
    following = 0
    for pair in sorted((pair for pair in pairs if pair.seen is not None), key=lambda pair: pair.seen or 0):
        upto = following if pair.recorded is None else pair.recorded - 1
        while gone and gone[0] <= upto:
            following = gone.pop(0) + 1
            upto = max(upto, following if pair.recorded is None else upto)
            found.append(MessagePair(following - 1, None))
        found.append(pair)
        following = pair.recorded + 1 if pair.recorded is not None else following
    return found + [MessagePair(place, None) for place in gone]
