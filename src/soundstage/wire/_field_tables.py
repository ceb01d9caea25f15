"""The tables of request fields: what is written in the files of `fields/`, and how it is read.

A section is one kind of object, named as in the official SDK. Its rows:

    [Tool]
    types = "- custom"
    served = "name input_schema"
    tools = "strict +soon ..."
    cache = "cache_control>CacheControl"
    refused = "parallel=false"

`served`: the codec looks at the field. `refused`: what it asks for is not there; values behind `=` ask for nothing.
Every other row has fields without effect on a script, under the reason that `[why]` gives in words. `types` are the
values of `type` that such an object has, `-` if it may have none. The objects under a field have the kind behind `>`,
which is one kind, or a choice of several by their `type` (`[choices]`). Fields without a kind hold what is free: texts,
numbers, JSON schemas, maps; all that is in a refused field is refused with it. `+` says that the official SDK has no
such field, `...` that servers of this format have other fields too. Objects whose `type` the table does not have are
carried as they are. `[instead]` says for a refused field (`Kind.field`) what to use.

A test walks the request types of the official SDKs beside the tables, so that no field is missing or left over.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

SERVED: Final = "served"
REFUSED: Final = "refused"
_MORE: Final = "..."
NO_TYPE: Final = "-"
_BEYOND: Final = "+"


class RequestFields(msgspec.Struct, frozen=True, eq=False):
    """The fields of an object in a request, and what becomes of them.

    Attributes:
        served: names that the codec looks at.
        inert: names that cannot change a scripted answer.
        refused: name -> values that ask for nothing; null and what is empty never do.
        more: whether others are carried.
        beyond: names and types that the official SDK does not have.
        inner: name -> the fields of the objects under it, or of the objects in the list there.
        kinds: `type` -> the fields of objects of that type; without a type, those under `-`.
        quiet: names that need no look.
        instead: refused name -> what to use.
    """

    served: frozenset[str] = frozenset()
    inert: frozenset[str] = frozenset()
    refused: Mapping[str, tuple[Any, ...]] = {}
    more: bool = False
    beyond: frozenset[str] = frozenset()
    inner: Mapping[str, RequestFields] = {}
    kinds: Mapping[str, RequestFields] = {}
    quiet: frozenset[str] = frozenset()
    instead: Mapping[str, str] = {}

    @property
    def known(self) -> frozenset[str]:
        """All names."""
        return self.served | self.inert | frozenset(self.refused)

    def of(self, given: Mapping[str, Any]) -> RequestFields | None:
        """The fields of this object; `None` if its type is unknown."""
        if not self.kinds:
            return self
        kind = given.get("type", NO_TYPE)
        return self.kinds.get(kind) if isinstance(kind, str) else None


class FieldMark(NamedTuple):
    """One field of a kind of object, as its table has it.

    Attributes:
        name: of the field; `...` stands for all others.
        mark: `served`, `refused`, or the key of the reason why it has no effect.
        kind: of the objects there; empty for what is free.
        asks_nothing: the values of a refused field that are accepted.
        beyond: whether the official SDK does not have it.
    """

    name: str
    mark: str
    kind: str = ""
    asks_nothing: tuple[Any, ...] = ()
    beyond: bool = False


class ObjectKind(NamedTuple):
    """A kind of object: its values of `type`, and its fields."""

    types: tuple[str, ...]
    marks: tuple[FieldMark, ...]
    beyond: frozenset[str] = frozenset()  # types that the official SDK does not have


class FieldTable:
    """A table, as its file has it.

    Args:
        name: of the file in `fields/`.
        either: whether names may be in snake case too.
    """

    def __init__(self, name: str, *, either: bool = False) -> None:
        file = resources.files("soundstage.wire") / "fields" / f"{name}.toml"
        written = tomllib.loads(file.read_text("utf-8"))
        self.why: Mapping[str, str] = written.pop("why", {})
        self.instead: Mapping[str, str] = written.pop("instead", {})
        self.choices = {name: tuple(kinds.split()) for name, kinds in written.pop("choices", {}).items()}
        self.kinds = {name: _kind(rows) for name, rows in written.items()}
        self._either = either
        self._made: dict[tuple[str, ...], RequestFields] = {}

    def under(self, kind: str) -> tuple[str, ...]:
        """The kinds of objects that `kind` stands for: those of a choice, or itself."""
        return self.choices.get(kind, (kind,))

    def fields(self, names: Iterable[str]) -> RequestFields:
        """The fields of objects that are of one of these kinds; objects may hold objects of their own kind."""
        names = tuple(sorted({kind for name in names for kind in self.under(name)}))
        if names not in self._made:
            typed = {kind for name in names for kind in self.kinds[name].types}
            self._made[names] = self._by_type(names, typed) if typed else self._merged(names)
        return self._made[names]

    def _by_type(self, names: tuple[str, ...], typed: set[str]) -> RequestFields:
        kinds: dict[str, RequestFields] = {}
        beyond = frozenset[str]().union(*(self.kinds[name].beyond for name in names))
        self._made[names] = made = RequestFields(kinds=kinds, beyond=beyond)
        if len(names) == 1 or any(not self.kinds[name].types for name in names):
            typed.add(NO_TYPE)
        for kind in typed:
            fitting = [name for name in names if kind in self.kinds[name].types]
            others = [name for name in names if kind == NO_TYPE and not self.kinds[name].types]
            kinds[kind] = self._merged(tuple(fitting + others) or names)
        return made

    def _merged(self, names: tuple[str, ...]) -> RequestFields:
        """The fields of all of these together."""
        key = ("merged", *names)
        if key in self._made:
            return self._made[key]
        inner: dict[str, RequestFields] = {}
        marks = [mark for name in names for mark in self.kinds[name].marks]
        served = self._names(mark for mark in marks if mark.mark == SERVED)
        inert = self._names(mark for mark in marks if mark.mark not in (SERVED, REFUSED))
        refused = {
            name: mark.asks_nothing
            for mark in marks
            if mark.mark == REFUSED
            for name in self._spellings(mark.name)
        }
        self._made[key] = made = RequestFields(
            served=served,
            inert=inert - served - {_MORE},
            refused=refused,
            more=_MORE in inert,
            beyond=self._names(mark for mark in marks if mark.beyond),
            inner=inner,
            quiet=(served | inert) - refused.keys(),
            instead={
                mark.name: self.instead[f"{name}.{mark.name}"]
                for name in names
                for mark in self.kinds[name].marks
                if f"{name}.{mark.name}" in self.instead
            },
        )
        below: dict[str, tuple[str, ...]] = {}
        for mark in marks:
            if mark.kind:
                below[mark.name] = (*below.get(mark.name, ()), mark.kind)
        for name, kinds in below.items():
            for spelled in self._spellings(name):
                inner[spelled] = self.fields(kinds)
        return made

    def _names(self, marks: Iterable[FieldMark]) -> frozenset[str]:
        return frozenset(spelled for mark in marks for spelled in self._spellings(mark.name))

    def _spellings(self, name: str) -> tuple[str, ...]:
        """A name as the provider takes it: in camel case, and perhaps in snake case."""
        return (
            (name, re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)) if self._either else (name,)
        )


def _kind(rows: Mapping[str, str]) -> ObjectKind:
    types = rows.get("types", "").split()
    marks = [mark for row, text in rows.items() if row != "types" for mark in _marks(row, text)]
    beyond = frozenset(one[1:] for one in types if one.startswith(_BEYOND))
    return ObjectKind(tuple(one.removeprefix(_BEYOND) for one in types), tuple(marks), beyond)


def _marks(row: str, text: str) -> Iterator[FieldMark]:
    found: dict[str, FieldMark] = {}
    for token in text.split():
        field, _, value = token.partition("=")
        field, _, kind = field.partition(">")
        name = field.removeprefix(_BEYOND)
        earlier = found[name].asks_nothing if name in found else ()
        asks_nothing = (*earlier, json.loads(value)) if value else earlier
        found[name] = FieldMark(name, row, kind, asks_nothing, field != name)
    yield from found.values()
