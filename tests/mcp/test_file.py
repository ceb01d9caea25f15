"""Script files of servers."""

from __future__ import annotations

import json

import jsonschema
import pytest

from soundstage.errors import ScriptError, ScriptLoadError
from soundstage.mcp import load_mcp_script, mcp_script_problems, mcp_script_schema
from soundstage.scripts import SourceReport, read_source

GOOD = """
version: 1
mcp:
  notes:
    instructions: Search before you answer.
    strict: true
    page_size: 10
    tools:
      - name: search
        description: Search the notes.
        schema: {type: object, properties: {query: {type: string}}, required: [query]}
        rules:
          - when: {query: /soup/i}
            returns: tomato soup
          - when: {query: {not: tea}}
            returns: {json: {hits: 0}}
            priority: 1
            times: 1
            name: empty
          - returns: {error: the database is down, delay: 0.1}
        returns: nothing
      - name: broken
        rules:
          - returns: {reject: {code: -32001, message: no}}
            times: 1
          - returns: {text: x, fault: disconnect}
    resources:
      - {uri: "notes://1", text: one, mime_type: text/plain}
    prompts:
      - {name: review, messages: "Review {topic}", arguments: {topic*: what}}
      - name: chat
        messages:
          - {text: hi}
          - {text: hello, role: assistant}
  other:
    tools: [{name: ping, returns: pong}]
"""


@pytest.fixture
def write(tmp_path):
    def make(text, name="servers.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def test_a_file_has_servers_by_name_with_tools_resources_and_prompts(write, serve, connect):
    path = write(GOOD)
    assert mcp_script_problems(path) == []

    async def body(server):
        async with connect(server) as (client, _):
            assert client.instructions == "Search before you answer."
            results = [
                await client.call_tool("search", {"query": query}) for query in ("Soup", "Soup", "tea")
            ]
            assert [result.content[0].text for result in results] == [
                '{"hits":0}',
                "tomato soup",
                "the database is down",
            ]
            assert (await client.read_resource("notes://1")).contents[0].text == "one"
            assert (await client.get_prompt("review", {"topic": "tea"})).messages[
                0
            ].content.text == "Review tea"
            assert len((await client.get_prompt("chat")).messages) == 2

    script = load_mcp_script(path, server="notes")
    assert (script.strict, script.page_size) == (True, 10)
    assert [rule.label for rule in script.rules][:2] == [f"rule 1 ({path}:13)", f"rule 2 'empty' ({path}:15)"]
    script.strict = False
    serve(body, script=script)


def test_a_server_takes_its_script_from_the_file_by_its_name(write, serve, connect):
    async def body(server):
        async with connect(server) as (client, _):
            assert (await client.call_tool("ping")).content[0].text == "pong"

    serve(body, script=write(GOOD), name="other")


def test_a_file_with_one_server_needs_no_name_and_json_will_do(write):
    path = write(json.dumps({"mcp": {"a": {"tools": [{"name": "ping", "returns": "pong"}]}}}), "servers.json")
    assert list(load_mcp_script(path).tools) == ["ping"]


def test_a_server_that_is_not_in_the_file_is_named_with_those_that_are(write):
    path = write(GOOD)
    with pytest.raises(ScriptError, match=r"no server 'nodes'(.|\n)*notes, other"):
        load_mcp_script(path, server="nodes")
    with pytest.raises(ScriptError, match="several servers"):
        load_mcp_script(path)


BAD = """
mcp:
  notes:
    toolz: []
    tools:
      - name: ""
      - name: search
        schema: {type: string}
        rules:
          - when: {query: "/(/"}
            returns: x
          - returns: {text: a, error: b}
          - return: x
            times: 0
  other: 3
extra: 1
"""


def test_every_problem_has_its_line(write):
    problems = mcp_script_problems(write(BAD))
    assert {(problem.line, problem.key) for problem in problems} >= {
        (4, "mcp.notes.toolz"),
        (6, "mcp.notes.tools[0].name"),
        (12, "mcp.notes.tools[1].rules[1].returns.error"),
        (13, "mcp.notes.tools[1].rules[2].return"),
        (14, "mcp.notes.tools[1].rules[2].times"),
        (15, "mcp.other"),
        (16, "extra"),
    }
    assert [problem.line for problem in problems] == sorted(problem.line for problem in problems)


def test_conditions_and_schemas_are_checked_once_the_form_is_right(write):
    text = """
mcp:
  notes:
    tools:
      - name: search
        schema: {type: string}
      - name: find
        rules:
          - when: {query: "/(/"}
            returns: x
"""
    problems = mcp_script_problems(write(text))
    assert [(problem.line, problem.key) for problem in problems] == [
        (5, "mcp.notes.tools[0]"),
        (9, "mcp.notes.tools[1].rules[0].when.query"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("rules: []", "a.yaml", "a mapping with `mcp`"),
        ("- 1", "a.yaml", "a mapping with `mcp`"),
        ("mcp: {}", "a.yaml", "expected servers by name, got an empty mapping"),
        ("mcp: [1]", "a.yaml", "expected servers by name, got a list"),
        ("mcp: {", "a.yaml", "not YAML"),
        ("", "a.yaml", "empty"),
        ("mcp: {}", "a.txt", "ends in one of"),
    ],
)
def test_files_that_are_no_script_are_refused(write, text, name, message):
    with pytest.raises(ScriptLoadError, match=message):
        load_mcp_script(write(text, name))


def test_a_file_that_is_missing_or_not_text_is_refused(tmp_path):
    assert "cannot be read" in mcp_script_problems(tmp_path / "missing.yaml")[0].message
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in mcp_script_problems(tmp_path / "binary.yaml")[0].message


def test_there_is_a_schema_for_editors():
    schema = mcp_script_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert schema["required"] == ["mcp"]
    assert "asked first" in schema["$defs"]["ToolRuleSpec"]["properties"]["priority"]["description"]
    good = read_source(GOOD, SourceReport("good"), form="yaml").value
    validator.validate(good)
    good["mcp"]["other"]["toolz"] = []
    assert not validator.is_valid(good)
