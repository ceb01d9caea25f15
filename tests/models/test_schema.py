"""The JSON Schema accepts what the loader accepts, and refuses what can be said in a schema."""

from __future__ import annotations

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ScriptLoadError
from soundstage.models import AgentSpec, Reply, Script, When, script_schema
from support.cases import cases

EXAMPLE = """\
version: 1
agents:
  - {name: executor, when: {system: "/you are the executor/i"}}
rules:
  - when: {agent: executor, user: "/implement auth/i", iteration: 1}
    reply: {text: "Done.", tool_calls: [{name: continue, arguments: {phase: verification}}]}
    priority: 90
  - when: {contains: flaky}
    reply: {error: {status: 529, type: overloaded_error, message: busy, retry_after: 1}}
  - when: {user: hello}
    reply: {chunks: [Hel, lo], first_token_after: 0.05, tokens_per_second: 80}
    times: 2
  - reply: {text: queued}
  - when: {user: [a, {not: b}], tools: true, tool_result: false, header: {x: /y/}, step: {any: [1, 2]}}
    reply: {blocks: [{thinking: t, signature: s}, {text: x}, {tool_call: {name: c}}, {opaque: {type: z}}]}
  - reply: {fault: {type: stall, after: 1, seconds: 3}, text: x, usage: {input_tokens: 3}}
default: {text: "nothing scripted for that"}
"""
VALIDATOR = jsonschema.Draft202012Validator(script_schema())


def loads(data):
    try:
        Script.from_data(data)
    except ScriptLoadError:
        return False
    return True


def test_it_is_a_schema_of_the_2020_dialect():
    assert script_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(script_schema())


def test_the_example_is_valid_and_loads():
    data = yaml.safe_load(EXAMPLE)
    VALIDATOR.validate(data)
    assert loads(data)


@pytest.mark.parametrize(
    "text",
    [
        "rules: []",
        "version: 1",
        "{version: 2, rules: [{reply: a}]}",
        "{rules: [{reply: a}], ruels: []}",
        "rules: [{reply: ''}]",
        "rules: [{reply: {}}]",
        "rules: [{when: {user: a}}]",
        "rules: [{reply: 3}]",
        "rules: [{reply: {text: a, error: {}}}]",
        "rules: [{reply: {tool_calls: [{name: a}], error: {}}}]",
        "rules: [{reply: {text: a, chunks: [b]}}]",
        "rules: [{reply: {blocks: [{text: a}], tool_calls: [{name: b}]}}]",
        "rules: [{reply: {blocks: [{text: a, thinking: b}]}}]",
        "rules: [{reply: {error: {status: 200}}}]",
        "rules: [{reply: {text: a, delay: -1}}]",
        "rules: [{reply: {text: a, tokens_per_second: 0}}]",
        "rules: [{reply: {text: a, finish: ended}}]",
        "rules: [{reply: {text: a, usage: {input: 1}}}]",
        "rules: [{reply: {text: a, fault: {type: explode}}}]",
        "rules: [{reply: {tool_calls: [{arguments: {}}]}}]",
        "rules: [{reply: {tool_calls: [{name: a, arguments: '{}'}]}}]",
        "rules: [{reply: a, times: 0}]",
        "rules: [{reply: a, priority: high}]",
        "rules: [{reply: a, when: {usr: a}}]",
        "rules: [{reply: a, when: {user: }}]",
        "rules: [{reply: a, when: {user: 3}}]",
        "rules: [{reply: {text: a, usage: }}]",
        "rules: [{reply: a, when: {user: []}}]",
        "rules: [{reply: a, when: {user: [1]}}]",
        "rules: [{reply: a, when: {agent: {not: true}}}]",
        "rules: [{reply: a, when: {user: ''}}]",
        "rules: [{reply: a, when: {user: {some: [a]}}}]",
        "rules: [{reply: a, when: {user: {any: [a], all: [b]}}}]",
        "rules: [{reply: a, when: {iteration: 0}}]",
        "rules: [{reply: a, when: {iteration: '1'}}]",
        "rules: [{reply: a, when: {tools: read}}]",
        "rules: [{reply: a, when: {header: {}}}]",
        "{rules: [{reply: a}], agents: [{name: a}]}",
        "{rules: [{reply: a}], strict: true, default: b}",
    ],
)
def test_what_is_refused_is_refused_by_both(text):
    data = yaml.safe_load(text)
    assert not VALIDATOR.is_valid(data)
    assert not loads(data)


VALUES = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        2.5,
        -1,
        "",
        "a",
        "/a/",
        [],
        ["a"],
        [1],
        {},
        {"not": "a"},
        {"any": ["a", "b"]},
        {"name": "x"},
        [{"name": "x"}],
        {"type": "cut"},
        [{"text": "a"}],
        {"status": 500},
        "stop",
        {"x": "y"},
    ]
)


@given(
    st.dictionaries(st.sampled_from([*When.__struct_fields__, "usr"]), VALUES, max_size=3),
    st.one_of(
        VALUES,
        st.dictionaries(st.sampled_from([*Reply.__struct_fields__, "txt"]), VALUES, min_size=1, max_size=3),
    ),
    st.dictionaries(st.sampled_from(["times", "priority", "name", "nme"]), VALUES, max_size=1),
)
@cases(400)
def test_what_loads_is_valid(when, reply, more):
    data = {"rules": [{"when": when, "reply": reply, **more}]}
    if loads(data):
        VALIDATOR.validate(data)


def test_every_field_is_described():
    schema = script_schema()
    for part in [schema, *schema["$defs"].values()]:
        for name, field in part.get("properties", {}).items():
            if part.get("title") not in ("Usage", None):
                assert field.get("description"), (part["title"], name)
    assert (
        schema["$defs"]["When"]["properties"]["user"]["description"]
        == "the latest words of the user; what a harness adds in `<system-reminder>` tags is not among them."
    )
    assert set(schema["$defs"]["AgentSpec"]["properties"]) == set(AgentSpec.__struct_fields__)


def test_each_call_gives_a_schema_of_its_own():
    script_schema()["properties"].clear()
    assert "rules" in script_schema()["properties"]


@pytest.mark.parametrize("condition", ["a", ["a"], ["a", "b"], {"any": ["a"]}, {"all": ["a"]}, {"not": "a"}])
def test_a_condition_may_have_one_member_as_well_as_several(condition):
    data = {"version": 1, "rules": [{"when": {"user": condition}, "reply": "b"}]}
    VALIDATOR.validate(data)
    assert loads(data)
