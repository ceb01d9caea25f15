"""Conditions on events, for waits and assertions, from what a person writes.

| written                                | finds                                                     |
|----------------------------------------|-----------------------------------------------------------|
| `ChatReply`                            | events of this class and its subclasses                   |
| `event(ChatReply, text="/hi/")`        | those of them whose fields match                          |
| `"hello"`, `"/hel+o/i"`                | events whose words contain it: their text, or `str(event)` |
| `["a", ChatReply]`, `{"any": [..]}`    | events that one of them finds; `all` and `not` likewise   |
| a function                             | events for which it returns a true value                  |
| a matcher of `soundstage.match`        | what it matches; one of texts is asked about the words    |

The words of a request are what the user said last, those of a reply its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from soundstage.errors import MatchError, did_you_mean, near_names
from soundstage.journal._events import Event, ModelRequested, ModelResponded, event_types
from soundstage.journal._homes import load_home
from soundstage.match import AllOf, AnyOf, Fields, Matcher, Not, Predicate, matcher

Wanted = type[Event] | Matcher | str | Sequence[Any] | Mapping[str, Any] | Callable[[Any], Any]

_ANY_EVENT: Final = Event()
_LIKE_A_CLASS: Final = re.compile(r"(?:[A-Z][a-z0-9]+){2,}")
_SPELT_ALIKE: Final = 0.85
_GROUPS: Final[dict[str, type[AllOf | AnyOf]]] = {"all": AllOf, "any": AnyOf}


def event(kind: type[Event] | str, /, **fields: Any) -> Matcher:
    """A matcher for events of one class whose fields match; see `soundstage.match` for what can be written.

    Args:
        kind: the class, or its name.
        fields: conditions on fields, by name.

    Raises:
        MatchError: if there is no such class, or it has no such field.

    >>> from soundstage.journal import MessageSent
    >>> event(MessageSent, text="/hel+o/").matches(MessageSent(text="hello"))
    True
    """
    chosen = _class_called(kind) if isinstance(kind, str) else kind
    unknown = sorted(set(fields) - set(chosen.__struct_fields__))
    if unknown:
        raise MatchError(
            f"{chosen.__name__} has no field {unknown[0]!r}",
            expected="one of " + ", ".join(chosen.__struct_fields__),
        )
    return Fields({name: matcher(spec) for name, spec in fields.items()}, type=chosen)


def _class_called(name: str) -> type[Event]:
    found = event_types().get(name)
    if found is None and load_home(name, event_types):
        found = event_types().get(name)
    if found is None:
        raise MatchError(
            f"no event class is called {name!r}",
            expected="one of " + ", ".join(sorted(event_types())),
            hint=did_you_mean(name, event_types()) or "import the module that has the class",
        )
    return found


def event_matcher(wanted: Wanted, *, among: type[Event] = Event) -> Matcher:
    """The matcher of events for what a person wrote; see the table at the top of this file.

    Args:
        wanted: what to look for.
        among: the class of all events that it will be asked about: the class of a typed journal.

    Raises:
        MatchError: if it can never match: it would wait for something that never comes.
    """
    found = _matcher(wanted)
    for kind in _classes(found):
        if not (issubclass(kind, among) or issubclass(among, kind)):
            raise MatchError(
                f"the journal of {among.__name__} never holds {kind.__name__}",
                expected=f"{among.__name__} or a subclass of it",
                hint=f"wait on the journal of {kind.__name__}",
            )
    return found


def _matcher(wanted: Any) -> Matcher:
    if isinstance(wanted, Matcher):
        return _asked_about_events(wanted)
    if isinstance(wanted, type) and issubclass(wanted, Event):
        return Fields({}, type=wanted)
    if isinstance(wanted, str):
        _refuse_class_names(wanted)
        return EventText(matcher(wanted))
    if isinstance(wanted, Mapping):
        return _operator(wanted)
    if isinstance(wanted, Sequence) and not isinstance(wanted, bytes | bytearray):
        return AnyOf(*map(_matcher, wanted))
    if isinstance(wanted, type) or not callable(wanted):
        raise _unwaitable(repr(wanted))
    return Predicate(wanted)


def _operator(wanted: Mapping[str, Any]) -> Matcher:
    operator, value = next(iter(wanted.items()), ("", None))
    if len(wanted) == 1 and operator == "not":
        return Not(_matcher(value))
    if len(wanted) == 1 and operator in _GROUPS and isinstance(value, list | tuple):
        return _GROUPS[operator](*map(_matcher, value))
    return EventText(matcher(wanted))


def _asked_about_events(wanted: Matcher) -> Matcher:
    """The same condition, with its parts that are about texts asked about the words of an event."""
    if isinstance(wanted, AllOf | AnyOf):
        return type(wanted)(*map(_asked_about_events, wanted.parts))
    if isinstance(wanted, Not):
        return Not(_asked_about_events(wanted.part))
    return wanted if wanted.applies_to(_ANY_EVENT) else EventText(wanted)


def _classes(wanted: Matcher) -> Iterator[type[Event]]:
    """The event classes that a condition names."""
    if isinstance(wanted, AllOf | AnyOf):
        for part in wanted.parts:
            yield from _classes(part)
    elif isinstance(wanted, Not):
        yield from _classes(wanted.part)
    elif isinstance(wanted, Fields) and isinstance(wanted.type, type) and issubclass(wanted.type, Event):
        yield wanted.type


def _unwaitable(seen: str, hint: str = "") -> MatchError:
    return MatchError(
        "this cannot be waited for",
        expected="an event class, event(Class, field=...), a text, or a function of the event",
        seen=seen,
        hint=hint,
    )


def _refuse_class_names(text: str) -> None:
    """A class name as a text would be looked for in what people said, and hardly ever be found."""
    near = [text] if text in event_types() else []
    if not near and _LIKE_A_CLASS.fullmatch(text):
        known = load_home(text, event_types)
        near = [text] if known else near_names(text, event_types(), most=1, cutoff=_SPELT_ALIKE)
    if near:
        words = f"{{'text': {text!r}}}"
        raise _unwaitable(
            f"{text!r}, the name of an event class" if near == [text] else f"{text!r}, much like {near[0]}",
            f"write the class {near[0]} or event({near[0]!r}); for the words of an event, {words}",
        )


class EventText(Matcher):
    """Events whose words meet a condition on text."""

    __slots__ = ("part",)

    def __init__(self, part: Matcher) -> None:
        self.part = part

    @staticmethod
    def words(event: Event) -> str:
        """The text of an event: its own, what the user said last in a request, else `str(event)`."""
        if isinstance(event, ModelResponded):
            return event.response.text
        if isinstance(event, ModelRequested):
            return event.request.last_user_text or ""
        text = getattr(event, "text", None)
        return text if isinstance(text, str) else str(event)

    def matches(self, value: Any) -> bool:
        return self.part.matches(self.words(value))

    def explain(self, value: Any) -> str | None:
        return self.part.explain(self.words(value))

    def describe(self) -> str:
        return self.part.describe()
