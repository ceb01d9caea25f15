"""Each built-in evaluator: a run that it passes, one that it does not, with the reason, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from soundstage.errors import UnknownNameError, WrongValueError
from soundstage.evals import (
    KINDS,
    AbsentDataError,
    Case,
    EvalRun,
    EvaluatorError,
    Grade,
    NamedEvaluator,
    evaluator_of,
    grade,
)
from soundstage.journal import (
    AgentStarted,
    FileChanged,
    ModelRequested,
    ModelResponded,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import Caller, ModelRequest, ModelResponse, ToolDefinition, user
from soundstage.runs import RunResult
from soundstage.trace import Cost, Finding

SCHEMA = {"type": "object", "required": ["plan"], "properties": {"tasks": {"type": "array", "minItems": 1}}}
TOOLS = (
    ToolCalled(call_id="1", name="search", arguments={"q": "weather"}),
    ToolReturned(call_id="1", text="found"),
    ToolCalled(call_id="2", name="read", arguments={"path": "a.txt"}),
    ToolReturned(call_id="2", text="text"),
)
AGENTS = (AgentStarted(agent="planner"), AgentStarted(agent="coder"))


def asked(agent, *tools):
    """A request of an agent that offers tools."""
    definitions = tuple(ToolDefinition(name=name) for name in tools)
    caller = Caller(agent=agent)
    return ModelRequested(
        request=ModelRequest(model="m", messages=(user("x"),), tools=definitions, caller=caller)
    )


OFFER = asked("", "search", "read", "delete")
TURNS = (asked("planner"), asked("coder"))
ENDS = {word: (ModelResponded(response=ModelResponse(parts=(), finish=word)),) for word in ("stop", "length")}
FILES = (FileChanged(path="src/a.py", change="modified"), FileChanged(path="b.txt", change="added"))
SHAPE = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
WEATHER_TOOL = {"type": "function", "function": {"name": "weather", "parameters": SHAPE}}


def call(arguments):
    return json.dumps({"name": "weather", "arguments": arguments})


def called(arguments, *, wrapped=False):
    calls = [{"function": json.loads(call(arguments))}]
    return json.dumps({"tool_calls": calls} if wrapped else calls)


PASS_AND_FAIL = [
    ("contains", "sunny", "it is sunny", "rain"),
    ("contains", ["it", "sunny"], "it is sunny", "it rains"),
    ("not_contains", ["rain", "snow"], "sunny", "snow and sun"),
    ("not-contains", "rain", "sunny", "rain"),
    ("output_matches", "/sun+y/i", "SUNNY", "rain"),
    ("output_matches", {"all": ["sun", {"not": "rain"}]}, "sun", "sun and rain"),
    ("equals", "sunny", " sunny\n", "sunny."),
    ("equals_normalised", "It is  sunny", "it is sunny.", "it is not sunny"),
    ("similar", {"to": "it is sunny today", "at_least": 0.7}, "it is sunny to day", "rain"),
    ("no_errors", True, "all good", "there was an error"),
    ("no_errors", ["Traceback"], "an error", "Traceback (most recent call last)"),
    ("is_json", True, '{"a": 1}', 'Here: {"a": 1}'),
    ("is_json", SCHEMA, '{"plan": "x", "tasks": [1]}', '{"plan": "x", "tasks": []}'),
    ("contains_json", True, 'Here: {"a": 1}', "Here: {a: 1}"),
    ("contains_json", SCHEMA, 'No: {"a": 1}. Yes: {"plan": "x"}', 'Here: {"a": 1}'),
    ("is_xml", True, "<a>&lt;</a>", "see <a/>"),
    ("is_xml", ["a.b.1", "a.@_k"], "<a k='1'><b/><b/></a>", "<a k='1'><b/></a>"),
    ("is_xml", True, "<!DOCTYPE a><a/>", '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>'),
    ("contains_xml", True, "so: <a k>x & y</a>.", "so: <a>x"),
    ("contains_xml", ["a.#text", "b"], "<a k='1'>x</a> and <b/>", "<a>x</a> and <b/>"),
    ("valid_tool_calls", [WEATHER_TOOL], called('{"city": "Rome"}'), called('{"town": "Rome"}')),
    ("valid_tool_calls", [WEATHER_TOOL], called('{"city": "Rome"}', wrapped=True), "[]"),
    ("valid_function_call", [WEATHER_TOOL["function"]], call('{"city": "Rome"}'), call("{")),
    ("tool_call_f1", ["weather"], called("{}"), "I call weather"),
    ("tool_call_f1", {"tools": ["weather", "time"], "at_least": 0.6}, called("{}"), '[{"name": "time2"}]'),
    ("expression", "output.startswith('a') and len(output) > 2", "abc", "ab"),
    ("expression", "any(word in output for word in ['x', 'y'])", "yes", "no"),
    ("levenshtein", {"to": "sunny", "at_most": 1}, "sunnyy", "sun"),
    ("rouge_n", {"to": "it is sunny", "at_least": 0.6}, "it is sunny today", "rain"),
    ("gleu", ["rain", "it is sunny"], "It is sunny.", "a cold day"),
    ("bleu", ["rain", "it is sunny"], "it is sunny", "it is not"),
    ("word_count", {"at_most": 3}, "it is sunny", "it is not sunny"),
    ("python_code", "len(output) < 6", "sunny", "cloudy"),
    ("javascript", "output.length < 6", "sunny", "cloudy"),
    ("not", {"contains": "rain"}, "sunny", "rain"),
    ("score", {"of": ["no_errors", {"contains": "sun"}], "at_least": 0.6}, "sun", "rain"),
    ("transform", {"by": {"python": "output[0]"}, "expect": {"equals": "s"}}, "sunny", "rain"),
]


@pytest.mark.parametrize(("kind", "spec", "good", "bad"), PASS_AND_FAIL)
def test_a_check_of_the_answer_passes_the_good_one_and_says_why_the_bad_one_fails(
    graded, kind, spec, good, bad
):
    assert graded(kind, spec, good).passed is True
    failing = graded(kind, spec, bad)
    assert failing.passed is False
    assert failing.reason


COURSES = [
    ("finish_reason", "stop", ENDS["stop"], ENDS["length"]),
    ("tool", "search", TOOLS, ()),
    ("tool", {"name": "search", "arguments": {"q": "weather"}}, TOOLS, TOOLS[2:]),
    (
        "tool",
        {"name": "search", "times": 1},
        TOOLS,
        (*TOOLS, ToolCalled(call_id="3", name="search", arguments={})),
    ),
    ("no_tool", ["delete", "read"], (OFFER, *TOOLS[:2]), (OFFER, *TOOLS)),
    ("tools", ["search", "read"], TOOLS, (*TOOLS[2:], *TOOLS[:2])),
    ("tools", {"calls": ["read", "search"], "order": "any_order"}, TOOLS, TOOLS[:2]),
    ("trajectory_contains", ["coder", "planner"], AGENTS, AGENTS[:1]),
    ("agents", ["planner", "coder"], TURNS, TURNS[::-1]),
    ("files_modified", 2, FILES, FILES[:1]),
    ("files_modified", "src/*.py", FILES, FILES[1:]),
    ("model_requests", 0, (), None),
    ("no_egress", True, (), None),
    ("no_failures", True, (), None),
    ("tokens", {"at_most": 10}, (), None),
    ("latency", 3600, (), None),
    ("cost", 0, (), None),
]


@pytest.mark.parametrize(("kind", "spec", "good", "bad"), COURSES)
def test_a_check_of_the_course_passes_the_good_run_and_says_why_the_bad_one_fails(
    graded, kind, spec, good, bad
):
    assert graded(kind, spec, events=good).passed is True
    if bad is not None:
        failing = graded(kind, spec, events=bad)
        assert failing.passed is False
        assert failing.reason


def run_with(**result):
    return EvalRun(case=Case(name="a", input="b"), result=RunResult(**result))


@pytest.mark.parametrize(
    ("spec", "amount", "passed"),
    [
        (0.01, 0.01, True),
        (0.01, 0.011, False),
        ({"at_least": 0.02}, 0.01, False),
        ({"at_least": 0.01}, 0.01, True),
    ],
)
def test_a_bound_includes_itself_and_gives_the_amount_as_score(spec, amount, passed):
    found = asyncio.run(grade(evaluator_of("cost", spec), run_with(cost=Cost(amount=amount))))
    assert (found.passed, found.score) == (passed, amount)
    assert "$" in found.reason


def test_a_cost_that_is_not_known_keeps_its_reason_and_does_not_pass():
    found = asyncio.run(
        grade(evaluator_of("cost", 1), run_with(cost=Cost(amount=None, reason="no price of model-x")))
    )
    assert found.absent
    assert not found.holds
    assert "no price of model-x" in found.reason


def test_an_answer_is_compared_with_the_expected_one_of_its_case(graded):
    assert graded("expected", "exact", "4", expected="4").passed
    assert not graded("expected", "exact", "four", expected="4").passed
    assert graded("expected", "contains", "it is 4", expected=4).passed
    assert graded("expected", "normalised", "Paris.", expected="paris").passed
    assert graded("expected", "exact", "4").absent


def test_a_program_runs_in_the_workspace_as_the_agent_left_it(graded, tmp_path):
    (tmp_path / "answer.txt").write_text("42")
    code = "import pathlib, sys; sys.exit(pathlib.Path('answer.txt').read_text() != '42')"
    command = [sys.executable, "-c", code]
    assert graded("program", command, folder=tmp_path).passed is True
    (tmp_path / "answer.txt").write_text("41")
    failing = graded("program", command, folder=tmp_path)
    assert failing.passed is False
    assert "exit code 1, not 0" in failing.reason
    assert graded("program", {"command": command, "code": 1}, folder=tmp_path).passed is True
    assert graded("program", command).absent


def test_a_tool_that_must_not_be_called_is_known_to_the_run(graded):
    """A misspelt name would never be called; and in a run without tools nothing can be said."""
    assert graded("no_tool", "search").absent
    with pytest.raises(EvaluatorError, match="no tool 'serch' was ever offered"):
        graded("no_tool", "serch", events=(OFFER,))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "().__class__",
        "output.format(1)",
        "open('x')",
        "(lambda: 1)()",
        "output.__len__()",
        "'x' * 1000000000",
        "2 ** 99",
        "[x for x in output][0]()",
        "eval('1')",
        "output = 1",
        "x" * 3000,
    ],
)
def test_an_expression_that_could_do_more_than_compute_is_refused(text):
    with pytest.raises(WrongValueError):
        evaluator_of("expression", text)


def test_an_expression_with_a_misspelt_name_names_the_nearest():
    with pytest.raises(WrongValueError, match="did you mean 'output'"):
        evaluator_of("expression", "outptu == 'x'")


@pytest.mark.parametrize(
    ("kind", "near"), [("contian", "contains"), ("tols", "tools"), ("is-jsn", "is_json")]
)
def test_an_unknown_kind_is_refused_with_the_nearest(kind, near):
    with pytest.raises(UnknownNameError, match=f"did you mean '{near}'"):
        evaluator_of(kind, "x")


WRONG = [
    ("contains", ""),
    ("contains", []),
    ("contains", 3),
    ("similar", {"to": "x", "at_least": 2}),
    ("no_errors", False),
    ("is_json", {"type": "nothing"}),
    ("is_json", {"items": {"$ref": "http://127.0.0.1:9/schema.json"}}),
    ("contains_json", {"$ref": "file:///schema.json"}),
    ("is_json", {"$ref": "#/$defs/none"}),
    ("is_xml", []),
    ("contains_xml", [""]),
    ("valid_tool_calls", [{"type": "function", "function": {}}]),
    ("valid_function_call", [{"name": "f", "parameters": {"type": "nothing"}}]),
    ("tool_call_f1", []),
    ("expression", "[1 for a in output for b in output for c in output]"),
    ("expression", "[[[1 for a in output] for b in output] for c in output]"),
    ("expected", "roughly"),
    ("tool", {"name": "x", "tims": 1}),
    ("tool", {"name": "x", "times": 1, "arguments": {}}),
    ("tools", []),
    ("no_tool", [""]),
    ("cost", {}),
    ("cost", {"at_most": -1}),
    ("cost", {"at_mots": 1}),
    ("program", []),
    ("python", "no_colon"),
    ("python", "no_such_module:f"),
    ("no_egress", False),
]


@pytest.mark.parametrize(("kind", "spec"), WRONG)
def test_what_a_kind_does_not_take_is_refused(kind, spec):
    with pytest.raises(WrongValueError):
        evaluator_of(kind, spec)


def test_every_kind_is_tried_here_and_has_a_line_for_users():
    tried = {kind.replace("-", "_") for kind, *_ in (*PASS_AND_FAIL, *COURSES, *WRONG)}
    assert set(KINDS) == tried | {"judge"}  # which needs files: test_judge.py
    assert all(kind.doc for kind in KINDS.values())


@pytest.mark.parametrize(
    ("answer", "grade_of"),
    [
        (True, {"passed": True}),
        (False, {"passed": False, "reason": "mine does not hold"}),
        (0.5, {"score": 0.5}),
        ("polite", {"label": "polite"}),
        (Finding(passed=False, message="no", seen="x"), {"passed": False, "reason": "no; seen: x"}),
        (Grade(passed=True, score=1.0, reason="good"), {"passed": True, "score": 1.0, "reason": "good"}),
    ],
)
def test_an_evaluator_of_ones_own_gives_pass_score_label_or_all(answer, grade_of):
    async def slow(run):
        return answer

    for evaluate in (lambda run: answer, slow):
        found = asyncio.run(grade(NamedEvaluator("mine", evaluate), run_with()))
        assert found == Grade(evaluator="mine", **grade_of)


def test_a_score_and_a_label_decide_nothing():
    assert Grade(score=0.1).holds
    assert Grade(label="rude").holds
    assert not Grade(passed=False).holds


@pytest.mark.parametrize(
    "evaluate", [lambda run: 1 / 0, lambda run: None, lambda run: float("nan"), lambda run: ""]
)
def test_a_broken_evaluator_is_an_error_that_names_it_and_the_case(evaluate):
    with pytest.raises(EvaluatorError, match=r"'mine' is broken, at the case 'a'"):
        asyncio.run(grade(NamedEvaluator("mine", evaluate), run_with()))


def test_data_that_an_evaluator_of_ones_own_misses_is_told_and_does_not_pass():
    def evaluate(run):
        raise AbsentDataError("nobody has rated this")

    found = asyncio.run(grade(NamedEvaluator("mine", evaluate), run_with()))
    assert (found.absent, found.passed, found.reason) == (True, None, "nobody has rated this")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/city", "$defs": {"city": {"type": "string"}}},
        {
            "$id": "http://x/root",
            "$ref": "city",
            "$defs": {"any": {"$id": "http://x/city", "type": "string"}},
        },
        {"type": "string", "properties": {"$ref": {"const": {"$ref": "no"}}, "$id": {"type": "string"}}},
    ],
)
def test_a_schema_may_refer_to_its_own_parts(graded, schema):
    assert graded("is_json", schema, '"Rome"').passed
    assert not graded("is_json", schema, "3").passed


def test_a_schema_fetches_nothing_however_it_refers(graded, monkeypatch):
    asked = []
    monkeypatch.setattr("urllib.request.urlopen", lambda url, *_, **__: asked.append(url))
    with pytest.raises(EvaluatorError, match="Unresolvable"):
        graded("is_json", {"$dynamicRef": "http://127.0.0.1:9/schema.json"}, "3")
    assert asked == []


@pytest.mark.parametrize(
    "text", ["1" + " + 1" * 400, "-" * 900 + "1", "any(x in y for x in 'ab' for y in tools)"]
)
def test_a_long_expression_is_computed(graded, text):
    assert graded("expression", text, "", TOOLS).passed
