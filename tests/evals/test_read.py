"""Suites in files: what they become, and what is refused, with file, line and key."""

from __future__ import annotations

import json

import pytest

from soundstage.evals import (
    CommandAgent,
    EvalConfigError,
    FunctionAgent,
    ModelAgent,
    PromptedAgent,
    Suite,
    load_suite,
)
from soundstage.live import ProviderLimits

RULES = "rules:\n  - when: {user: weather}\n    reply: {text: sunny}\n"
SMALLEST = """\
version: 1
agent: {command: [python, agent.py, "{input}"]}
script: rules.yaml
repeat: 5
cases:
  - name: paris
    input: weather in Paris
    expect:
      - contains: sunny
      - tool: get_weather
      - cost: {at_most: 0.01}
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)

    def write(text, name="suite.yaml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_the_smallest_suite_is_read(written, tmp_path):
    suite = load_suite(written(SMALLEST))
    assert (suite.name, suite.repeat, suite.pass_rate) == ("suite", 5, 1.0)
    assert suite.agent == CommandAgent(("python", "agent.py", "{input}"), tmp_path)
    (case,) = suite.cases
    assert (case.name, case.input) == ("paris", "weather in Paris")
    assert [one.name for one in case.expect] == [
        "contains: sunny",
        "tool: get_weather",
        'cost: {"at_most": 0.01}',
    ]


def test_json_is_the_same_suite(written):
    import yaml

    other = load_suite(written(json.dumps(yaml.safe_load(SMALLEST)), "suite.json"))
    assert [case.name for case in other.cases] == ["paris"]


BASE = "agent: {model: openai/gpt-4.1}\nscript: rules.yaml\nexpect: [no_errors]\n"


def test_cases_come_from_json_lines(written):
    written(
        '{"name": "a", "input": "x", "expect": [{"contains": "y"}]}\n\n{"input": "z", "metadata": {"k": 1}}\n',
        "c.jsonl",
    )
    suite = load_suite(written(BASE + "cases: c.jsonl\n"))
    assert [(case.name, case.input, case.metadata) for case in suite.cases] == [
        ("a", "x", {}),
        ("case 2", "z", {"k": 1}),
    ]
    assert suite.agent == ModelAgent("gpt-4.1")


def test_cases_come_from_csv_with_other_columns_as_metadata(written):
    written('name,input,expected,level\na,"two\nlines",4,easy\n,plain,5,hard\n', "c.csv")
    first, second = load_suite(written(BASE + "cases: c.csv\n")).cases
    assert (first.name, first.input, first.expected, first.metadata) == (
        "a",
        "two\nlines",
        "4",
        {"level": "easy"},
    )
    assert (second.name, second.expected, second.metadata) == ("case 2", "5", {"level": "hard"})


def test_a_function_beside_the_suite_is_an_agent(written):
    written("def answer(prompt):\n    return prompt.upper()\n", "agent_beside_a_suite.py")
    suite = load_suite(
        written(
            "agent: {python: 'agent_beside_a_suite:answer'}\nscript: rules.yaml\n"
            "expect: [no_errors]\ncases: [{input: x}]"
        )
    )
    assert isinstance(suite.agent, FunctionAgent)
    assert suite.agent.function("x") == "X"


def test_another_script_makes_another_suite(written):
    first = load_suite(written(SMALLEST)).fingerprint
    assert load_suite(written(SMALLEST)).fingerprint == first
    written(RULES.replace("sunny", "rainy"), "rules.yaml")
    assert load_suite(written(SMALLEST)).fingerprint != first


CASES = "cases:\n  - {name: a, input: x}\n"
WRONG = [
    ("agent: [", 2, "not YAML"),
    (BASE, 1, "cases"),
    ("version: 2\n" + BASE + CASES, 1, "reads version 1"),
    (BASE + "cases:\n  - {name: a}\n", 5, "input"),
    (BASE + "cases:\n  - {name: a, input: ''}\n", 5, "cases[0].input: the case 'a' has no input"),
    (
        BASE + "cases:\n  - {name: a, input: x}\n  - name: a\n    input: y\n",
        6,
        "cases[1].name: two cases are called 'a'",
    ),
    (BASE + "cases: []\n", 4, "at least one case"),
    (BASE + CASES + "repeat: 0\n", 5, "at least 1 run"),
    (BASE + CASES + "pass_rate: 1.5\n", 5, "share above 0"),
    (BASE + CASES + "timeout: 0\n", 6, "timeout: expected seconds above 0"),
    (BASE + CASES + "repaet: 3\n", 6, "repeat"),
    (
        BASE + "cases:\n  - input: x\n    expect:\n      - contians: y\n",
        7,
        "cases[0].expect[0].contians: there is no evaluator",
    ),
    (BASE + "cases:\n  - input: x\n    expect: [{cost: {at_mots: 1}}]\n", 6, "cases[0].expect[0].cost"),
    (BASE + "cases:\n  - input: x\n    expect: [{}]\n", 6, "expected an evaluator, got none"),
    (BASE.replace("expect: [no_errors]\n", "") + CASES, 4, "nothing is expected of the case 'a'"),
    (BASE.replace("rules.yaml", "no.yaml") + CASES, 2, "script: there is no"),
    (
        BASE + CASES + "tape: x.tape\n",
        1,
        "expected one of script, tape and live (or tape with live); got script and tape",
    ),
    (BASE + CASES + "workspace: nowhere\n", 6, "workspace: there is no folder"),
    (BASE + "cases: no.csv\n", 4, "cases: there is no"),
    (BASE + "cases: rules.yaml\n", 4, ".jsonl, .csv"),
    (
        "agent: {}\n" + BASE.partition("\n")[2] + CASES,
        1,
        "expected one of command, python, driver, model, provider; got none",
    ),
    ("agent: {model: m, python: 'a:b'}\n" + BASE.partition("\n")[2] + CASES, 1, "got python and model"),
    (
        "agent: {model: m, code: 1}\n" + BASE.partition("\n")[2] + CASES,
        1,
        "agent.code: only an agent with `command`",
    ),
    ("agent: {driver: claude_cod}\n" + BASE.partition("\n")[2] + CASES, 1, "did you mean 'claude_code'"),
    ("agent: {python: 'nothing:here'}\n" + BASE.partition("\n")[2] + CASES, 1, "there is no nothing:here"),
]


@pytest.mark.parametrize(("text", "line", "words"), WRONG)
def test_what_is_wrong_in_a_suite_is_told_with_file_line_and_key(written, text, line, words):
    path = written(text)
    with pytest.raises(EvalConfigError) as caught:
        load_suite(path)
    found = [str(problem) for problem in caught.value.problems]
    assert any(words in problem for problem in found), found
    told = next(problem for problem in caught.value.problems if words in str(problem))
    assert told.line == line, told
    assert told.file.endswith("suite.yaml")


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("c.jsonl", '{"input": "x"}\n{"inptu": "y"}\n', 2, "input"),
        ("c.jsonl", '{"input": "x"}\nnot json\n', 2, "not JSON"),
        ("c.jsonl", '{"input": "x", "expect": [{"contians": "y"}]}\n', 1, "did you mean 'contains'"),
        ("c.csv", "input\nx\ny,z\n", 3, "expected 1 columns"),
        ("c.csv", "name\na\n", 2, "input"),
        ("c.csv", "name,input\na,x\nb,x\na,x\n", 4, "two cases are called 'a'"),
    ],
)
def test_what_is_wrong_in_a_file_of_cases_is_told_with_its_line(written, name, text, line, words):
    written(text, name)
    with pytest.raises(EvalConfigError) as caught:
        load_suite(written(BASE + f"cases: {name}\n"))
    told = next(problem for problem in caught.value.problems if words in str(problem))
    assert (told.line, told.file.endswith(name)) == (line, True)


def test_all_problems_are_told_at_once(written):
    with pytest.raises(EvalConfigError) as caught:
        load_suite(
            written(
                BASE.replace("no_errors", "no_erors") + "cases:\n  - input: x\n    expect: [{contians: y}]\n"
            )
        )
    assert len(caught.value.problems) == 2


def test_a_suite_in_python_without_cases_is_refused():
    with pytest.raises(EvalConfigError, match="at least one case"):
        Suite(name="x", agent=ModelAgent("m"), cases=[], model=lambda: None)


def test_turns_are_read_with_their_evaluators_and_their_mistakes_told_by_line(written):
    text = (
        BASE
        + "cases:\n  - name: booking\n    turns:\n      - input: a table\n        expect: [contains: how]\n"
    )
    (case,) = load_suite(written(text + "      - input: for two\n")).cases
    assert [(turn.input, [one.name for one in turn.expect]) for turn in case.turns] == [
        ("a table", ["contains: how"]),
        ("for two", []),
    ]
    with pytest.raises(EvalConfigError) as caught:
        load_suite(written(text + "      - input: for two\n        expect: [contians: two]\n"))
    [problem] = caught.value.problems
    assert (problem.line, problem.key) == (10, "cases[0].turns[1].expect[0].contians")


def test_limits_are_of_all_providers_or_by_name(written):
    cases = "cases: [{input: x}]\n"
    of_all = load_suite(written(BASE + cases + "limits: {requests_per_minute: 60, concurrency: 2}\n")).limits
    assert of_all == {"": ProviderLimits(requests_per_minute=60, concurrency=2)}
    by_name = load_suite(written(BASE + cases + "limits: {openai: {tokens_per_minute: 9000}}\n")).limits
    assert by_name == {"openai": ProviderLimits(tokens_per_minute=9000)}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("limits: {requests_per_minut: 3}", ":4: limits.requests_per_minut: unknown key; did you mean"),
        (
            "limits: {requests_per_minute: 0}",
            ":4: limits.requests_per_minute: a limit of a provider is a num",
        ),
        (
            "limits: {opnai: {concurrency: 1}}",
            "limits.opnai: expected a provider (openai, anthropic, gemini)",
        ),
        ("limits: {openai: {concurrency: 1.5}}", ":4: limits.openai.concurrency: expected a whole number"),
        ("limits: {openai: {concurrency: 1}, attempts: 3}", "limits.attempts: expected a provider"),
        ("limits: 3", ":4: limits: expected a mapping"),
        ("budget: {dollars: 3}", ":4: budget.dollars: unknown key"),
        ("budget: {cost: 0}", ":4: budget.cost: the budget of an eval is a number above 0"),
    ],
)
def test_a_limit_or_a_budget_that_cannot_be_is_told_with_its_line(written, words, told):
    path = written(
        BASE.replace("expect: [no_errors]\n", "cases: [{input: x, expect: [no_errors]}]\n") + words
    )
    with pytest.raises(EvalConfigError) as caught:
        load_suite(path)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "model", ["script: rules.yaml", "live: openai/gpt-4.1", "script: rules.yaml\nlive: openai"]
)
def test_there_is_nothing_to_replay_without_a_recording(written, model):
    path = written(f"agent: {{model: m}}\n{model}\ncases: [{{input: x, expect: [no_errors]}}]\n")
    with pytest.raises(EvalConfigError, match="there is no recording to replay: expected a tape; got "):
        load_suite(path, replay=True)


def test_a_given_model_is_in_the_place_of_that_of_the_file(written):
    made = object()
    suite = load_suite(written(BASE + "cases: [{input: x}]\n"), model=lambda: made)
    assert (suite.model(), suite.replayed) == (made, "")


def test_the_prompt_of_a_suite_is_around_the_inputs_of_agents_of_cases_too(written):
    case = "{input: x, expect: [no_errors], agent: {model: m}}"
    suite = load_suite(
        written(f"agent: {{command: [a]}}\nscript: rules.yaml\nprompt: 'say {{input}}'\ncases: [{case}]\n")
    )
    assert suite.agent_of(suite.cases[0]) == PromptedAgent(ModelAgent("m"), "say {input}")


def test_a_case_with_a_model_of_its_own_asks_that_one(written, monkeypatch):
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    cases = "[{input: x}, {input: x, agent: {model: anthropic/claude-x}}]"
    text = f"agent: {{model: openai/gpt-x}}\nexpect: [no_errors]\ncases: {cases}\n"
    suite = load_suite(written(text))
    asked = [suite.model_of(case) for case in suite.cases]
    assert [(one.provider, one.model) for one in asked] == [("openai", "gpt-x"), ("anthropic", "claude-x")]
    with pytest.raises(EvalConfigError, match=r"suite.yaml:3: cases\[1\].agent: this format is not known"):
        load_suite(written(text.replace("anthropic/claude-x", "claude-x")))


@pytest.mark.parametrize("name", ["a\\nb", "a\\u001b[2J", "a\\u2028b", "\\ud800"])
def test_names_are_one_line_without_control_characters(written, name):
    head = '{"agent": {"model": "m"}, "script": "rules.yaml", "expect": ["no_errors"],'
    path = written(f'{head}\n"cases": [{{"input": "x", "name": "{name}"}}]}}', "suite.json")
    with pytest.raises(EvalConfigError, match=r"suite.json:2: cases\[0\].name: expected a name of one line"):
        load_suite(path)


def test_odd_names_of_one_line_are_names(written):
    names = ["a/b", "Zürich | 🧑\u200d🌾 <b>", "n" * 300, "..", "a\u00a0b"]
    cases = "".join(f"  - {{input: x, name: {json.dumps(name, ensure_ascii=False)}}}\n" for name in names)
    assert [case.name for case in load_suite(written(BASE + "cases:\n" + cases)).cases] == names
