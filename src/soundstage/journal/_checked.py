"""Whether a journal could read an event back. Asked at each append, so it has to be quick.

For each class a function is made that says yes to what is certainly fine: every field has exactly the type that it
is declared with, texts can be written in UTF-8, numbers are finite, and what is declared as anything is JSON. The
function is one expression over the fields and those of the structs in them, because a call for each would cost as
much as the append itself, and a field that holds the very object of its default is fine at once. What it does not say
yes to is looked at slowly (`_faults`): either it can be read back all the same, such as a list where a tuple is
declared, or the fault is named with its place.
"""

from __future__ import annotations

import threading
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Literal

import msgspec

from soundstage.journal._events import Event, UnknownEvent
from soundstage.journal._faults import refuse_envelope, text_fits

Check = Callable[[Any], bool]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_decode_text: Final = msgspec.json.Decoder(str).decode
_SMALL: Final = 2**30  # what Python compares most quickly
_EXACT: Final = 2**53  # whole numbers below it are floats too
_WORD: Final = 2**63

_made_before: dict[type, Check] = {}
_making: dict[type, Check] = {}
_making_lock: Final = threading.RLock()


def check_envelope(source: str, cause: int | None, at: float | None) -> None:
    """Refuse an envelope that could not be read back.

    Raises:
        TypeError: with the argument and its value.
    """
    fits = (
        type(source) is str
        and text_fits(source)
        and (cause is None or (type(cause) is int and -_WORD <= cause < _WORD))
        and (at is None or (type(at) is float and at - at == 0))
    )
    if not fits:
        refuse_envelope(("source", source, str), ("cause", cause, int | None), ("at", at, float | None))


@cache
def check_of(kind: type) -> Check:
    """The check of an event class, made when its first event comes; one for all journals.

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


def made_check(hint: Any, without: frozenset[tuple[type, str]] = frozenset()) -> Check:
    """A check of values of one type, but for the fields of structs in `without`."""
    return _Making(without).check(hint)


class _Making:
    """Writes one check: a function of one expression, with what its text names."""

    def __init__(self, without: frozenset[tuple[type, str]]) -> None:
        self._without = without
        self._names: dict[str, Any] = {
            "_text": _text,
            "_encode": _encode,
            "_decode": _decode,
            "_Error": msgspec.MsgspecError,
        }
        self._inside: list[type] = []  # structs whose fields are being written
        self._locals = 0

    def check(self, hint: Any) -> Check:
        """The function for values of the type `hint`. What it stumbles over is no yes."""
        is_struct = isinstance(hint, type) and issubclass(hint, msgspec.Struct)
        expression = self._fields(hint, "e") if is_struct else self._expression(hint, "e")
        exec(_FUNCTION.format(expression), self._names)  # noqa: S102  (our text, field names)
        made: Check = self._names["check"]
        return made

    def _fields(self, kind: type[msgspec.Struct], value: str, default: Any = None) -> str:
        """Of a frozen struct that is the default itself, only what could be changed in it is looked at."""
        hints = typing.get_type_hints(kind)
        self._inside.append(kind)
        fixed, others = [], []
        for field in msgspec.structs.fields(kind):
            if (kind, field.name) in self._without:
                continue
            part = self._expression(hints[field.name], f"{value}.{field.name}", field.default)
            if type(field.default) in _SHARED:
                fixed.append(f"({value}.{field.name} is {self._named(field.default)} or {part})")
            else:
                others.append(part)
        self._inside.pop()
        if fixed and isinstance(default, kind) and kind.__struct_config__.frozen:
            fixed = [f"({value} is {self._named(default)} or {' and '.join(fixed)})"]
        return " and ".join(fixed + others) or "True"

    def _expression(self, hint: Any, value: str, default: Any = None) -> str:
        """An expression that is true if `value` certainly has the type `hint`."""
        simple = _SIMPLE.get(hint) if isinstance(hint, type) or hint is Any else None
        if simple is not None:
            return simple.replace("$", value)
        origin, parts = typing.get_origin(hint), typing.get_args(hint)
        if origin is Literal:
            return f"(type(v := {value}) is str and v in {self._named(frozenset(parts))})"
        if origin in (typing.Union, types.UnionType):
            return self._union(parts, value)
        if origin in (tuple, list, dict):
            return self._container(origin, parts, value)
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            local = self._local()
            return (
                f"(type({local} := {value}) is {self._named(hint)} and {self._struct(hint, local, default)})"
            )
        return "False"

    def _struct(self, kind: type[msgspec.Struct], value: str, default: Any = None) -> str:
        """Of a struct within its like, the fields are looked at by a function of their own."""
        if kind in self._inside:
            return f"{self._named(struct_check(kind))}({value})"
        return self._fields(kind, value, default)

    def _union(self, parts: tuple[Any, ...], value: str) -> str:
        """Of structs, the type of the value says which it has to be; anything else is tried in order."""
        if not all(isinstance(part, type) and issubclass(part, msgspec.Struct) for part in parts):
            quickest = sorted(parts, key=lambda part: part is not types.NoneType)
            return f"({' or '.join(self._expression(part, value) for part in quickest)})"
        local, kind = self._local(), self._local()
        tests = [f"{kind} is {self._named(part)} and {self._struct(part, local)}" for part in parts]
        tests[0] = tests[0].replace(kind, f"({kind} := type({local} := {value}))", 1)
        return f"({' or '.join(tests)})"

    def _container(self, kind: type, parts: tuple[Any, ...], value: str) -> str:
        local = self._local()
        begin = f"type({local} := {value}) is {kind.__name__}"
        if kind is tuple and parts[-1:] != (Ellipsis,):
            items = [self._expression(part, f"{local}[{place}]") for place, part in enumerate(parts)]
            return f"({begin} and len({local}) == {len(parts)} and {' and '.join(items) or True})"
        if kind is not dict:
            return f"({begin} and (not {local} or {self._each(parts[0], local)}))"
        if parts[0] is not str:
            return "False"
        if parts[1] is Any:
            return f"({begin} and (not {local} or _decode(_encode({local})) == {local}))"
        keys, values = self._each(str, local), self._each(parts[1], f"{local}.values()")
        return f"({begin} and (not {local} or {keys} and {values}))"

    def _each(self, hint: Any, values: str) -> str:
        """Whether all values are of a type. Joining is the quickest way to find that all are texts."""
        if hint is str:
            return f"(''.join({values}).isascii() or all(map(_text, {values})))"
        return f"all(map({self._named(made_check(hint))}, {values}))"

    def _local(self) -> str:
        self._locals += 1
        return f"v{self._locals}"

    def _named(self, value: Any) -> str:
        name = f"_{len(self._names)}"
        self._names[name] = value
        return name


_FUNCTION: Final = """
def check(e):
    try:
        return {}
    except (TypeError, ValueError, OverflowError, RecursionError, _Error):
        return False
"""
_SIMPLE: Final[dict[Any, str]] = {
    str: "(type(v := $) is str and v.isascii() or _text(v))",
    int: f"(type(v := $) is int and (-{_SMALL} < v < {_SMALL} or -{_WORD} <= v < {_WORD}))",
    float: (  # neither infinite nor no number
        f"(type(v := $) is float and v - v == 0 or type(v) is int and -{_EXACT} < v < {_EXACT})"
    ),
    bool: "(type($) is bool)",
    bytes: "(type($) is bytes)",
    types.NoneType: "($ is None)",
    Any: "_decode(_encode(v := $)) == v",  # a tuple is none, and is looked at slowly
}
_SHARED: Final = frozenset(
    {str, int, bool, types.NoneType}
)  # defaults that every struct holds as the same object


def _text(value: Any) -> bool:
    """Whether it is a text that UTF-8 can hold; one of a class of its own, such as `Status.RUNNING`, is asked."""
    if type(value) is str:
        return text_fits(value)
    return isinstance(value, str) and bool(_decode_text(_encode(value)) == value)
