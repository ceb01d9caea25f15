"""Rules of tools are those of a model's script: choice, strictness, files, and the words of every message."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.errors import NoMatchError, ScriptError
from soundstage.host import HostBuilder
from soundstage.mcp import McpScript, McpServer, load_mcp_script, mcp_script_problems
from soundstage.mcp._rules import CallFacts, call_conditions, no_answer
from soundstage.models import Script, script_problems
from soundstage.scripts import described, holds
from soundstage.scripts._index import RuleIndex


def call_of(**arguments):
    return CallFacts("search", arguments)


def test_conditions_on_arguments_want_the_argument_to_be_there():
    conditions = call_conditions("search", {"query": {"not": "tea"}, "n": 3})
    assert holds(conditions, call_of(query="soup", n=3, more=1))
    assert not holds(conditions, call_of(n=3))
    assert not holds(conditions, call_of(query="soup", n=4))
    assert not holds(conditions, CallFacts("find", {"query": "soup", "n": 3}))
    assert holds(call_conditions("", {}), call_of())
    assert described(conditions) == "tool 'search', arguments.query not 'tea', arguments.n 3"


def test_an_argument_may_be_called_as_the_conditions_are():
    conditions = call_conditions("search", {"tool": "hammer", "arguments": "many"})
    assert holds(conditions, call_of(tool="hammer", arguments="many"))
    assert not holds(conditions, call_of(tool="saw", arguments="many"))


def test_the_nearest_rules_come_first_with_each_reason():
    script = McpScript()
    script.on_tool("search", arguments={"query": "soup", "n": 1}, name="far").returns("a")
    script.on_tool("search", arguments={"query": "tea", "n": 2}, name="near").returns("b")
    script.on_tool("search", arguments={"query": "tea"}, times=1, name="served").returns("c")
    script.on_tool("find", arguments={"query": "tea"}).returns("d")
    call = call_of(query="tea")
    assert script.serving.choose(call).name == "served"
    error = no_answer(call, script.rules, script.serving)
    assert error.summary == "no rule answers the call search(query='tea')"
    _, near, served, far = error.seen.splitlines()
    assert (
        near
        == "rule 2 'near' [tool 'search', arguments.query 'tea', arguments.n 2]: arguments.n: it is not given"
    )
    assert served.endswith("arguments.query 'tea']: it has served its 1 time(s)")
    assert "arguments.query: " in far
    assert far.endswith("arguments.n: it is not given")


def test_of_ten_thousand_tools_only_the_rules_of_one_are_asked():
    script = McpScript()
    for number in range(10_000):
        script.on_tool(f"tool {number}").returns("x")
    index = RuleIndex(script.rules.ordered(), script.rules.kinds)
    assert list(index.candidates(CallFacts("tool 4711", {}))) == [4711]
    assert script.serving.choose(CallFacts("tool 4711", {})).number == 4712


SAME = {
    "times": ({"times": 0}, "a rule serves at least once"),
    "priority": ({"priority": 1.5}, "a priority is a whole number"),
    "name": ({"name": 3}, "`name` is of another type"),
}


@pytest.mark.parametrize("option", SAME)
def test_options_that_cannot_be_are_refused_in_the_same_words(option):
    options, words = SAME[option]
    with pytest.raises(ScriptError, match=words) as of_model:
        Script().on(user="hello", **options).reply("x")
    with pytest.raises(ScriptError) as of_server:
        McpScript().on_tool("search", **options).returns("x")
    assert type(of_model.value) is type(of_server.value)
    assert str(of_model.value) == str(of_server.value)


MODEL = """version: 1
rules:
  - when: {user: soup}
    times: 1
    reply: a
  - when:
      user: tea
    reply: b
"""
SERVER = """version: 1
mcp:
  notes:
    tools:
      - name: search
        rules:
          - when: {query: soup}
            times: 1
            returns: a
          - when:
              query: tea
            returns: b
"""
FAULTS = {
    "expression": ("soup", "/(/", "unterminated"),
    "expression in a line of its own": ("tea", "/)/", "unbalanced"),
    "version": ("version: 1", "version: 2", "this Soundstage reads version 1, got the number 2"),
    "key": ("times", "tims", "unknown key; did you mean 'times'?"),
    "number": ("times: 1", "times: 0", "expected a whole number of at least 1, got the number 0"),
    "twice": ("times: 1", "times: 1, times: 1", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_files_of_both_kinds_have_the_same_problems_at_their_lines(tmp_path, monkeypatch, fault):
    monkeypatch.chdir(tmp_path)
    old, new, words = FAULTS[fault]
    found = []
    for name, text, problems in (("model", MODEL, script_problems), ("server", SERVER, mcp_script_problems)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text.replace(old, new))
        (problem,) = problems(path)
        line = next(number for number, line in enumerate(text.splitlines(), start=1) if old in line)
        assert (problem.file, problem.line) == (f"{name}.yaml", line)
        found.append(problem.message)
    assert found[0] == found[1]
    assert words in found[0]


HIDDEN = """
mcp:
  notes:
    tools:
      - name: search
        rules:
          - {when: {query: soup}, returns: a}
          - {when: {query: tomato soup}, returns: b}
          - {when: {query: good bye}, times: 1, returns: c}
          - {when: {query: go}, returns: d}
      - name: find
        rules:
          - {when: {query: tomato soup}, returns: a}
"""


def test_a_rule_that_can_never_fire_and_a_text_within_anothers_are_named_with_file_and_line(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(HIDDEN)
    never, warning = mcp_script_problems("s.yaml")
    assert str(never).startswith(
        "s.yaml:8: rule 2 (s.yaml:8) can never fire: rule 1 (s.yaml:7) [tool 'search', "
    )
    assert (warning.line, warning.warning) == (9, True)
    assert "'go' is a part of 'good bye'" in warning.message
    assert len(load_mcp_script("s.yaml").rules) == 5


def run_with(body, **options):
    """A strict run with a server that has one rule."""

    async def main():
        async with HostBuilder().add(McpServer, **options).build() as host:
            server = host.get(McpServer)
            server.on_tool("search", arguments={"query": "soup"}).returns("tomato")
            await body(server)

    asyncio.run(main())


def test_a_server_of_a_strict_run_is_strict(connect, refused):
    async def ask(server):
        async with connect(server) as (client, _):
            await client.call_tool("search", {"query": "soup"})
            await refused(client.call_tool("search", {"query": "tea"}))

    async def nothing(server):
        """Nobody calls."""

    with pytest.raises(NoMatchError, match="the nearest rules"):
        run_with(ask)
    with pytest.raises(ScriptError, match=r"1 rule\(s\) of the strict script of mcp were never used"):
        run_with(nothing)


@pytest.mark.parametrize("options", [{"strict": False}, {"script": McpScript(strict=False)}])
def test_a_server_of_a_strict_run_may_say_otherwise(connect, options):
    async def ask(server):
        async with connect(server) as (client, _):
            answer = await client.call_tool("search", {"query": "tea"})
            assert answer.content[0].text == "nothing scripted for that"

    run_with(ask, **options)
