"""Arguments are checked against their schema, in words that a model can act on."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.tools import argument_problems

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
        "mode": {"enum": ["a", "b"]},
        "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}, "maxItems": 2},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "some": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "one": {"const": 1},
        "kind": {"type": ["string", "null"], "pattern": "^k"},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"Point": POINT},
}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "argument 'path' is missing: expected a text (minLength 1)"),
        ({"path": 3}, "argument 'path': expected a text (minLength 1), seen the number 3"),
        ({"path": None}, "argument 'path': expected a text (minLength 1), seen null"),
        ({"path": ""}, "argument 'path': expected a text (minLength 1), seen the text ''"),
        ({"path": "a", "pth": 1}, "argument 'pth' is not known; did you mean 'path'?"),
        (
            {"path": "a", "count": True},
            "argument 'count': expected a whole number (minimum 1, exclusiveMaximum",
        ),
        ({"path": "a", "count": 0}, "seen the number 0"),
        ({"path": "a", "count": 10}, "seen the number 10"),
        ({"path": "a", "count": 1.5}, "seen the number 1.5"),
        ({"path": "a", "mode": "c"}, "argument 'mode': expected one of 'a', 'b', seen the text 'c'"),
        (
            {"path": "a", "points": {"x": 1}},
            "argument 'points': expected a list (maxItems 2), seen an object with",
        ),
        ({"path": "a", "points": [{}, {}, {}]}, "seen a list of 3"),
        (
            {"path": "a", "points": [{"x": 1}, {}]},
            "argument 'points[1].x' is missing: expected a whole number",
        ),
        ({"path": "a", "pair": ["a", "b"]}, "argument 'pair[1]': expected a whole number, seen the text 'b'"),
        ({"path": "a", "pair": ["a", 1, 2]}, "argument 'pair[2]': expected nothing, seen the number 2"),
        ({"path": "a", "maybe": []}, "argument 'maybe': expected a text or null, seen a list of 0"),
        ({"path": "a", "some": [1, "b"]}, "argument 'some[1]': expected a whole number, seen the text 'b'"),
        ({"path": "a", "some": "b"}, "argument 'some': expected a list or null, seen the text 'b'"),
        ({"path": "a", "counts": {"k": "v"}}, "argument 'counts.k': expected a whole number"),
        ({"path": "a", "one": True}, "argument 'one': expected 1, seen true"),
        (
            {"path": "a", "kind": "x"},
            "argument 'kind': expected a text or null (pattern '^k'), seen the text 'x'",
        ),
    ],
)
def test_a_problem_names_the_argument_what_was_expected_and_what_was_seen(arguments, problem):
    (found,) = argument_problems(SCHEMA, arguments)
    assert problem in found


def test_all_problems_are_said_but_not_without_end():
    assert len(argument_problems(SCHEMA, {"count": "x", "mode": 1})) == 3
    assert len(argument_problems(SCHEMA, {f"unknown{n}": n for n in range(50)})) == 8


def test_a_schema_that_refers_to_itself_or_to_nothing_lets_pass():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#/$defs/none"}},
    }
    assert argument_problems(schema, {"a": 1, "b": 2}) == []


def test_a_schema_that_refers_to_the_network_is_not_followed_there(monkeypatch):
    asked = []
    monkeypatch.setattr("urllib.request.urlopen", lambda url, *_, **__: asked.append(url))
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}, "b": {"type": "string"}}}
    assert argument_problems(schema, {"a": 1, "b": 2}) == ["argument 'b': expected a text, seen the number 2"]
    assert asked == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.floats(-20, 20) | st.text("kx", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyk"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), JSON, max_size=4))
def test_it_agrees_with_the_reference_implementation(arguments):
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(arguments)
    assert (argument_problems(SCHEMA, arguments) == []) is valid


OTHERS = {
    "type": "object",
    "properties": {
        "x": {"allOf": [{"type": "integer"}, {"multipleOf": 3}]},
        "y": {"not": {"type": "string"}, "uniqueItems": True},
        "k": {
            "if": {"type": "integer"},
            "then": {"minimum": 5},
            "else": {"minLength": 2, "contains": {"const": 1}},
        },
    },
    "patternProperties": {"^z": {"type": "boolean"}},
    "propertyNames": {"maxLength": 2},
    "dependentRequired": {"x": ["y"]},
    "maxProperties": 3,
    "additionalProperties": {"type": "null"},
}


@given(st.dictionaries(st.sampled_from(["x", "y", "k", "z", "zz", "zzz", "other", "o"]), JSON, max_size=4))
def test_every_keyword_of_a_schema_counts(arguments):
    valid = jsonschema.Draft202012Validator(OTHERS).is_valid(arguments)
    assert (argument_problems(OTHERS, arguments) == []) is valid


WORDS = st.sampled_from(
    (
        *(
            "type",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "$ref",
            "required",
            "properties",
            "items",
            "prefixItems",
        ),
        *(
            "additionalProperties",
            "maxLength",
            "pattern",
            "minItems",
            "minimum",
            "exclusiveMaximum",
            "nullable",
        ),
        *("x", "integer"),
    )
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.just("#/properties/x"),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(WORDS, part, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(WORDS, ODD, max_size=5), st.dictionaries(WORDS, ODD, max_size=3))
def test_a_schema_of_any_form_never_breaks_the_check(schema, arguments):
    """Tools bring schemas from elsewhere: what a keyword cannot mean is let pass."""
    assert all(isinstance(problem, str) for problem in argument_problems(schema, arguments))


@pytest.mark.parametrize(
    ("schema", "value", "problems"),
    [
        ({"type": "string", "nullable": True}, None, 0),
        ({"type": "string", "nullable": False}, None, 1),
        ({"type": "string"}, None, 1),
        ({"type": "decimal"}, "whatever", 0),
        ({"type": ["integer", "decimal"]}, "whatever", 0),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "a", 1),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, None, 0),
        ({"pattern": "(?<no"}, "a", 0),
        (True, "a", 0),
        (False, "a", 1),
    ],
)
def test_schemas_of_other_dialects_are_taken_as_far_as_they_are_known(schema, value, problems):
    found = argument_problems({"type": "object", "properties": {"a": schema}}, {"a": value})
    assert len(found) == problems


def test_a_required_argument_that_the_schema_does_not_describe_may_be_anything():
    (problem,) = argument_problems({"type": "object", "required": ["a"]}, {})
    assert problem == "argument 'a' is missing: expected anything"


@pytest.mark.parametrize(
    ("rule", "fits", "breaks"),
    [
        ("minimum", 3, 2),
        ("maximum", 3, 4),
        ("exclusiveMinimum", 4, 3),
        ("exclusiveMaximum", 2, 3),
    ],
)
def test_a_bound_is_for_numbers_alone_and_says_whether_it_is_allowed_itself(rule, fits, breaks):
    schema = {"type": "object", "properties": {"a": {rule: 3}}}
    assert argument_problems(schema, {"a": fits}) == []
    assert len(argument_problems(schema, {"a": breaks})) == 1
    for other in ("a text", True, None, [1]):
        assert argument_problems(schema, {"a": other}) == []
