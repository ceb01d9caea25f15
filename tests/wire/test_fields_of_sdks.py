"""The tables of request fields have every field that the official SDKs may send, at all depths."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Required, get_args, get_origin, get_type_hints

import pydantic
import pytest
from anthropic.types import message_create_params as anthropic_messages
from anthropic.types.beta import message_create_params as anthropic_beta
from google.genai import models as gemini_models
from google.genai import types as gemini
from openai.types import embedding_create_params as embeddings
from openai.types.chat import completion_create_params as chat
from openai.types.responses import ResponseItem, ResponseOutputItem
from openai.types.responses import response_create_params as responses

from soundstage.wire import _fields
from soundstage.wire._fields import RequestFields


def _gemini(*converters: str) -> str:
    return "".join(inspect.getsource(getattr(gemini_models, name)) for name in converters)


def _set_on(holder: str, source: str) -> set[str]:
    return {name for found, name in re.findall(r"setv\(\s*(\w+),\s*\['(\w+)'", source) if found == holder}


FREE = {"Schema", "InputSchemaTyped", "BetaResponseToolInputSchema"}  # JSON schemas


class Sent(NamedTuple):
    """The objects that an SDK may send at one place: field -> the objects there, by their `type`."""

    types: frozenset[str]
    fields: dict[str, tuple[type, ...]]


def _records(kind: object) -> Iterator[type]:
    """The record types in an annotation, in unions and lists too. The keys of maps are free, so they are left out."""
    if get_origin(kind) in (dict, Mapping):
        return
    if hasattr(kind, "__total__") or (isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)):
        if kind.__name__ not in FREE:
            yield kind
        return
    for part in get_args(kind):
        yield from _records(part)


def _texts(kind: object) -> Iterator[str]:
    if get_origin(kind) is Literal:
        yield from (value for value in get_args(kind) if isinstance(value, str))
        return
    for part in get_args(kind):
        yield from _texts(part)


@functools.cache
def _sent(record: type) -> Sent:
    if hasattr(record, "__total__"):  # a TypedDict, whichever module made it
        hints = get_type_hints(record, include_extras=True)
        kind = hints.get("type")
        types = set(_texts(kind)) if kind is not None else set()
        if types and get_origin(kind) is not Required:
            types.add("")
        return Sent(frozenset(types), {name: tuple(_records(hint)) for name, hint in hints.items()})
    fields = {
        field.alias or name: tuple(_records(field.annotation)) for name, field in record.model_fields.items()
    }
    types = set(_texts(record.model_fields["type"].annotation)) if "type" in record.model_fields else set()
    return Sent(frozenset(types), fields)


GEMINI_SENT = Sent(
    frozenset(),
    {
        "contents": (gemini.Content,),
        "systemInstruction": (gemini.Content,),
        "tools": (gemini.Tool,),
        "toolConfig": (gemini.ToolConfig,),
        "safetySettings": (gemini.SafetySetting,),
        "generationConfig": (gemini.GenerationConfig,),
        "modelArmorConfig": (gemini.ModelArmorConfig,),
    },
)
OFFICIAL = {  # what the official SDKs may send
    "chat": (
        _fields.CHAT,
        [_sent(chat.CompletionCreateParamsBase), _sent(chat.CompletionCreateParamsStreaming)],
    ),
    "responses": (
        _fields.RESPONSES,
        [_sent(responses.ResponseCreateParamsBase), _sent(responses.ResponseCreateParamsStreaming)],
    ),
    "anthropic": (
        _fields.ANTHROPIC,
        [
            _sent(anthropic_messages.MessageCreateParamsStreaming),
            _sent(anthropic_messages.MessageCreateParamsBase),
            _sent(anthropic_beta.MessageCreateParamsBase),
        ],
    ),
    "gemini": (_fields.GEMINI, [GEMINI_SENT]),
    "embeddings": (_fields.EMBEDDINGS, [_sent(embeddings.EmbeddingCreateParams)]),
}


def _undecided(fields: RequestFields, sent: Iterable[Sent], path: str, seen: set[object]) -> Iterator[str]:
    """The fields that the SDK may send below a place and our table does not have, with their paths."""
    for one in sent:
        for kind in one.types or {""}:
            shape = {"type": kind} if kind else {}
            found = fields.of(shape)
            where = f"{path}[{kind}]" if kind else path
            if found is None:
                yield where
                continue
            yield from (f"{where}.{name}" for name in one.fields.keys() - found.known)
            for name, records in one.fields.items():
                key = (id(found), name, records)
                if records and name in found.known and key not in seen:
                    seen.add(key)
                    if name not in found.inner:
                        yield f"{where}.{name} (what is in it)"
                    else:
                        yield from _undecided(found.inner[name], map(_sent, records), f"{where}.{name}", seen)


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_field_of_the_official_sdk_is_in_our_table_at_all_depths(name):
    table, sent = OFFICIAL[name]
    seen: set[object] = set()
    undecided = sorted(_undecided(table.root, sent, "", seen))
    assert undecided == [], "new fields of the SDK: serve them, or name them as inert or refused"
    assert (
        len(seen) >= {"embeddings": 0, "chat": 40, "gemini": 80, "responses": 100, "anthropic": 150}[name]
    )  # it went down


ANSWERED = {  # what the official SDKs make of answers, which clients send back
    "responses": (_fields.RESPONSES, "input", ResponseItem),
    "responses, items of an answer": (_fields.RESPONSES, "input", ResponseOutputItem),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_what_the_official_sdk_makes_of_an_answer_can_be_sent_back(name):
    table, field, kind = ANSWERED[name]
    undecided = set(_undecided(table.root.inner[field], map(_sent, _records(kind)), field, set()))
    assert sorted(undecided) == []


def test_every_field_that_geminis_sdk_sets_is_in_our_table():
    config = _gemini("_GenerateContentConfig_to_mldev")
    top = _set_on("to_object", _gemini("_GenerateContentParameters_to_mldev"))
    root = _fields.GEMINI.root
    official = _set_on("parent_object", config) | {name for name in top if name[0] != "_"}
    assert len(official) >= 5
    assert official - root.known == set()
    inside = _set_on("to_object", config)
    assert len(inside) >= 5
    assert inside - root.inner["generationConfig"].known == set()


def _all_fields(fields: RequestFields, seen: dict[int, RequestFields]) -> dict[int, RequestFields]:
    if id(fields) not in seen:
        seen[id(fields)] = fields
        for below in (*fields.inner.values(), *fields.kinds.values()):
            _all_fields(below, seen)
    return seen


@pytest.mark.parametrize("name", OFFICIAL)
def test_no_field_is_in_two_columns(name):
    for fields in _all_fields(OFFICIAL[name][0].root, {}).values():
        assert len(fields.known) == len(fields.served) + len(fields.inert) + len(fields.refused)
