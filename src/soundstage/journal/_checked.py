"""Whether a journal could read an event back. Asked at each append, so it has to be quick.

For each class a function is made that says yes to what is certainly fine: every field has exactly the type that it
is declared with, texts can be written in UTF-8, numbers are finite, and what is declared as anything is JSON. The
function is one expression over the fields, because a call for each of them would cost as much as the append itself,
and a field that holds the very object of its default is fine at once. What it does not say yes to is looked at slowly
(`_faults`): either it can be read back all the same, such as a list where a tuple is declared, or the fault is named
with its place.
"""

from __future__ import annotations

import threading
import types
import typing
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from soundstage.journal._events import Event, UnknownEvent
from soundstage.journal._faults import refuse_envelope, text_fits

Check = Callable[[Any], bool]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_SMALL: Final = 2**30  # what Python compares most quickly
_WORD: Final = 2**63

_made_before: dict[type, Check] = {}
_making: dict[type, Check] = {}
_making_lock: Final = threading.RLock()


def check_envelope(source: str, cause: int | None, at: float | None) -> None:
    """Refuse an envelope that could not be read back.

    Raises:
        TypeError: with the argument and its value.
    """
    refuse_envelope(("source", source, str), ("cause", cause, int | None), ("at", at, float | None))


def check_of(kind: type) -> Check:
    """The check of an event class, made when its first event comes.

    Raises:
        TypeError: if it is none, or one whose events could not be read back.
    """
    if not issubclass(kind, Event):
        raise TypeError(f"expected an Event, got {kind.__name__}: subclass soundstage.journal.Event")
    if kind is UnknownEvent:
        return lambda _: True  # its line has been read before
    try:
        msgspec.json.Decoder(kind)
    except (TypeError, NameError) as error:
        raise TypeError(
            f"a journal could not read back events of the class {kind.__name__}\n"
            f"  seen: {error}\n"
            "  next step: declare its fields with types that JSON has: str, int, float, bool, lists, dicts, structs"
        ) from None
    return struct_check(kind)


def struct_check(kind: type) -> Check:
    """The check of a struct, for events and what they hold."""
    with _making_lock:
        made = _made_before.get(kind) or _making.get(kind)
        if made is None:
            _making[kind] = lambda value: _made_before[kind](value)  # noqa: PLW0108  (made later) for a struct that holds its like
            made = _made_before[kind] = made_check(kind)
            del _making[kind]
        return made


def made_check(kind: type, without: tuple[str, ...] = ()) -> Check:
    """A check of the fields of a struct, but for those in `without`."""
    names: dict[str, Any] = {"_text": _text, "_json": _json}
    hints = typing.get_type_hints(kind)
    parts = []
    for field in msgspec.structs.fields(kind):
        if field.name not in without:
            part = _expression(hints[field.name], f"e.{field.name}", names)
            if type(field.default) in _SHARED:
                part = f"(e.{field.name} is {_named(field.default, names)} or {part})"
            parts.append(part)
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
        return _expression_of_union(parts, value, names)
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
        return f"(type({value}) is {_named(hint, names)} and {_named(struct_check(hint), names)}({value}))"
    return "False"


def _expression_of_union(parts: tuple[Any, ...], value: str, names: dict[str, Any]) -> str:
    """Of structs, the check is found by the type; anything else is tried in order."""
    if not all(isinstance(part, type) and issubclass(part, msgspec.Struct) for part in parts):
        return f"({' or '.join(_expression(part, value, names) for part in parts)})"
    checks = _named(_ByType({part: struct_check(part) for part in parts}), names)
    return f"{checks}[type(v := {value})](v)"


class _ByType(dict[type, Check]):
    """The checks of the members of a union."""

    def __missing__(self, kind: type) -> Check:
        return _never


def _never(_: Any) -> bool:
    return False


def _function(hint: Any, names: dict[str, Any]) -> str:
    inner: dict[str, Any] = {"_text": _text, "_json": _json}
    expression = _expression(hint, "e", inner)
    return _named(eval(f"lambda e: {expression}", inner), names)  # noqa: S307  (as above)


def _named(value: Any, names: dict[str, Any]) -> str:
    name = f"_{len(names)}"
    names[name] = value
    return name


_SIMPLE: Final[dict[Any, str]] = {
    str: "(type(v := $) is str and (v.isascii() or _text(v)))",
    int: f"(type(v := $) is int and (-{_SMALL} < v < {_SMALL} or -{_WORD} <= v < {_WORD}))",
    float: "(type(v := $) is float and v - v == 0)",  # neither infinite nor no number
    bool: "(type($) is bool)",
    bytes: "(type($) is bytes)",
    types.NoneType: "($ is None)",
    Any: "_json($)",
}
_SHARED: Final = frozenset(
    {str, int, bool, types.NoneType}
)  # defaults that every struct holds as the same object


def _text(value: Any) -> bool:
    """Whether it is a text that UTF-8 can hold."""
    return type(value) is str and text_fits(value)


def _json(value: Any) -> bool:
    """Whether it comes back from JSON as it was. A tuple does not, and is looked at slowly."""
    try:
        return bool(_decode(_encode(value)) == value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return False
