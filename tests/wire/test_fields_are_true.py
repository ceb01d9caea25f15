"""A server is asked with each field at the top of a request, and does as the tables say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Required, get_args, get_origin, get_type_hints

import pytest
from anthropic.types.beta import message_create_params as anthropic
from google.genai import types as gemini
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses

from soundstage.journal import ModelRequested
from soundstage.models import Script
from soundstage.wire import _fields
from soundstage.wire._field_tables import FieldMark
from soundstage.wire._openai_responses_encode import ECHOED
from support.wires import WIRES, error_of, run, serving

TABLES = {
    "openai-chat": _fields.CHAT,
    "openai-responses": _fields.RESPONSES,
    "anthropic": _fields.ANTHROPIC,
    "gemini": _fields.GEMINI,
}
HINTS = {
    "openai-chat": get_type_hints(chat.CompletionCreateParamsBase),
    "openai-responses": get_type_hints(responses.ResponseCreateParamsBase),
    "anthropic": get_type_hints(anthropic.MessageCreateParamsBase),
    "gemini": {
        field.alias or name: field.annotation for name, field in gemini.GenerationConfig.model_fields.items()
    },
}
VALUES: dict[tuple[str, str], Any] = {  # where a value of the right type is not yet one that a provider takes
    ("openai-chat", "tool_choice"): "auto",
    ("openai-chat", "options"): {"num_ctx": 1},
    ("openai-responses", "tool_choice"): "auto",
    ("anthropic", "temperature"): 0.5,
    ("anthropic", "top_p"): 0.5,
    ("anthropic", "top_k"): 5,
    ("anthropic", "thinking"): {"type": "adaptive"},
    ("anthropic", "tool_choice"): {"type": "auto"},
    ("anthropic", "cache_control"): {"type": "ephemeral"},
    ("gemini", "toolConfig"): {"functionCallingConfig": {"mode": "AUTO"}},
    ("gemini", "modelArmorConfig"): {"promptTemplateName": "t"},
    ("gemini", "safetySettings"): [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    ("gemini", "labels"): {"a": "b"},
    ("gemini", "store"): True,
    ("gemini", "modelSelectionConfig"): {"featureSelectionPreference": "BALANCED"},
    ("gemini", "modelConfig"): {"featureSelectionPreference": "BALANCED"},
    ("gemini", "responseSchema"): {"type": "STRING"},
    ("gemini", "responseFormat"): {"text": {"mimeType": "text/plain"}},
    ("gemini", "thinkingConfig"): {"includeThoughts": True},
    ("gemini", "routingConfig"): {"manualMode": {"modelName": "m"}},
}
TOOLS = {
    "openai-chat": [{"type": "function", "function": {"name": "f"}}],
    "openai-responses": [{"type": "function", "name": "f", "parameters": {}}],
    "anthropic": [{"name": "f", "input_schema": {"type": "object"}}],
    "gemini": [{"functionDeclarations": [{"name": "f"}]}],
}
SAID = "It has an x, and more words than the least limit of tokens lets through, so that a stop or a limit shows."
REPEATED = {*ECHOED, "reasoning", "text", "service_tier"}  # an answer of the Responses format repeats them


def _sample(hint: Any) -> Any:
    """A value of a type, with what is required in it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Required:
        return _sample(inner[0])
    if origin is Literal:
        return inner[0]
    if hasattr(hint, "__total__"):
        hints = get_type_hints(hint, include_extras=True)
        return {name: _sample(one) for name, one in hints.items() if get_origin(one) is Required}
    if hint in (str, int, float, bool):
        return {str: "x", int: 2, float: 0.5, bool: True}[hint]
    if origin is dict or (isinstance(hint, type) and issubclass(hint, dict)):
        return {"k": "v"}
    if origin is not None and inner and inner[0] is not type(None) and "Union" not in str(origin):
        return [_sample(inner[0])] if isinstance(origin, type) and origin is not dict else {"k": "v"}
    found = [one for one in inner if one is not type(None)]
    return _sample(found[0]) if found else "x"


def _marks() -> Iterator[tuple[str, str, FieldMark]]:
    """Format, kind of object and mark of each field at the top; of Gemini, its generation config too."""
    for name, table in TABLES.items():
        for kind in ("Request", "GenerationConfig"):
            if kind in table.written.kinds:
                yield from ((name, kind, mark) for mark in table.written.kinds[kind].marks)


def _body(name: str, kind: str, field: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A request, and the same with a field."""
    plain = {**WIRES[name].body("hello", ""), "tools": TOOLS[name]}
    value = VALUES[name, field] if (name, field) in VALUES else _sample(HINTS[name].get(field, str))
    more = {field: value}
    return plain, {**plain, **({"generationConfig": more} if kind == "GenerationConfig" else more)}


INERT = [found for found in _marks() if found[2].mark not in ("served", "refused")]
REFUSED = [found for found in _marks() if found[2].mark == "refused"]


def _id(found: tuple[str, str, FieldMark]) -> str:
    return f"{found[0]}.{found[2].name}"


def _answer(body: Any, name: str, field: str) -> Any:
    shown = {
        key: value for key, value in body.items() if key not in ("id", "responseId", "created", "created_at")
    }
    if name == "openai-responses" and field in REPEATED:
        shown.pop(field)
    for item in shown.get("output", ()):
        item.pop("id")
    return shown | {"completed_at": None, "createTime": None}


@pytest.mark.parametrize("name", TABLES)
def test_a_field_without_effect_is_accepted_and_the_answer_is_the_same(name):
    script = Script()
    script.on(user="hello").reply(SAID)
    wire = WIRES[name]

    async def main():
        async with serving(script) as served:
            for _, kind, mark in (one for one in INERT if one[0] == name):
                plain, more = _body(name, kind, mark.name)
                first, second = [await served.ask(wire, json=body) for body in (plain, more)]
                assert second.status_code == 200, (mark.name, second.text)
                assert _answer(second.json(), name, mark.name) == _answer(first.json(), name, mark.name), mark
                settings = served.events(ModelRequested)[-1].request.settings
                kept = settings.get("generationConfig", {}) if kind == "GenerationConfig" else settings
                assert mark.name in kept

    run(main())


@pytest.mark.parametrize("found", REFUSED, ids=_id)
def test_a_refused_field_is_refused_by_name_in_the_providers_shape_with_what_to_use(found):
    name, kind, mark = found
    wire, table = WIRES[name], TABLES[name].written

    async def main():
        async with serving(Script()) as served:
            _, body = _body(name, kind, mark.name)
            holder = body["generationConfig"] if kind == "GenerationConfig" else body
            if holder[mark.name] in (*mark.asks_nothing, {}, [], ""):
                holder[mark.name] = "other"
            refused = await served.ask(wire, json=body)
            assert (refused.status_code, error_of(wire, refused)[0]) == (400, wire.kinds[400])
            assert f"{mark.name}'. Soundstage does not serve it." in error_of(wire, refused)[1]
            assert error_of(wire, refused)[1].endswith(table.instead.get(f"{kind}.{mark.name}", "it."))
            assert served.events(ModelRequested) == []

    run(main())
