"""Whether a journal could read an event back. Asked at each append, so it has to be quick.

For each class a function is made that says yes to what is certainly fine: every field has exactly the type that it
is declared with, texts can be written in UTF-8, numbers are finite, and what is declared as anything is JSON. The
function is one expression over the fields, because a call for each of them would cost as much as the append itself.
What it does not say yes to is looked at slowly: either it can be read back all the same, such as a list where a tuple
is declared, or the fault is named with its place.
"""

from __future__ import annotations

import threading
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple, NoReturn

import msgspec

from soundstage.journal._events import Event, ModelRequested, UnknownEvent
from soundstage.messages import Message, ModelRequest, ToolDefinition

Check = Callable[[Any], bool]

DEEPEST: Final = 200  # lists and objects in each other
_WORD: Final = 2**63
_LARGEST: Final = 2**1024  # whole numbers beyond have no exact form that readers agree on
_SHOWN: Final = 80
_NOT_TOO_DEEP: Final = "what JSON can hold: no cycle, not hundreds of lists and objects in each other"

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
CHECKS: dict[type, Check] = {}  # says yes to what is certainly fine; the journal asks it before `check_event`
_making: dict[type, Check] = {}
_making_lock: Final = threading.RLock()


class Seen:
    """The messages and tools of requests that a journal keeps: mostly, a request brings those of the one before.

    They are known by their ids; the journal keeps them, so that no other has the same.
    """

    def __init__(self) -> None:
        self._ids: set[int] = set()

    def keep(self, event: Event) -> None:
        """Remember what need not be looked at again, now that the journal keeps it."""
        if type(event) is ModelRequested:
            self._ids.update(map(id, event.request.messages), map(id, event.request.tools))

    def fine(self, values: Any, check: Check) -> bool:
        """Whether a tuple holds what is fine."""
        if type(values) is not tuple:
            return False
        return all(id(value) in self._ids or check(value) for value in values)


def check_event(event: Any, seen: Seen) -> None:
    """Refuse what could not be read back.

    Raises:
        TypeError: with the field and its value.
    """
    try:
        if type(event) is ModelRequested:
            fine = _fine_request(event, seen)
        else:
            fine = (CHECKS.get(type(event)) or _learn(type(event)))(event)
        if not fine:
            _look(event)
    except RecursionError:
        _refuse(type(event).__name__, _Fault("a field", "…", _NOT_TOO_DEEP))


def _fine_request(event: ModelRequested, seen: Seen) -> bool:
    request = event.request
    return (
        type(event.model_kind) is str
        and event.model_kind.isascii()
        and type(request) is ModelRequest
        and _rest_of_request(request)
        and seen.fine(request.messages, _check_message)
        and seen.fine(request.tools, _check_tool)
    )


def check_envelope(source: str, cause: int | None, at: float | None) -> None:
    """Refuse an envelope that could not be read back.

    Raises:
        TypeError: with the argument and its value.
    """
    for name, value, hint in (
        ("source", source, str),
        ("cause", cause, int | None),
        ("at", at, float | None),
    ):
        for fault in _faults(value, hint, name):
            _refuse("envelope", fault)


def _learn(kind: type) -> Check:
    """The check of an event class, made when its first event comes."""
    if not issubclass(kind, Event):
        raise TypeError(f"expected an Event, got {kind.__name__}: subclass soundstage.journal.Event")
    if kind is UnknownEvent:
        CHECKS[kind] = lambda _: True  # its line has been read before
        return CHECKS[kind]
    try:
        msgspec.json.Decoder(kind)
    except (TypeError, NameError) as error:
        raise TypeError(
            f"a journal could not read back events of the class {kind.__name__}\n"
            f"  seen: {error}\n"
            "  next step: declare its fields with types that JSON has: str, int, float, bool, lists, dicts, structs"
        ) from None
    return _struct_check(kind)


def _struct_check(kind: type) -> Check:
    """The check of a struct, for events and what they hold."""
    with _making_lock:
        made = CHECKS.get(kind) or _making.get(kind)
        if made is None:
            _making[kind] = lambda value: CHECKS[kind](value)  # noqa: PLW0108  (made later) for a struct that holds its like
            made = CHECKS[kind] = _made(kind)
            del _making[kind]
        return made


def _made(kind: type, without: tuple[str, ...] = ()) -> Check:
    names: dict[str, Any] = {"_text": _text, "_json": _json}
    hints = typing.get_type_hints(kind)
    fields = [name for name in kind.__struct_fields__ if name not in without]  # type: ignore[attr-defined]
    parts = [_expression(hints[name], f"e.{name}", names) for name in fields]
    made: Check = eval(f"lambda e: {' and '.join(parts) or 'True'}", names)  # noqa: S307  (our text, field names)
    return made


def _expression(hint: Any, value: str, names: dict[str, Any]) -> str:
    """An expression that is true if `value` certainly has the type `hint`."""
    simple = _SIMPLE.get(hint) if isinstance(hint, type) or hint is Any else None
    if simple is not None:
        return simple.replace("$", value)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return f"(type({value}) is str and {value} in {_named(frozenset(parts), names)})"
    if origin in (typing.Union, types.UnionType):
        return f"({' or '.join(_expression(part, value, names) for part in parts)})"
    if origin is tuple and parts[-1:] == (Ellipsis,):
        return f"(type({value}) is tuple and all(map({_function(parts[0], names)}, {value})))"
    if origin is tuple and parts:
        items = [_expression(part, f"{value}[{place}]", names) for place, part in enumerate(parts)]
        return f"(type({value}) is tuple and len({value}) == {len(parts)} and {' and '.join(items)})"
    if origin is list:
        return f"(type({value}) is list and all(map({_function(parts[0], names)}, {value})))"
    if origin is dict and parts[0] is str:
        inside = f"all(map(_text, {value})) and all(map({_function(parts[1], names)}, {value}.values()))"
        if parts[1] is Any:
            inside = f"_json({value})"
        return f"(type({value}) is dict and (not {value} or ({inside})))"
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"(type({value}) is {_named(hint, names)} and {_named(_struct_check(hint), names)}({value}))"
    return "False"


def _function(hint: Any, names: dict[str, Any]) -> str:
    inner: dict[str, Any] = {"_text": _text, "_json": _json}
    expression = _expression(hint, "e", inner)
    return _named(eval(f"lambda e: {expression}", inner), names)  # noqa: S307  (as above)


def _named(value: Any, names: dict[str, Any]) -> str:
    name = f"_{len(names)}"
    names[name] = value
    return name


_SIMPLE: Final[dict[Any, str]] = {
    str: "(type(v := $) is str and (not v or v.isascii() or _text(v)))",
    int: f"(type($) is int and -{_WORD} <= $ < {_WORD})",
    float: "(type(v := $) is float and v - v == 0)",  # neither infinite nor no number
    bool: "(type($) is bool)",
    bytes: "(type($) is bytes)",
    types.NoneType: "($ is None)",
    Any: "_json($)",
}


def _text(value: Any) -> bool:
    """Whether it is a text that UTF-8 can hold."""
    if type(value) is not str:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _json(value: Any) -> bool:
    """Whether it comes back from JSON as it was. A tuple does not, and is looked at slowly."""
    try:
        return bool(_decode(_encode(value)) == value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return False


class _Fault(NamedTuple):
    """A value that cannot be read back: where it is, and what could be there."""

    place: str
    value: Any
    expected: str


def _look(event: Event) -> None:
    """Find the fault that the quick check suspects, if there is one."""
    for fault in _faults_of_struct(event, type(event), ""):
        _refuse(type(event).__name__, fault)


def _refuse(what: str, fault: _Fault) -> NoReturn:
    try:
        shown = repr(fault.value)
    except (RecursionError, ValueError) as error:  # a number with too many digits
        shown = f"({type(error).__name__})"
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
    raise TypeError(
        f"a journal could not read this {what} back\n"
        f"  expected: {fault.place}: {fault.expected}\n"
        f"  seen: {shown} ({type(fault.value).__name__})\n"
        "  next step: append what JSON can hold, such as its text"
    )


def _faults_of_struct(value: Any, kind: type, place: str) -> Iterator[_Fault]:
    hints = typing.get_type_hints(kind)
    for name in kind.__struct_fields__:  # type: ignore[attr-defined]
        yield from _faults(getattr(value, name), hints[name], f"{place}.{name}" if place else name)


def _faults(value: Any, hint: Any, place: str) -> Iterator[_Fault]:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        yield from _faults_of_json(value, place, 0)
    elif origin in (typing.Union, types.UnionType):
        found = [list(_faults(value, part, place)) for part in parts]
        if all(found):
            deepest = max((faults[0] for faults in found), key=lambda fault: len(fault.place))
            yield deepest if deepest.place != place else _Fault(place, value, _name(hint))
    elif (
        origin in (tuple, list)
        and isinstance(value, list | tuple)
        and (origin is list or parts[-1:] == (Ellipsis,))
    ):
        for number, item in enumerate(value):
            yield from _faults(item, parts[0], f"{place}[{number}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _faults(key, parts[0], f"the key {str(key)[:_SHOWN]!r} of {place}")
            yield from _faults(item, parts[1], f"{place}[{str(key)[:_SHOWN]!r}]")
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct) and type(value) is hint:
        yield from _faults_of_struct(value, hint, place)
    elif not _comes_back(value, hint):
        yield _Fault(place, value, _name(hint))


def _faults_of_json(value: Any, place: str, depth: int) -> Iterator[_Fault]:
    kind = type(value)
    if depth >= DEEPEST:
        yield _Fault(place[:_SHOWN], value, _NOT_TOO_DEEP)
    elif kind is dict:
        for key, item in value.items():
            if not _text(key):
                yield _Fault(f"a key of {place}", key, "str that UTF-8 can hold")
            yield from _faults_of_json(item, f"{place}[{key!r:.80}]", depth + 1)
    elif kind in (list, tuple):
        for number, item in enumerate(value):
            yield from _faults_of_json(item, f"{place}[{number}]", depth + 1)
    elif kind not in _LEAVES or not (_comes_back(value, Any) if kind is not float else value - value == 0):
        yield _Fault(
            place, value, "what JSON can hold: text in UTF-8, finite numbers, bool, None, lists, dicts"
        )


_LEAVES: Final = frozenset({str, int, float, bool, types.NoneType})


def _comes_back(value: Any, hint: Any) -> bool:
    if type(value) is int and not -_LARGEST < value < _LARGEST:
        return False
    try:
        return bool(msgspec.json.decode(_encode(value), type=hint) == value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return False


def _name(hint: Any) -> str:
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


_rest_of_request: Final = _made(ModelRequest, without=("messages", "tools"))
_check_message: Final = _struct_check(Message)
_check_tool: Final = _struct_check(ToolDefinition)
