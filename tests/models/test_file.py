"""Script files: what is read, and every problem with its line."""

from __future__ import annotations

import json
import textwrap

import pytest
from typer.testing import CliRunner

from soundstage.cli import app
from soundstage.errors import ProviderError, ScriptLoadError
from soundstage.models import ErrorSpec, Script, ScriptedModel, load_rules, load_script, script_problems

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
  - reply: {text: queued}                  # no `when`: serves once, in order
default: {text: "nothing scripted for that"}
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a file into the current folder and gives its name."""
    monkeypatch.chdir(tmp_path)

    def writing(text, name="script.yaml"):
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")
        return name

    return writing


def problems(path):
    return [str(problem) for problem in script_problems(path)]


def test_the_example_does_what_it_says(write, ask):
    model = ScriptedModel(load_script(write(EXAMPLE)))
    first = ask(model, "please implement AUTH", prompt="You are the executor.", tools=("continue",))
    assert (first.text, first.tool_calls[0].arguments) == ("Done.", {"phase": "verification"})
    assert [ask(model).text for _ in range(4)] == ["Hello", "Hello", "queued", "nothing scripted for that"]
    with pytest.raises(Exception, match="busy"):
        ask(model, "flaky")


def test_yaml_json_and_data_give_the_same_rules(write):
    yaml = pytest.importorskip("yaml")
    data = yaml.safe_load(EXAMPLE)
    written = [
        load_script(write(EXAMPLE)),
        load_script(write(json.dumps(data, indent=2), "script.json")),
        load_script(write(EXAMPLE, "script.yml")),
        Script.from_data(data),
    ]
    plain = [[rule._replace(where="") for rule in script.rules] for script in written]
    assert plain[0] == plain[1] == plain[2] == plain[3]
    assert len({str(script.agents) for script in written}) == 1


def test_each_rule_knows_its_line_and_messages_show_it(write):
    script = Script.load(write(EXAMPLE))
    assert [rule.where for rule in script.rules] == [f"script.yaml:{line}" for line in (5, 8, 10, 13)]
    assert script.rules[0].label == "rule 1 (script.yaml:5)"


def test_a_path_below_the_current_folder_is_shown_from_there(write, tmp_path):
    (tmp_path / "deep").mkdir()
    write(EXAMPLE, "deep/script.yaml")
    assert Script.load(tmp_path / "deep" / "script.yaml").rules[0].where == "deep/script.yaml:5"


def test_the_files_of_a_folder_are_one_script_in_the_order_of_their_names(tmp_path, ask):
    (tmp_path / "deeper").mkdir()
    for name, user, text in (
        ("b.json", "hello", "second"),
        ("a.json", "hello", "first"),
        ("c.json", "bye", "third"),
        ("deeper/a.json", "again", "never"),
    ):
        fixture = {"match": {"userMessage": user}, "response": {"content": text}}
        (tmp_path / name).write_text(json.dumps({"fixtures": [fixture]}))
    (tmp_path / "d.yaml").write_text("agents: [{name: x, when: {system: y}}]\nrules: [{reply: {text: z}}]\n")
    (tmp_path / "README.md").write_text("no script")
    script = Script.load(tmp_path)
    assert [agent.name for agent in script.agents] == ["x"]
    model = ScriptedModel(script)
    assert [ask(model, word).text for word in ("hello", "bye", "again")] == ["first", "third", "z"]
    with pytest.raises(ProviderError):  # the default of aimock, which the fourth file does not replace
        ask(model, "again")


def test_every_problem_of_a_folder_is_told_with_its_file(write, tmp_path):
    write("rules: [{reply: {txt: a}}]", "one.yaml")
    write("rules: [{reply: {text: b}}]", "three.yaml")
    write("[]", "two.json")
    assert [(problem.file, problem.key) for problem in script_problems(".")] == [
        ("one.yaml", "rules[0].reply.txt"),
        ("two.json", ""),
    ]


def test_a_folder_without_a_script_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("rules")
    with pytest.raises(ScriptLoadError, match=r"no file in this folder ends in one of \.yaml, \.yml, \.json"):
        Script.load(tmp_path)


def test_a_folder_can_be_checked_as_a_file_is(write):
    write("rules: [{reply: {text: a}}]")
    assert CliRunner().invoke(app, ["check", "."]).stdout == ".: good\n"
    write("rules: [{reply: {txt: a}}]", "z.yaml")
    assert CliRunner().invoke(app, ["check", "."]).exit_code == 1


def test_a_script_has_a_name_a_description_and_a_schema_key(write):
    script = Script.load(
        write('{"$schema": "x", "name": "demo", "description": "d", "rules": [{"reply": "a"}]}')
    )
    assert (script.name, script.strict, script.default.text) == ("demo", None, "nothing scripted for that")
    assert Script.load(write("rules: [{reply: a}]\nstrict: true")).strict is True
    assert Script.load(write("rules: [{reply: a}]\nstrict: false")).strict is False


BAD = """\
version: 1
nmae: x
agents:
  - {name: 3, when: {system: "/(/"}, phase: "/x/"}
  - name: e
    when: {iteraton: 3}
rules:
  - when: {user: "/(/i", iteration: 0}
    reply:
      text: a
      error: {status: 200}
  - when: {user: 3}
    reply: {}
    times: 0
    priority: "high"
  - reply: ""
  - when: {user: b}
    reply: {text: a, error: {}}
  - whn: {user: hello}
    reply: [a]
  - when: {header: {}, tools: "x", contains: [], system: {foo: 1}}
    reply: {tool_calls: [{nam: x, arguments: 3}], delay: -1, finish: ended}
  - when:
    reply: {text: ""}
    times: true
  - just text
strict: true
default: x
"""


def test_every_problem_of_a_file_is_listed_with_line_and_key(write):
    assert [problem.split(";")[0] for problem in problems(write(BAD))] == [
        "script.yaml:2: nmae: unknown key",
        "script.yaml:4: agents[0].name: expected text, got the number 3",
        (
            "script.yaml:4: agents[0].when.system: /(/ is not a regular expression: missing ), "
            "unterminated subpattern at position 0"
        ),
        "script.yaml:4: agents[0].phase: a phase is found by an expression with a group",
        "script.yaml:6: agents[1].when.iteraton: unknown key",
        (
            "script.yaml:8: rules[0].when.user: /(/ is not a regular expression: missing ), "
            "unterminated subpattern at position 0"
        ),
        "script.yaml:8: rules[0].when.iteration: numbers count from 1",
        (
            "script.yaml:11: rules[0].reply.error.status: expected a whole number of at least 400 and at most 599, "
            "got the number 200"
        ),
        "script.yaml:12: rules[1].when.user: expected text or a list or a mapping, got the number 3",
        "script.yaml:13: rules[1].reply: a reply needs one of text, chunks, blocks, tool_calls, error, fault",
        "script.yaml:14: rules[1].times: expected a whole number of at least 1, got the number 0",
        "script.yaml:15: rules[1].priority: expected a whole number, got the text 'high'",
        "script.yaml:16: rules[2].reply: the reply is empty",
        "script.yaml:18: rules[3].reply.error: a reply has either text or error, not both",
        "script.yaml:19: rules[4].whn: unknown key",
        "script.yaml:20: rules[4].reply: expected text or a mapping, got a list of 1",
        "script.yaml:21: rules[5].when.tools: expected true or false, got the text 'x'",
        "script.yaml:21: rules[5].when.header: headers are given by name",
        "script.yaml:21: rules[5].when.contains: `any` needs at least one condition",
        "script.yaml:21: rules[5].when.system: a condition that is a mapping has one operator",
        "script.yaml:22: rules[5].reply.tool_calls[0].nam: unknown key",
        "script.yaml:22: rules[5].reply.tool_calls[0].arguments: expected a mapping, got the number 3",
        (
            "script.yaml:22: rules[5].reply.delay: expected a number of at least 0 and at most 1000000000, "
            "got the number -1"
        ),
        (
            "script.yaml:22: rules[5].reply.finish: expected one of content_filter, error, length, pause, stop, "
            "tool_calls, got the text 'ended'"
        ),
        "script.yaml:23: rules[6].when: expected a mapping, got nothing",
        "script.yaml:24: rules[6].reply: the reply is empty",
        "script.yaml:25: rules[6].times: expected a whole number of at least 1, got true",
        "script.yaml:26: rules[7]: expected a mapping, got the text 'just text'",
        "script.yaml:28: default: a strict script has no default: a request without a rule is an error",
    ]


def test_loading_raises_all_of_them_at_once_and_adds_nothing(write):
    with pytest.raises(ScriptLoadError) as caught:
        load_script(write(BAD))
    assert len(caught.value.problems) == 29
    assert "29 problems" in str(caught.value)
    script = Script()
    with pytest.raises(ScriptLoadError):
        load_rules(script, "rules:\n  - reply: fine\n  - reply: {}\n")
    assert script.rules == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rules: [", "this is not YAML"),
        (
            "version: 2\nrules: [{rply: x}]",
            "script.yaml:1: version: this Soundstage reads version 1, got the number 2",
        ),
        ("version: true\nrules: []", "script.yaml:1: version: this Soundstage reads version 1, got true"),
        ("version: 1\n", "script.yaml:1: `rules` is missing"),
        ("version: 1\nrules: []", "script.yaml:2: rules: there are no rules"),
        ("version: 1\nrules:", "script.yaml:2: rules: expected a list, got nothing"),
        ("rules: {a: b}", "script.yaml:1: rules: expected a list, got a mapping with a"),
        ("- reply: a", "script.yaml:1: a script is a mapping with `rules`, got a list of 1"),
        ("rules:\n - reply: a\n   times: 1\n   times: 2", "script.yaml:4: times: this key is there twice"),
        (
            "rules:\n - when: {user: }\n   reply: a",
            "rules[0].when.user: expected text or a list or a mapping, got nothing",
        ),
        ("rules:\n - reply: {text: a, delay: .inf}", "rules[0].reply.delay: expected a number"),
        ("rules:\n - reply: a\ndefault: ''", "script.yaml:3: default: the reply is empty"),
        ("rules:\n - reply: {chunks: [], model: x}", "script.yaml:2: rules[0].reply: the reply is empty"),
        ("rules:\n - reply: {text: '', tool_calls: []}", "script.yaml:2: rules[0].reply: the reply is empty"),
        ("rules:\n - reply: {blocks: []}", "script.yaml:2: rules[0].reply: the reply is empty"),
        ("rules:\n - reply: {blocks: [{text: a, thinking: b}]}", "exactly one of text, thinking"),
        (
            "rules:\n - reply: {chunks: [a, 3]}",
            "rules[0].reply.chunks: expected a list (text each), got a list of 2",
        ),
        (
            "rules:\n - reply: {tool_calls: [{name: ''}]}",
            "expected a text that is not empty, got an empty text",
        ),
        ("", "script.yaml: it is empty"),
    ],
)
def test_one_problem_is_said_in_words(write, text, expected):
    (problem,) = problems(write(text))
    assert expected in problem


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("missing.yaml", "missing.yaml: the file cannot be read: No such file or directory"),
        ("missing.py", "missing.py: the file cannot be read: No such file or directory"),
        ("script.txt", "script.txt: expected a file that ends in one of .yaml, .yml, .json, .py, got .txt"),
        ("script", "script: expected a file that ends in one of .yaml, .yml, .json, .py, got no ending"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem_too(write, name, expected):
    write(EXAMPLE, "script.txt")
    assert problems(name) == [expected]


def test_a_file_that_is_not_utf_8_is_a_problem(write, tmp_path):
    (tmp_path / "script.yaml").write_bytes(b"rules: [{reply: \xff}]")
    assert "is not UTF-8" in problems("script.yaml")[0]


def test_shadowed_rules_are_reported_with_both_lines_and_do_not_stop_loading(write):
    name = write("rules:\n  - when: {user: a}\n    reply: x\n  - when: {user: ab}\n    reply: y\n")
    script = load_script(name)
    expected = (
        "script.yaml:4: rule 2 (script.yaml:4) can never fire: rule 1 (script.yaml:2) [user 'a'] comes first"
    )
    assert [str(problem) for problem in script.problems()] == [expected]
    assert problems(name) == [expected]
    assert problems(write(EXAMPLE)) == []


def test_a_python_file_defines_a_script(write, ask):
    name = write(
        """
        from soundstage.models import Script
        script = Script(strict=True)
        script.on(user="hello").reply(lambda request: request.model)
        """,
        "script.py",
    )
    assert ask(ScriptedModel(load_script(name)), model="gpt").text == "gpt"


def test_a_python_file_is_not_run_as_a_program_and_can_tell_who_loads_it(write):
    name = write(
        """
        from soundstage.models import Script
        script = Script()
        script.on().reply(__name__)
        """,
        "script.py",
    )
    assert load_script(name).rules[0].reply.text == "soundstage_script"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ny = 1 / 0\n", "script.py:2: ZeroDivisionError: division by zero"),
        ("x = (\n", "script.py:1: this is not Python: '(' was never closed"),
        ("x = 1\n", "script.py: expected `script`, a Script; got no such name"),
        ("script = 3\n", "script.py: expected `script`, a Script; got the number 3"),
        ("raise SystemExit(3)\n", "script.py:1: SystemExit: 3"),
        (
            "from soundstage.models import Script\nscript = Script()\nscript.on(usr='a')\n",
            "script.py:3: unknown condition 'usr'",
        ),
    ],
)
def test_a_python_file_that_fails_is_a_problem_with_its_line(write, text, expected):
    (problem,) = problems(write(text, "script.py"))
    assert problem.startswith(expected)


def test_a_python_file_may_load_another_one_whose_problems_are_kept(write):
    write("rules: []", "other.yaml")
    name = write(
        "from soundstage.models import load_script\nscript = load_script('other.yaml')\n", "script.py"
    )
    assert problems(name) == ["other.yaml:1: rules: there are no rules"]


def test_rules_can_be_added_to_a_script_as_text(ask):
    script = Script()
    script.on(user="hello").reply("first")
    model = ScriptedModel(script)
    added = load_rules(
        script,
        '{"rules": [{"when": {"user": "bye"}, "reply": "second"}, {"reply": "queued"}], "default": "third"}',
        source="request",
    )
    assert added == 2
    assert script.rules[1].where == "request:1"
    assert [ask(model, text).text for text in ("hello", "bye", "x", "x")] == [
        "first",
        "second",
        "queued",
        "third",
    ]
    assert (
        load_rules(script, "strict: true\nagents: [{name: a, when: {system: b}}]\nrules:\n  - reply: c\n")
        == 1
    )
    assert (script.strict, script.agents[0].name) == (True, "a")


def test_errors_in_a_file_have_all_their_fields(write):
    text = "rules: [{reply: {error: {status: 429, code: c, headers: {x: y}, should_retry: true}}}]"
    assert Script.load(write(text)).rules[0].reply.error == ErrorSpec(
        status=429, code="c", headers={"x": "y"}, should_retry=True
    )


def test_from_data_refuses_what_is_no_mapping():
    with pytest.raises(ScriptLoadError, match="a script is a mapping with `rules`, got a list of 1"):
        Script.from_data([{"reply": "a"}])
