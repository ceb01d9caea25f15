"""Data against the record types that it is meant for: every problem, with its line, in plain words. Pure.

`msgspec.convert` stops at the first mistake and knows no lines. `check` walks the data beside the type
description, so that a person sees all that is wrong at once, and converts only what is right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from soundstage.errors import did_you_mean
from soundstage.scripts._source import SourceNode, SourceReport
from soundstage.scripts._words import in_words

T = TypeVar("T", bound=msgspec.Struct)


def convert_source(
    cls: type[T],
    node: SourceNode,
    report: SourceReport,
    *,
    key: str = "",
    refused: Mapping[str, str] | None = None,
) -> T | None:
    """The record that `node` describes, or nothing; `report` then knows why.

    Args:
        cls: a struct type whose fields are plain values and other structs.
        node: the data.
        report: gets every problem.
        key: where in the source `node` is, e.g. `rules[2].reply`.
        refused: words for keys that are known but not supported, by the name of the key.
    """
    before = len(report.problems)
    _Checker(report, refused or {}).struct(inspect.type_info(cls), node, key)  # type: ignore[arg-type]
    return msgspec.convert(node.value, cls) if len(report.problems) == before else None


class _Checker:
    def __init__(self, report: SourceReport, refused: Mapping[str, str]) -> None:
        self._report = report
        self._refused = refused

    def value(self, info: inspect.Type, node: SourceNode, key: str) -> None:
        """Any type: what is made of structs is walked through, the rest is looked at as a whole."""
        struct = _member(info, inspect.StructType)
        if isinstance(struct, inspect.StructType) and (node.fields or isinstance(node.value, dict)):
            self.struct(struct, node, key)
            return
        sequence = _member(info, inspect.VarTupleType, inspect.ListType)
        if sequence is not None and isinstance(node.value, list) and _holds_structs(sequence):
            for number, item in enumerate(node.items):
                self.value(sequence.item_type, item, f"{key}[{number}]")  # type: ignore[attr-defined]
            return
        if not fits(info, node.value):
            limit = ", below 2**63" if _too_large(node.value) else ""
            self._report.add(
                node.line, key, f"expected {describe(info)}{limit}, got {in_words(node.value)[:80]}"
            )

    def struct(self, info: inspect.StructType, node: SourceNode, key: str) -> None:
        """A mapping with the fields of one record."""
        if not isinstance(node.value, dict):
            self._report.add(node.line, key, f"expected a mapping, got {in_words(node.value)}")
            return
        before = len(self._report.problems)
        fields = {field.encode_name: field for field in info.fields}
        for name, (line, part) in node.fields.items():
            field = fields.get(name)
            if field is None:
                self._report.add(line, _join(key, name), self._unknown(name, list(fields)))
            else:
                self.value(field.type, part, _join(key, name))
        for name, field in fields.items():
            if field.required and name not in node.fields:
                self._report.add(node.line, key, f"`{name}` is missing")
        if len(self._report.problems) == before:
            self._whole(info, node, key)

    def _unknown(self, name: str, known: list[str]) -> str:
        if name in self._refused:
            return self._refused[name]
        hint = did_you_mean(name, known)
        return f"unknown key; {hint}" if hint else f"unknown key; known are {', '.join(known)}"

    def _whole(self, info: inspect.StructType, node: SourceNode, key: str) -> None:
        """The fields are right each by itself; what the record says about them together."""
        try:
            msgspec.convert(node.value, info.cls)
        except msgspec.ValidationError as error:
            message = str(error)
            named = [name for name in node.fields if re.search(rf"\b{re.escape(name)}\b", message)]
            last = named[-1] if named else ""
            line = node.fields[last].line if last else node.line
            self._report.add(line, _join(key, last) if last else key, message)


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _member(info: inspect.Type, *kinds: type[inspect.Type]) -> inspect.Type | None:
    """`info` itself or the member of a union that is of one of these kinds."""
    members = info.types if isinstance(info, inspect.UnionType) else (info,)
    return next((member for member in members if isinstance(member, kinds)), None)


def _holds_structs(info: Any) -> bool:
    return _member(info.item_type, inspect.StructType) is not None


def fits(info: inspect.Type, value: Any) -> bool:
    """Whether plain data is of a type. Booleans are no numbers, and numbers are finite."""
    if isinstance(info, inspect.UnionType):
        return any(fits(member, value) for member in info.types)
    test = _FITS.get(type(info))
    return test is not None and test(info, value)


def _in_range(info: Any, value: float) -> bool:
    return (
        not _too_large(value)
        and math.isfinite(value)
        and (info.ge is None or value >= info.ge)
        and (info.gt is None or value > info.gt)
        and (info.le is None or value <= info.le)
        and (info.lt is None or value < info.lt)
    )


def _too_large(value: Any) -> bool:
    """Whether a number has more digits than other readers of JSON take."""
    return isinstance(value, int) and abs(value) >= 2**63


def _long_enough(info: Any, value: Any) -> bool:
    return info.min_length is None or len(value) >= info.min_length


def _elements(info: Any, value: Any) -> bool:
    return (
        isinstance(value, list)
        and _long_enough(info, value)
        and all(fits(info.item_type, it) for it in value)
    )


def _entries(info: Any, value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _long_enough(info, value)
        and all(fits(info.value_type, entry) for entry in value.values())
    )


def describe(info: inspect.Type) -> str:
    """A type in words."""
    if isinstance(info, inspect.UnionType):
        words = [describe(member) for member in info.types if not isinstance(member, inspect.NoneType)]
        return " or ".join(dict.fromkeys(words))
    words_of = _WORDS.get(type(info))
    return words_of(info) if words_of is not None else "something else"


def _range_words(info: Any) -> str:
    bounds = [
        text.format(value)
        for text, value in (
            ("at least {}", info.ge),
            ("more than {}", info.gt),
            ("at most {}", info.le),
            ("less than {}", info.lt),
        )
        if value is not None
    ]
    return f" of {' and '.join(bounds)}" if bounds else ""


def _list_words(info: Any) -> str:
    item = info.item_type
    if isinstance(item, inspect.AnyType) or _member(item, inspect.StructType) is not None:
        return "a list"
    return f"a list ({describe(item)} each)"


_FITS: Final[dict[type, Callable[[Any, Any], bool]]] = {
    inspect.AnyType: lambda *_: True,
    inspect.NoneType: lambda *_: False,  # a key without a value is a slip; what is absent is left out
    inspect.BoolType: lambda _, value: isinstance(value, bool),
    inspect.IntType: lambda info, value: type(value) is int and _in_range(info, value),
    inspect.FloatType: lambda info, value: type(value) in (int, float) and _in_range(info, value),
    inspect.StrType: lambda info, value: isinstance(value, str) and _long_enough(info, value),
    inspect.LiteralType: lambda info, value: value in info.values and not isinstance(value, bool),
    inspect.ListType: _elements,
    inspect.VarTupleType: _elements,
    inspect.DictType: _entries,
    inspect.StructType: lambda _, value: isinstance(value, dict),
}
_WORDS: Final[dict[type, Callable[[Any], str]]] = {
    inspect.AnyType: lambda _: "anything",
    inspect.BoolType: lambda _: "true or false",
    inspect.IntType: lambda info: "a whole number" + _range_words(info),
    inspect.FloatType: lambda info: "a number" + _range_words(info),
    inspect.StrType: lambda info: "a text that is not empty" if info.min_length else "text",
    inspect.LiteralType: lambda info: "one of " + ", ".join(map(str, info.values)),
    inspect.ListType: _list_words,
    inspect.VarTupleType: _list_words,
    inspect.DictType: lambda _: "a mapping",
    inspect.StructType: lambda _: "a mapping",
}
