"""Accept what a replay was asked: the new request takes the place of the recorded one, and its reply stays.

An exchange that was not asked for is taken off the tape.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from soundstage.cli import say
from soundstage.differences import unified
from soundstage.errors import TapeError
from soundstage.messages import ModelRequest
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._playback import ASIDE, swapped
from soundstage.tapes._seen import SeenRequest, read_seen, seen_path
from soundstage.tapes._surroundings import Surroundings
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import NO_PLACE

_WITH: Final = ("model", "tools", "settings")


def accept(
    tape: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The tape of the replay.")],
) -> None:
    """Accept what the last replay was asked: it takes the place of the nearest recorded request, whose reply stays.

    The requests that go on from it get the same change. A recorded call that was not made is taken off the tape. A call
    that is new, or came in another order, has no recorded reply: record the tape again.

    Example: `soundstage tape accept weather.tape`
    """
    found = read_seen(tape)
    recorded = Tape.load(tape)
    asked = [one.verdict for one in found.requests]
    refused = [*found.servers, *(one for one in asked if one.cause in NO_PLACE or not one.nearest)]
    if refused:
        raise TapeError(
            f"this cannot be accepted for {tape}",
            expected="an edited request, which has a recorded reply",
            seen=refused[0].line,
            hint=refused[0].commands[1],
        )
    exchanges = tuple(one for one in recorded.exchanges if one.number not in found.left)
    if found.left and all(one.request is None or one.request.purpose in ASIDE for one in exchanges):
        raise TapeError(
            f"this cannot be accepted for {tape}",
            expected="a run that makes one of the recorded calls",
            seen="it made none, and nothing would be left of the tape",
            hint=f"look why the run asks no model, or delete the tape: rm {tape}",
        )
    for one in found.requests:
        exchanges = tuple(accepted(exchanges, one, found.here, recorded.head.places))
    Tape(
        exchanges,
        name=recorded.name,
        redactor=recorded.redactor,
        head=recorded.head,
        mcp_lines=recorded.mcp_lines,
    ).save(tape)
    seen_path(tape).unlink(missing_ok=True)
    for number in found.left:
        say(f"{tape}: exchange {number} is taken off: the run did not ask for it")
    for one in found.requests:
        say(f"{tape}: exchange {one.verdict.nearest} has a new request, and keeps its reply")
        say(unified(one.verdict.differences))


def accepted(
    exchanges: Iterable[RecordedExchange], seen: SeenRequest, here: Surroundings, places: Surroundings
) -> Iterable[RecordedExchange]:
    """The exchanges with a new request in the place of the nearest one, and in those that go on from that.

    Args:
        exchanges: those of the tape.
        seen: the new request.
        here: the folders of the replay.
        places: those of the recording, which stand on the tape.
    """
    known = tuple(exchanges)
    old = next((one.request for one in known if one.number == seen.verdict.nearest), None)
    if old is None:
        return known
    new = swapped(seen.request, here, places)
    return tuple(
        one
        if one.request is None
        else msgspec.structs.replace(
            one, request=new if one.number == seen.verdict.nearest else _going_on(one.request, old, new)
        )
        for one in known
    )


def _going_on(request: ModelRequest, old: ModelRequest, new: ModelRequest) -> ModelRequest:
    """A request with the change, if it goes on from the old one."""
    same = len(old.messages)
    if len(request.messages) < same or request.messages[:same] != old.messages:
        return request
    changed = {name: getattr(new, name) for name in _WITH if getattr(request, name) == getattr(old, name)}
    return msgspec.structs.replace(request, messages=new.messages + request.messages[same:], **changed)
