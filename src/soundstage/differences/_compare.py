"""All that differs between two requests, what comes first causally at the head.

The system prompt, the tools and the settings are there before anything is said, so they come first; then the messages
in their order, since a message can only be the effect of earlier ones: of a tool result that differs before the model
was asked again, the result is named. Messages are aligned before they are compared, so that one that was put in is
reported as that, and not as a difference of all that follow. What stands on both sides, at different places, has been
swapped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from soundstage.differences._align import Likeness, Pair, apart, word_likeness
from soundstage.differences._form import MessageForm, PartForm, RequestForm, form_of, print_of
from soundstage.differences._types import Cause, Difference, DifferingValue, Normaliser
from soundstage.differences._words import Sides, cut_lines, json_of, text_sides, value_sides
from soundstage.match import MISSING, preview
from soundstage.messages import ModelRequest, ModelResponse

_FIRST: Final[tuple[Cause, ...]] = (
    "system prompt edited",
    "tool list changed",
    "tool schema changed",
    "other model or settings",
)
_BY_ROLE: Final[dict[str, Cause]] = {
    "system": "system prompt edited",
    "user": "prompt edited",
    "assistant": "earlier reply differs",
    "tool": "tool result differs",
}
_BY_KIND: Final[dict[str, Cause]] = {"tool result": "tool result differs"}
_ALIKE: Final = 0.1  # of two texts in the same role that have no word in common: they are a pair nevertheless
_REPLY: Final = "messages[0] assistant"
_Made = tuple[dict[str, str], dict[str, str]]  # the calls of both requests, in words, by their prints
_ABSENT: Final = {"model": "none", "format": "in process"}


def differences(
    recorded: ModelRequest,
    seen: ModelRequest,
    *,
    normalise: Normaliser | None = None,
    known: tuple[Collection[int], Collection[int]] = ((), ()),
) -> tuple[Difference, ...]:
    """All that differs between a recorded request and one that is made now; the first one is the cause to name.

    Args:
        recorded: the request as it was.
        seen: the request as it is.
        normalise: takes out of every text what changes from run to run: times, paths, ids.
        known: places of messages, on each side, that are not compared: an earlier request had them.

    Example:
        >>> from soundstage.messages import user
        >>> old, new = (ModelRequest(model=name, messages=(user("hello"),)) for name in ("small", "large"))
        >>> [str(one) for one in differences(old, new)]
        ["other model or settings: model: recorded 'small', seen 'large'"]
        >>> differences(old, old)
        ()
    """
    return tuple(one.difference for one in differing_values(recorded, seen, normalise=normalise, known=known))


def differing_values(
    recorded: ModelRequest,
    seen: ModelRequest,
    *,
    normalise: Normaliser | None = None,
    known: tuple[Collection[int], Collection[int]] = ((), ()),
) -> tuple[DifferingValue, ...]:
    """The differences, each with both values whole, for those who look into them.

    Args:
        recorded: the request as it was.
        seen: the request as it is.
        normalise: takes out of every text what changes from run to run.
        known: places of messages, on each side, that are not compared.

    Example:
        >>> from soundstage.messages import user
        >>> old, new = (ModelRequest(model="m", messages=(user(text),)) for text in ("at 10:04", "at 10:05"))
        >>> [(one.recorded, one.seen) for one in differing_values(old, new)]
        [('at 10:04', 'at 10:05')]
    """
    before, now = form_of(recorded, normalise), form_of(seen, normalise)
    if before == now:
        return ()
    old, new = (_unknown(form, places) for form, places in zip((before, now), known, strict=True))
    made = (_calls_of(before.messages), _calls_of(now.messages))
    found = [*_messages(old, new, made), *_tools(before, now), *_settings(before, now)]
    rank = {cause: place for place, cause in enumerate(_FIRST)}
    return tuple(sorted(found, key=lambda one: rank.get(one.difference.cause, len(_FIRST))))


def reply_differences(
    recorded: ModelResponse, seen: ModelResponse, *, normalise: Normaliser | None = None
) -> tuple[Difference, ...]:
    """All that differs between two replies: what was said, which tools were asked for, why the model stopped.

    Args:
        recorded: the reply as it was.
        seen: the reply as it is.
        normalise: takes out of every text what changes from run to run.

    Example:
        >>> from soundstage.messages import Text
        >>> old, new = (ModelResponse(parts=(Text(text=word),)) for word in ("yes", "no"))
        >>> [str(one) for one in reply_differences(old, new)]
        ["reply differs: reply, part 1: recorded 'yes', seen 'no'"]
    """
    old, new = (ModelRequest(model="", messages=(reply.message(),)) for reply in (recorded, seen))
    found = [
        msgspec.structs.replace(one, cause="reply differs", where=one.where.replace(_REPLY, "reply", 1))
        for one in differences(old, new, normalise=normalise)
    ]
    if recorded.finish != seen.finish:
        words = [repr(reply.finish) for reply in (recorded, seen)]
        found.append(Difference(cause="reply differs", where="finish", recorded=words[0], seen=words[1]))
    return tuple(found)


def _unknown(form: RequestForm, known: Collection[int]) -> tuple[MessageForm, ...]:
    return tuple(message for message in form.messages if message.place not in known)


def _settings(before: RequestForm, now: RequestForm) -> Iterator[DifferingValue]:
    for name, value in before.facts.items():
        if value != now.facts[name]:
            facts = [side.facts[name] for side in (before, now)]
            words = [_fact(name, fact) for fact in facts]
            told = Difference(cause="other model or settings", where=name, recorded=words[0], seen=words[1])
            yield DifferingValue(told, *facts)
    for sides in value_sides(before.settings, now.settings):
        yield _difference("other model or settings", "settings", sides)


def _fact(name: str, value: Any) -> str:
    return _ABSENT[name] if value == "" else repr(value) if isinstance(value, str) else json_of(value)


def _tools(before: RequestForm, now: RequestForm) -> Iterator[DifferingValue]:
    for name in [*before.tools, *(name for name in now.tools if name not in before.tools)]:
        where = f"tools.{name}"
        if name in before.tools and name in now.tools:
            for sides in value_sides(before.tools[name], now.tools[name], missing="not there", schema=True):
                yield _difference("tool schema changed", where, sides)
        else:
            words = ["on offer" if name in side.tools else "not on offer" for side in (before, now)]
            told = Difference(cause="tool list changed", where=where, recorded=words[0], seen=words[1])
            yield DifferingValue(told, *(side.tools.get(name, MISSING) for side in (before, now)))


def _difference(cause: Cause, where: str, sides: Sides) -> DifferingValue:
    told = Difference(
        cause=cause,
        where=f"{where}{sides.where}",
        recorded=sides.recorded,
        seen=sides.seen,
        lines=sides.lines,
    )
    return DifferingValue(told, *sides.values)


def _messages(
    before: tuple[MessageForm, ...], now: tuple[MessageForm, ...], made: _Made
) -> Iterator[DifferingValue]:
    for pair in apart([one.print for one in before], [one.print for one in now], likeness_of(before, now)):
        old = before[pair.recorded] if pair.recorded is not None else None
        new = now[pair.seen] if pair.seen is not None else None
        if old is None or new is None or pair.moved:
            alone = [side.parts[0] for side in (new, old) if side is not None and len(side.parts) == 1]
            yield _answered_call(_whole(old, new), made, *alone)
        else:
            yield from _message(old, new, made)


def likeness_of(before: tuple[MessageForm, ...], now: tuple[MessageForm, ...]) -> Likeness:
    """How much alike two messages are, by their places in the lists; none, if they have other roles."""

    def likeness(i: int, k: int) -> float:
        if before[i].role != now[k].role:
            return 0.0
        return _ALIKE + (1 - _ALIKE) * word_likeness(before[i].words, now[k].words)

    return likeness


def _calls_of(messages: tuple[MessageForm, ...]) -> dict[str, str]:
    """All calls in words, by their prints."""
    return {
        print_of(part): cut_lines([part.words])[0]
        for one in messages
        for part in one.parts
        if part.kind == "tool call"
    }


def _answered_call(found: DifferingValue, made: _Made, *parts: PartForm | None) -> DifferingValue:
    """The same, with the call in words if a part is the result of one."""
    prints = [part.answers for part in parts if part is not None and part.answers]
    call = next((calls[one] for one in prints for calls in made if one in calls), "")
    return found._replace(difference=msgspec.structs.replace(found.difference, call=call)) if call else found


def _whole(old: MessageForm | None, new: MessageForm | None) -> DifferingValue:
    """A message that is new, gone, or at another place."""
    known = new or old
    assert known is not None
    where = f"messages[{known.place}] {known.role}"
    if old is not None and new is not None:
        at = f"{_told(old)} at messages[{old.place}]"
        told = Difference(cause="order swapped", where=where, recorded=at, seen=f"at messages[{new.place}]")
        return DifferingValue(told, old.words, new.words)
    words = [_told(side) if side is not None else "no such message" for side in (old, new)]
    told = Difference(
        cause=_cause_of(known), where=where, recorded=words[0], seen=words[1], lines=_one_sided(old, new)
    )
    return DifferingValue(told, *_words_of(old, new))


def _words_of(*sides: MessageForm | PartForm | None) -> Iterator[Any]:
    return (side.words if side is not None else MISSING for side in sides)


def _one_sided(old: MessageForm | PartForm | None, new: MessageForm | PartForm | None) -> tuple[str, ...]:
    """The text of what only one side has."""
    known = old or new
    assert known is not None
    return cut_lines([f"{'-' if new is None else '+'}{line}" for line in known.words.split("\n")])


def _told(message: MessageForm) -> str:
    return f"{message.role} {preview(message.words)}"


def _cause_of(message: MessageForm) -> Cause:
    kinds = {part.kind for part in message.parts}
    return _BY_KIND.get(kinds.pop(), _BY_ROLE[message.role]) if len(kinds) == 1 else _BY_ROLE[message.role]


def _message(old: MessageForm, new: MessageForm, made: _Made) -> Iterator[DifferingValue]:
    def likeness(i: int, k: int) -> float:
        return _part_likeness(old.parts[i], new.parts[k])

    for pair in apart(list(map(print_of, old.parts)), list(map(print_of, new.parts)), likeness):
        place = pair.seen if pair.seen is not None else pair.recorded
        assert place is not None
        where = f"messages[{new.place}] {new.role}, part {place + 1}"
        before = old.parts[pair.recorded] if pair.recorded is not None else None
        now = new.parts[pair.seen] if pair.seen is not None else None
        for found in _part(where, pair, before, now, new.role, made):
            yield _answered_call(found, made, now, before)


def _part_likeness(one: PartForm, other: PartForm) -> float:
    if one.kind != other.kind:
        return 0.0
    words = word_likeness(one.words, other.words)
    near = 0.5 if (one.name, one.answers) == (other.name, other.answers) else 0.0
    return _ALIKE + near + (1 - _ALIKE - 0.5) * words


def _part(
    where: str, pair: Pair, before: PartForm | None, now: PartForm | None, role: str, made: _Made
) -> Iterator[DifferingValue]:
    known = now or before
    assert known is not None
    cause = _BY_KIND.get(known.kind, _BY_ROLE[role])
    if before is None or now is None:
        words = [_named(side) if side is not None else "no such part" for side in (before, now)]
        told = Difference(
            cause=cause, where=where, recorded=words[0], seen=words[1], lines=_one_sided(before, now)
        )
        yield DifferingValue(told, *_words_of(before, now))
    elif pair.moved:
        words = [f"part {place + 1}" for place in (pair.recorded, pair.seen) if place is not None]
        recorded = f"{_named(before)} as {words[0]}"
        told = Difference(cause="order swapped", where=where, recorded=recorded, seen=f"as {words[1]}")
        yield DifferingValue(told, before.words, now.words)
    else:
        for sides in _part_sides(before, now, made):
            yield _difference(cause, where, sides)


def _named(part: PartForm) -> str:
    return f"{part.kind} {preview(part.words)}"


def _part_sides(before: PartForm, now: PartForm, made: _Made) -> Iterator[Sides]:
    """The places within a part that differ."""
    if before.name != now.name:
        yield Sides(", name", repr(before.name), repr(now.name), values=(before.name, now.name))
    if before.text != now.text:
        yield text_sides(before.text, now.text)
    for sides in value_sides(before.value, now.value):
        key = ", arguments" if now.kind == "tool call" else ", content"
        yield sides._replace(where=f"{key}{sides.where}")
    if before.is_error != now.is_error:
        words = json_of(before.is_error), json_of(now.is_error)
        yield Sides(", is_error", *words, values=(before.is_error, now.is_error))
    yield from _answered(before, now, made)


def _answered(before: PartForm, now: PartForm, made: _Made) -> Iterator[Sides]:
    """Results of different calls; where the calls themselves differ, that has been said."""
    if before.answers != now.answers:
        calls = (before.answers, now.answers)
        if all(not call or call in prints for call in calls for prints in made):
            recorded = "of one call" if before.answers else "of no call"
            yield Sides(", call", recorded, "of another call" if now.answers else "of no call")
