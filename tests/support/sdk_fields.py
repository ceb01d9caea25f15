"""The requests that the official SDKs may send, taken from their types, and a walk of them beside our tables."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Required, get_args, get_origin, get_type_hints

import pydantic
from anthropic.types import message_create_params as anthropic_messages
from anthropic.types.beta import message_create_params as anthropic_beta
from google.genai import models as gemini_models
from google.genai import types as gemini
from openai.types import embedding_create_params as embeddings
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses

from soundstage.wire import _fields
from soundstage.wire._fields import RequestFields


def gemini_source(*converters: str) -> str:
    return "".join(inspect.getsource(getattr(gemini_models, name)) for name in converters)


def set_on(holder: str, source: str) -> set[str]:
    return {name for found, name in re.findall(r"setv\(\s*(\w+),\s*\['(\w+)'", source) if found == holder}


FREE = {"Schema", "InputSchemaTyped", "BetaResponseToolInputSchema"}  # JSON schemas


class Sent(NamedTuple):
    """The objects that an SDK may send at one place: field -> the objects there, by their `type`."""

    types: frozenset[str]
    fields: dict[str, tuple[type, ...]]


def records_of(kind: object) -> Iterator[type]:
    """The record types in an annotation, in unions and lists too. The keys of maps are free, so they are left out."""
    if get_origin(kind) in (dict, Mapping):
        return
    if hasattr(kind, "__total__") or (isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)):
        if kind.__name__ not in FREE:
            yield kind
        return
    for part in get_args(kind):
        yield from records_of(part)


def _texts(kind: object) -> Iterator[str]:
    if get_origin(kind) is Literal:
        yield from (value for value in get_args(kind) if isinstance(value, str))
        return
    for part in get_args(kind):
        yield from _texts(part)


class GeminiConfig:
    """The generation config, with what the converters set in it."""


@functools.cache
def sent_of(record: type) -> Sent:
    """The fields of a record type, as the SDK may send them."""
    if record is GeminiConfig:
        configs = "".join(gemini_source(config) for config, _ in CONVERTERS)
        return Sent(frozenset(), dict.fromkeys(set_on("to_object", configs), ()))
    if hasattr(record, "__total__"):  # a TypedDict, whichever module made it
        hints = get_type_hints(record, include_extras=True)
        kind = hints.get("type")
        types = set(_texts(kind)) if kind is not None else set()
        if types and get_origin(kind) is not Required:
            types.add("")
        return Sent(frozenset(types), {name: tuple(records_of(hint)) for name, hint in hints.items()})
    fields = {
        field.alias or name: tuple(records_of(field.annotation))
        for name, field in record.model_fields.items()
    }
    types = set(_texts(record.model_fields["type"].annotation)) if "type" in record.model_fields else set()
    return Sent(frozenset(types), fields)


KINDS = ("mldev", "vertex")
CONVERTERS = [
    (f"_GenerateContentConfig_to_{kind}", f"_GenerateContentParameters_to_{kind}") for kind in KINDS
]


def _gemini_sent() -> Sent:
    """A request as the SDK's converters write it: what they set beside the models of its types."""
    configs = "".join(gemini_source(config) for config, _ in CONVERTERS)
    tops = "".join(gemini_source(top) for _, top in CONVERTERS)
    top = set_on("parent_object", configs) | {name for name in set_on("to_object", tops) if name[0] != "_"}
    records = {
        "contents": (gemini.Content,),
        "systemInstruction": (gemini.Content,),
        "tools": (gemini.Tool,),
        "toolConfig": (gemini.ToolConfig,),
        "safetySettings": (gemini.SafetySetting,),
        "generationConfig": (gemini.GenerationConfig, GeminiConfig),
        "modelArmorConfig": (gemini.ModelArmorConfig,),
    }
    return Sent(frozenset(), dict.fromkeys(top, ()) | records)


OFFICIAL = {  # what the official SDKs may send
    "chat": (
        _fields.CHAT,
        [sent_of(chat.CompletionCreateParamsBase), sent_of(chat.CompletionCreateParamsStreaming)],
    ),
    "responses": (
        _fields.RESPONSES,
        [sent_of(responses.ResponseCreateParamsBase), sent_of(responses.ResponseCreateParamsStreaming)],
    ),
    "anthropic": (
        _fields.ANTHROPIC,
        [
            sent_of(anthropic_messages.MessageCreateParamsStreaming),
            sent_of(anthropic_messages.MessageCreateParamsBase),
            sent_of(anthropic_beta.MessageCreateParamsBase),
        ],
    ),
    "gemini": (_fields.GEMINI, [_gemini_sent()]),
    "embeddings": (_fields.EMBEDDINGS, [sent_of(embeddings.EmbeddingCreateParams)]),
}


class Place(NamedTuple):
    """Objects of one type at one place of a request, in our table and as the SDK may send them."""

    path: str
    kind: str  # the value of `type`; empty if there is none
    table: RequestFields
    sent: Sent


def walk(table: RequestFields, sent: Iterable[Sent]) -> tuple[list[Place], list[str]]:
    """All places below one, and the fields and types there that our table does not have, with their paths."""
    places: list[Place] = []
    missing: list[str] = []
    _walk(table, sent, "", set(), places, missing)
    return places, missing


def _walk(
    fields: RequestFields,
    sent: Iterable[Sent],
    path: str,
    seen: set[object],
    places: list[Place],
    missing: list[str],
) -> None:
    for one in sent:
        for kind in one.types or {""}:
            found = fields.of({"type": kind} if kind else {})
            where = f"{path}[type={kind}]" if kind else path
            if found is None:
                missing.append(where)
                continue
            places.append(Place(where, kind, found, one))
            missing += [f"{where}.{name}" for name in one.fields.keys() - found.known]
            for name, records in one.fields.items():
                key = (id(found), name, records)
                if not records or name not in found.known - found.refused.keys() or key in seen:
                    continue
                seen.add(key)
                below = f"{where}.{name}".lstrip(".")
                if name not in found.inner:
                    missing.append(f"{below} (what is in it)")
                else:
                    _walk(found.inner[name], map(sent_of, records), below, seen, places, missing)
