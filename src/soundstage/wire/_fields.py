"""Request fields at all depths: served, without effect, or refused.

A scripted answer does not depend on how a model would be sampled, billed or stored, so such fields are accepted and
have no effect. A field that asks for something in the answer is served by the codec, or refused by name, unless its
value asks for nothing. What a script says rules over what is asked of a model: the schema of an answer, how much it
should think, which tool it should call, what it may do with a tool that the provider runs.

Each format has a table in `fields/`; `_field_tables` says how it is written, and reads it. A request is first looked at
without words (`_fits`), which is a comparison of sets for each object; only one that does not fit is walked again, to
name the place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

import msgspec

from soundstage.errors import RequestRejected
from soundstage.models import context_edits
from soundstage.wire._field_tables import NO_TYPE, FieldTable, RequestFields


class RequestTable:
    """The fields of a format.

    Args:
        name: of the file with the table.
        unknown: what the provider says about a name that it does not have, with places for it (`name`), for what holds
            it (`holder`), and for both (`path`).
        item: how the provider names an item of a list, with a place for its number.
        shows_types: whether the provider's paths name the types of objects.
        either: whether names may be in snake case too.
    """

    def __init__(
        self,
        name: str,
        unknown: str,
        *,
        item: str = "[{}]",
        shows_types: bool = False,
        either: bool = False,
    ) -> None:
        self._name = name
        self._unknown = unknown
        self._item = item
        self._shows_types = shows_types
        self._either = either

    @functools.cached_property
    def root(self) -> RequestFields:
        """The fields of a request."""
        return self.written.fields(("Request",))

    @functools.cached_property
    def written(self) -> FieldTable:
        """The table as its file has it."""
        return FieldTable(self._name, either=self._either)

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
                _refuse_request(found, name, value, where)
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
            found = kinds.get(given.get("type", NO_TYPE))
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


def _refuse_request(fields: RequestFields, name: str, value: Any, where: str) -> None:
    if value is None or value in ([], {}, "") or any(_same(value, one) for one in fields.refused[name]):
        return
    raise unserved(where, instead=fields.instead.get(name, ""))


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def unserved(name: str, what: str = "", instead: str = "") -> RequestRejected:
    """The refusal of a field that asks for what we do not have.

    Args:
        name: the path of the field.
        what: its value, where that matters.
        instead: what to use.
    """
    shown = f" = {what}" if what else ""
    use = f" {instead}" if instead else ""
    return RequestRejected(
        f"Unsupported parameter: '{name}'{shown}. Soundstage does not serve it.{use}",
        param=name,
        code="unsupported_parameter",
    )


CHAT: Final = RequestTable("openai-chat", "Unrecognized request argument supplied: {path}")
RESPONSES: Final = RequestTable("openai-responses", "Unknown parameter: '{path}'.")
EMBEDDINGS: Final = RequestTable("openai-embeddings", "Unrecognized request argument supplied: {path}")
ANTHROPIC: Final = RequestTable(
    "anthropic", "{path}: Extra inputs are not permitted", item=".{}", shows_types=True
)
GEMINI: Final = RequestTable(
    "gemini",
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
