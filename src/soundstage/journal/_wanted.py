"""What a wait waits for, from what a person writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundstage.errors import MatchError
from soundstage.journal._events import Event
from soundstage.match import Fields, Matcher, Predicate, matcher

Wanted = type[Event] | Matcher | Callable[[Any], Any]


def event(kind: type[Event], /, **fields: Any) -> Matcher:
    """A matcher for events of one class whose fields match; see `soundstage.match` for what can be written.

    Raises:
        MatchError: if the class has no such field.

    >>> from soundstage.journal import MessageSent
    >>> event(MessageSent, text="/hel+o/").matches(MessageSent(text="hello"))
    True
    """
    unknown = sorted(set(fields) - set(kind.__struct_fields__))
    if unknown:
        raise MatchError(
            f"{kind.__name__} has no field {unknown[0]!r}",
            expected="one of " + ", ".join(kind.__struct_fields__),
        )
    return Fields({name: matcher(spec) for name, spec in fields.items()}, type=kind)


def event_matcher(wanted: Wanted) -> Matcher:
    """The matcher for an event class, a matcher or a function of the event.

    Raises:
        MatchError: if it is none of them: it would wait for something that never comes.
    """
    if isinstance(wanted, Matcher):
        return wanted
    if isinstance(wanted, type) and issubclass(wanted, Event):
        return Fields({}, type=wanted)
    if isinstance(wanted, type) or not callable(wanted):
        raise MatchError(
            "this cannot be waited for",
            expected="an event class, event(Class, field=...), or a function of the event",
            seen=repr(wanted),
        )
    return Predicate(wanted)
