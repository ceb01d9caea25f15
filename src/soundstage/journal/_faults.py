"""Finds what a journal could not read back, slowly, and names it with its place."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, NoReturn

import msgspec

DEEPEST: Final = 200  # lists and objects in each other
_LARGEST: Final = 2**1024  # whole numbers beyond have no exact form that readers agree on
_SHOWN: Final = 80
_NOT_TOO_DEEP: Final = "what JSON can hold: no cycle, not hundreds of lists and objects in each other"

_encode: Final = msgspec.json.Encoder().encode


class _Fault(NamedTuple):
    """A value that cannot be read back: where it is, and what could be there."""

    place: str
    value: Any
    expected: str


def refuse_event(event: Any) -> None:
    """Find the fault that the quick check suspects, if there is one.

    Raises:
        TypeError: with the field and its value.
    """
    name = type(event).__name__
    try:
        for fault in _faults_of_struct(event, type(event), ""):
            _refuse(name, fault)
    except RecursionError:
        _refuse(name, _Fault("a field", "…", _NOT_TOO_DEEP))


def refuse_envelope(*given: tuple[str, Any, Any]) -> None:
    """Find what is wrong with parts of an envelope, each with its name and type.

    Raises:
        TypeError: with the argument and its value.
    """
    for name, value, hint in given:
        for fault in _faults(value, hint, name):
            _refuse("envelope", fault)


def text_fits(text: str) -> bool:
    """Whether UTF-8 can hold it: no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
            if type(key) is not str or not text_fits(key):
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
