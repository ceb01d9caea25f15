"""Request fields at all depths: served, without effect, or refused.

A scripted answer does not depend on how a model would be sampled, billed or stored, so such fields are accepted and
have no effect. A field that asks for something in the answer is served by the codec, or refused by name, unless its
value asks for nothing. What a script says rules over what is asked of a model: the schema of an answer, how much it
should think, which tool it should call, what it may do with a tool that the provider runs.

Each format has a table, in `_fields_chat` and so on. A line of it is one kind of object, named as in the official SDK:

    Tool[-,custom]: name | strict cache_control>CacheControl | parallel=false

The columns: served, without effect, refused, with values that ask for nothing. In brackets are the values of `type`
that such an object has, `-` if it may have none. The objects under a field have the kind behind `>`, which is one
kind, or a choice of several by their `type`: `Block = TextBlock ImageBlock`. Fields without a kind hold what is free:
texts, numbers, JSON schemas, maps. `...` says that servers of this format have other fields too. Objects whose `type`
the table does not have are carried as they are.

How it works. A table is read at the first request. A request is first looked at without words (`_fits`), which is a
comparison of sets for each object; only one that does not fit is walked again, to name the place.

A test walks the request types of the official SDKs beside the tables, so that a new field is noticed at any depth.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from soundstage.errors import RequestRejected
from soundstage.models import context_edits
from soundstage.wire import _fields_anthropic, _fields_chat, _fields_gemini, _fields_responses

_LINE: Final = re.compile(r"(\w+)(?:\[([^\]]*)\])?\s*([:=])(.*)", re.DOTALL)
_MORE: Final = "..."
_NO_TYPE: Final = "-"


class RequestFields(msgspec.Struct, frozen=True, eq=False):
    """The fields of an object in a request, and what becomes of them.

    Attributes:
        served: names that the codec looks at.
        inert: names that cannot change a scripted answer.
        refused: name -> values that ask for nothing; null and what is empty never do.
        more: whether others are carried.
        inner: name -> the fields of the objects under it, or of the objects in the list there.
        kinds: `type` -> the fields of objects of that type; without a type, those under `-`.
        quiet: names that need no look.
    """

    served: frozenset[str] = frozenset()
    inert: frozenset[str] = frozenset()
    refused: Mapping[str, tuple[Any, ...]] = {}
    more: bool = False
    inner: Mapping[str, RequestFields] = {}
    kinds: Mapping[str, RequestFields] = {}
    quiet: frozenset[str] = frozenset()

    @property
    def known(self) -> frozenset[str]:
        """All names."""
        return self.served | self.inert | frozenset(self.refused)

    def of(self, given: Mapping[str, Any]) -> RequestFields | None:
        """The fields of this object; `None` if its type is unknown."""
        if not self.kinds:
            return self
        kind = given.get("type", _NO_TYPE)
        return self.kinds.get(kind) if isinstance(kind, str) else None


class _Line(NamedTuple):
    """A line of a table: a kind of object, or the choice of several in `kinds`."""

    types: tuple[str, ...] = ()
    columns: tuple[dict[str, str], ...] = ()  # field -> kind of the objects there, or ""
    asks_nothing: tuple[tuple[str, Any], ...] = ()
    kinds: tuple[str, ...] = ()


class RequestTable:
    """The fields of a format.

    Args:
        text: the table; the module shows how it is written.
        unknown: what the provider says about a name that it does not have, with places for it (`name`), for what holds
            it (`holder`), and for both (`path`).
        item: how the provider names an item of a list, with a place for its number.
        shows_types: whether the provider's paths name the types of objects.
        either: whether names may be in snake case too.
    """

    def __init__(
        self,
        text: str,
        unknown: str,
        *,
        item: str = "[{}]",
        shows_types: bool = False,
        either: bool = False,
    ) -> None:
        self._text = text
        self._unknown = unknown
        self._item = item
        self._shows_types = shows_types
        self._either = either

    @functools.cached_property
    def root(self) -> RequestFields:
        """The fields of a request."""
        return _Reader(self._text, either=self._either).fields(("Request",))

    def check(self, given: dict[str, Any]) -> None:
        """Refuse what is not served, wherever it is in a request.

        Raises:
            RequestRejected: with the path of the field.
        """
        try:
            fits = _fits(self.root, (given,))
        except TypeError:
            fits = False
        if not fits:
            self._look(self.root, given, "")

    def _look(self, fields: RequestFields, given: Any, path: str) -> None:
        if isinstance(given, list):
            for number, one in enumerate(given):
                self._look(fields, one, path + self._item.format(number))
            return
        found = fields.of(given) if isinstance(given, dict) else None
        if found is None:
            return
        if self._shows_types and fields.kinds:
            path += f".{given.get('type') or 'custom'}"
        for name, value in given.items():
            where = f"{path}.{name}" if path else name
            if name in found.refused:
                _refuse_request(found.refused[name], value, where)
            elif name not in found.quiet and not found.more:
                message = self._unknown.format(name=name, holder=f" at '{path}'" if path else "", path=where)
                raise RequestRejected(message, param=where, code="unknown_parameter")
            if name in found.inner:
                self._look(found.inner[name], value, where)


def _fits(fields: RequestFields, values: Iterable[Any]) -> bool:
    """Whether nothing in these objects needs a closer look. Every object of every request comes by here.

    One call looks at a whole list, and fields are those of a struct, because both are a good part of what the look at
    a small object costs.

    Raises:
        TypeError: for a `type` that is a list or an object.
    """
    found: RequestFields | None = fields
    kinds = fields.kinds
    for given in values:
        if type(given) is not dict:
            continue
        if kinds:
            found = kinds.get(given.get("type", _NO_TYPE))
        if found is None:
            continue
        if not found.quiet.issuperset(given) and not (found.more and found.refused.keys().isdisjoint(given)):
            return False
        inner = found.inner
        if not inner:
            continue
        for name in given:  # most names have nothing in them, and need no value
            if name in inner:
                value = given[name]
                kind = type(value)
                if kind is list:
                    if not _fits(inner[name], value):
                        return False
                elif kind is dict and not _fits(inner[name], (value,)):
                    return False
    return True


def _refuse_request(asks_nothing: Iterable[Any], value: Any, where: str) -> None:
    if value is None or value in ([], {}, "") or any(_same(value, one) for one in asks_nothing):
        return
    raise unserved(where)


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def unserved(name: str, what: str = "") -> RequestRejected:
    """The refusal of a field that asks for what we do not have; `what` is its value, where that matters."""
    shown = f" = {what}" if what else ""
    return RequestRejected(
        f"Unsupported parameter: '{name}'{shown}. Soundstage does not serve it.",
        param=name,
        code="unsupported_parameter",
    )


class _Reader:
    """Makes the fields of objects out of a table; objects may hold objects of their own kind."""

    def __init__(self, text: str, *, either: bool) -> None:
        self._lines = dict(_line(line) for line in re.split(r"\n(?=\S)", text.strip()))
        self._either = either
        self._made: dict[tuple[str, ...], RequestFields] = {}

    def fields(self, names: tuple[str, ...]) -> RequestFields:
        """The fields of objects that are of one of these kinds."""
        names = tuple(sorted({kind for name in names for kind in self._lines[name].kinds or (name,)}))
        if names not in self._made:
            typed = {kind for name in names for kind in self._lines[name].types}
            self._made[names] = self._by_type(names, typed) if typed else self._merged(names)
        return self._made[names]

    def _by_type(self, names: tuple[str, ...], typed: set[str]) -> RequestFields:
        kinds: dict[str, RequestFields] = {}
        self._made[names] = made = RequestFields(kinds=kinds)
        if len(names) == 1 or any(not self._lines[name].types for name in names):
            typed.add(_NO_TYPE)
        for kind in typed:
            fitting = [name for name in names if kind in self._lines[name].types]
            others = [name for name in names if kind == _NO_TYPE and not self._lines[name].types]
            kinds[kind] = self._merged(tuple(fitting + others) or names)
        return made

    def _merged(self, names: tuple[str, ...]) -> RequestFields:
        """The fields of all of these together."""
        key = ("merged", *names)
        if key in self._made:
            return self._made[key]
        inner: dict[str, RequestFields] = {}
        lines = [self._lines[name] for name in names]
        served, inert, refused = (self._names(lines, column) for column in range(3))
        asks_nothing = [pair for line in lines for pair in line.asks_nothing]
        self._made[key] = made = RequestFields(
            served=served,
            inert=inert - served - {_MORE},
            refused={name: tuple(v for n, v in asks_nothing if n == self._camel(name)) for name in refused},
            more=_MORE in inert,
            inner=inner,
            quiet=(served | inert) - refused,
        )
        below: dict[str, tuple[str, ...]] = {}
        for column in [column for line in lines for column in line.columns]:
            for name, kind in column.items():
                if kind:
                    below[name] = (*below.get(name, ()), kind)
        for name, kinds in below.items():
            for spelled in self._spellings(name):
                inner[spelled] = self.fields(kinds)
        return made

    def _names(self, lines: Iterable[_Line], column: int) -> frozenset[str]:
        found = (name for line in lines for name in line.columns[column])
        return frozenset(spelled for name in found for spelled in self._spellings(name))

    def _spellings(self, name: str) -> tuple[str, ...]:
        """A name as the provider takes it: in camel case, and perhaps in snake case."""
        return (
            (name, re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)) if self._either else (name,)
        )

    def _camel(self, name: str) -> str:
        return re.sub("_(.)", lambda found: found[1].upper(), name) if self._either else name


def _line(text: str) -> tuple[str, _Line]:
    found = _LINE.fullmatch(text)
    assert found is not None, text
    name, types, sign, rest = found.groups()
    if sign == "=":
        return name, _Line(kinds=tuple(rest.split()))
    columns: list[dict[str, str]] = []
    asks_nothing = []
    for column in [*rest.split("|"), "", ""][:3]:
        columns.append({})
        for token in column.split():
            field, _, value = token.partition("=")
            field, _, kind = field.partition(">")
            columns[-1][field] = kind
            asks_nothing += [(field, json.loads(value))] if value else []
    kinds = tuple(one.strip() for one in types.split(",")) if types else ()
    return name, _Line(kinds, tuple(columns), tuple(asks_nothing))


CHAT: Final = RequestTable(_fields_chat.TABLE, "Unrecognized request argument supplied: {path}")
RESPONSES: Final = RequestTable(_fields_responses.TABLE, "Unknown parameter: '{path}'.")
EMBEDDINGS: Final = RequestTable(
    "Request: model input dimensions encoding_format | user input_type truncate task",
    "Unrecognized request argument supplied: {path}",
)
ANTHROPIC: Final = RequestTable(
    _fields_anthropic.TABLE, "{path}: Extra inputs are not permitted", item=".{}", shows_types=True
)
GEMINI: Final = RequestTable(
    _fields_gemini.TABLE,
    'Invalid JSON payload received. Unknown name "{name}"{holder}: Cannot find field.',
    either=True,
)


def check_limits(
    given: Mapping[str, Any],
    numbers: Mapping[str, int],
    texts: str,
    most: int,
    words: str = "Invalid value for '{name}': expected {wanted}.",
) -> None:
    """The limits of an answer have the types that the scripted model counts with.

    Args:
        given: the request, or the object in it that holds them.
        numbers: the names of limits in tokens, and the least that each may be.
        texts: the name of the stop sequences; empty for a format that has none.
        most: how many of these there may be.
        words: the provider's refusal of a `name`, with what is `wanted`.

    Raises:
        RequestRejected: for the first that is wrong.
    """
    for name, least in numbers.items():
        value = given.get(name)
        if value is not None and (type(value) is not int or value < least):
            _refuse_limit(words, name, f"an integer >= {least}")
    stops = given.get(texts)
    if isinstance(stops, str):
        stops = [stops]
    right = isinstance(stops, list) and len(stops) <= most and all(isinstance(stop, str) for stop in stops)
    if stops is not None and not right:
        _refuse_limit(words, texts, f"a string or an array of at most {most} strings")


def check_context(format: str, given: Mapping[str, Any], words: str) -> None:  # noqa: A002
    """The edits of the context that a request asks for are those that the format has.

    Args:
        format: of the request.
        given: the request.
        words: the provider's refusal, with places for the `path` and the `problem`.

    Raises:
        RequestRejected: for the first that is wrong.
    """
    try:
        context_edits(format, given.get("context_management"))
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        path = "context_management" + place.rstrip("`")
        refusal = words.format(path=path, problem=problem)
        raise RequestRejected(refusal, param=path, code="invalid_value") from None


def _refuse_limit(words: str, name: str, wanted: str) -> NoReturn:
    raise RequestRejected(words.format(name=name, wanted=wanted), param=name, code="invalid_value")
