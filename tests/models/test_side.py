"""The answer to a side request that no rule is for: a word, or JSON that its schema allows."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.messages import ModelRequest, user
from soundstage.models import Script, ScriptedModel
from soundstage.models._side import side_reply, simplest

SCORE = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "score": {"type": "integer"}, "more": {"type": "number"}},
    "required": ["why", "score"],
}


def asked(**settings) -> ModelRequest:
    return ModelRequest(model="m", messages=(user("drums"),), settings=settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCORE}},
        {"generationConfig": {"responseSchema": SCORE}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCORE}}},
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCORE}}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCORE}}},
    ],
    ids=".".join,
)
def test_a_client_that_demands_json_gets_what_its_schema_allows(settings):
    assert json.loads(side_reply(asked(**settings)).text) == {"why": "ok", "score": 1}


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "ok"),
        ({"text": {"format": {"type": "text"}}, "response_format": 3}, "ok"),
        ({"response_format": {"type": "json_object"}}, "{}"),
        ({"generationConfig": {"responseMimeType": "application/json"}}, "{}"),
    ],
)
def test_a_client_that_gives_no_schema_gets_the_least(settings, text):
    assert side_reply(asked(**settings)).text == text


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "integer", "minimum": 7},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["user", "model"]},
        {"const": 4},
        {"type": ["string", "null"]},
        {"$ref": "#/$defs/score"},
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda item, least: {"type": "array", "items": item, "minItems": least}, inner, st.integers(0, 3)
        ),
        st.builds(
            lambda fields: {"type": "object", "properties": fields, "required": list(fields)},
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
        ),
        st.builds(lambda first, second: {"anyOf": [first, second]}, inner, inner),
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_the_simplest_value_fits_its_schema(schema):
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"], "$defs": {"score": SCORE}}
    jsonschema.validate(simplest(whole, whole), whole)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "required",
                        "items",
                        "enum",
                        "anyOf",
                        "$ref",
                        "minItems",
                        "minimum",
                    ]
                ),
                inner,
            )
            | st.lists(inner)
        ),
    )
)
def test_what_is_no_schema_gets_some_value(odd):
    json.dumps(simplest(odd, odd if isinstance(odd, dict) else {}))


def test_a_schema_that_points_at_itself_ends():
    schema = {"type": "array", "minItems": 1, "items": {"$ref": "#"}}
    json.dumps(simplest(schema, schema))


def test_a_side_request_takes_no_rule_that_is_meant_for_the_users_words(ask):
    script = Script(strict=True)
    script.on(user="hello", times=1).reply("for the agent")
    model = ScriptedModel(script)
    assert ask(model, "hello", purpose="routing").text == "ok"
    assert ask(model, "hello").text == "for the agent"
