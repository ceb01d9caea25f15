"""The context of a step: what the model was given, and how that differs from the same caller's last request.

A request of a conversation brings the messages of the one before, the reply to it, and a few more. What else has
happened to the context is told message by message: put in before the last reply (injected), left out (dropped),
changed, or cut (truncated: what is left is the beginning or the end of what it was, or both with a note between them).
Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from soundstage.differences._compare import differences
from soundstage.differences._lanes import LaneStep, lanes_of
from soundstage.differences._pairs import MessagePair, message_pairs
from soundstage.differences._types import Difference
from soundstage.errors import ScriptError
from soundstage.messages import Message, ModelRequest
from soundstage.trace import Step, Trace

Change = Literal["KEPT", "NEW", "INJECTED", "DROPPED", "CHANGED", "TRUNCATED"]
_MARKS: Final = (
    "...",
    "…",
    "truncat",
    "omit",
    "clear",
    "elided",
    "removed",
    "clipped",
    "cut ",
    "skipped",
    "more",
)
_NOTE: Final = 160  # characters; a longer text in the place of another is no note on what was cut
_SHOWN: Final = 200  # characters of a message that are kept


class ContextMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a context.

    Args:
        change: KEPT as it was; NEW since the last reply, or that reply; INJECTED before it; DROPPED; CHANGED; or
            TRUNCATED.
        place: number in the request, from 0; of a dropped one, in the request before.
        role: who speaks.
        size: characters of its readable text.
        before: characters of what it was, of one that changed or was cut.
        text: the beginning of its text.
        found: what differs from what it was.
    """

    change: Change
    place: int
    role: str
    size: int
    before: int = 0
    text: str = ""
    found: tuple[Difference, ...] = ()


class StepContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The messages that a model was given at a step.

    Args:
        position: of the request.
        lane: who asked.
        number: which step of its lane it is, from 1.
        previous: position of the caller's last request; 0 for none.
        messages: those of the request in order, dropped ones where they were.
        around: what differs in tools, model and settings.
        size: characters of all messages.
        before: those of the last request.
    """

    position: int
    lane: str
    number: int
    previous: int = 0
    messages: tuple[ContextMessage, ...] = ()
    around: tuple[Difference, ...] = ()
    size: int = 0
    before: int = 0


def context_of(trace: Trace, step: int) -> StepContext:
    """The context of a step, compared with that of the same caller's last request.

    Args:
        trace: the run.
        step: position of the request, as the trace shows it after `@`; also that of its reply.

    Raises:
        ScriptError: if no request has this position.
    """
    wanted = next((one for one in trace.steps if step in (one.position, one.answered_at)), None)
    if wanted is None:
        places = ", ".join(f"@{one.position}" for one in trace.steps[:12])
        raise ScriptError(
            f"no request of the trace is at @{step}",
            expected=f"one of {places}{', ...' if len(trace.steps) > 12 else ''}" if places else "a request",
            hint="`soundstage show FILE` prints the position of each step after an @",
        )
    own = [one for one in trace.steps if one.position <= wanted.position]
    lane = next(lane for lane in lanes_of(own) if lane.steps[-1].step is wanted)
    name = lane.agent if lane.purpose == "main" else f"{lane.agent} ({lane.purpose})"
    return _context(name, lane.steps)


def _context(name: str, steps: list[LaneStep]) -> StepContext:
    step = steps[-1].step
    before = steps[-2].step if len(steps) > 1 else None
    request = step.request
    size = _size(request.messages)
    common: dict[str, Any] = {"position": step.position, "lane": name, "number": len(steps), "size": size}
    if before is None:
        messages = tuple(_message("NEW", place, one) for place, one in enumerate(request.messages))
        return StepContext(**common, messages=messages)
    known = _with_reply(before)
    pairs = message_pairs(known, request)
    reply = len(before.request.messages)
    news = _first_new(pairs, reply)
    messages = tuple(_compared(known, request, pair, reply, news) for pair in pairs)
    everything = (range(len(known.messages)), range(len(request.messages)))
    return StepContext(
        **common,
        previous=before.position,
        before=_size(before.request.messages),
        messages=messages,
        around=differences(known, request, known=everything),
    )


def _with_reply(step: Step) -> ModelRequest:
    """The request with its reply, as the next one may have them."""
    reply = (step.response.message(),) if step.response is not None else ()
    return msgspec.structs.replace(step.request, messages=(*step.request.messages, *reply))


def _first_new(pairs: Sequence[MessagePair], reply: int) -> int:
    """Where the news of a request begin: after all that it had before, the last reply included."""
    had = [pair.seen for pair in pairs if pair.recorded is not None and pair.seen is not None]
    replies = [pair.seen for pair in pairs if pair.recorded == reply and pair.seen is not None]
    return max([*had, *replies], default=-1) + 1


def _compared(
    before: ModelRequest, now: ModelRequest, pair: MessagePair, reply: int, news: int
) -> ContextMessage:
    old = before.messages[pair.recorded] if pair.recorded is not None else None
    new = now.messages[pair.seen] if pair.seen is not None else None
    if new is None:
        assert old is not None
        assert pair.recorded is not None
        return _message("DROPPED", pair.recorded, old)
    assert pair.seen is not None
    if old is None:
        return _message("NEW" if pair.seen >= news and new.role != "system" else "INJECTED", pair.seen, new)
    if pair.same:
        return _message("NEW" if pair.recorded == reply else "KEPT", pair.seen, new)
    known = (
        [place for place in range(len(before.messages)) if place != pair.recorded],
        [place for place in range(len(now.messages)) if place != pair.seen],
    )
    cut = is_cut(old.everything, new.everything)
    found = tuple(one for one in differences(before, now, known=known) if one.where.startswith("messages["))
    changed = _message("TRUNCATED" if cut else "CHANGED", pair.seen, new)
    return msgspec.structs.replace(changed, before=len(old.everything), found=found)


def is_cut(old: str, new: str) -> bool:
    """Whether a text is what is left of another one: its beginning, its end, or a note in the place of the rest.

    Example:
        >>> is_cut("a long text with an end", "a long... end")
        True
        >>> is_cut("a long text with an end", "a short text")
        False
    """
    if len(new) >= len(old):
        return False
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), len(new) - start)
    notes = [new[start : len(new) - end].strip(), new[start:].strip()]
    return not all(notes) or any(_is_note(note) for note in notes)


def _is_note(text: str) -> bool:
    return len(text) <= _NOTE and any(mark in text.casefold() for mark in _MARKS)


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _message(change: Change, place: int, message: Message) -> ContextMessage:
    text = message.everything
    return ContextMessage(change=change, place=place, role=message.role, size=len(text), text=text[:_SHOWN])


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.everything) for message in messages)
