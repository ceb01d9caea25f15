"""Suites in every combination of a matrix: what each dimension replaces, one report, and going on after an end."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import pytest

from soundstage.evals import (
    Case,
    CommandAgent,
    EvalTurn,
    FunctionAgent,
    Matrix,
    MatrixError,
    ModelAgent,
    NamedEvaluator,
    PromptedAgent,
    combine,
    evaluator_of,
    labelled,
    made_by,
    run_suite,
)
from soundstage.models import Script, ScriptedModel

from .conftest import suite_of


def run(suite, store, **options):
    return asyncio.run(run_suite(suite, store=store, **options))


def answers(report, store):
    """The answers of all cases, by their names."""
    return {case.name: store.open(case.runs[0].run).result().output for case in report.cases}


ANY = (NamedEvaluator("any", lambda run: True),)
CASES = [Case(name=name, input=f"go {name}", expect=ANY) for name in ("one", "two")]


def test_every_case_is_there_in_every_combination_in_one_report(store):
    async def agent(prompt, *, style):
        return f"{prompt} {style}"

    suite = combine(suite_of(agent, cases=CASES, repeat=2), Matrix(style=["plain", "loud"]))
    report = run(suite, store)
    assert answers(report, store) == {
        "one [style=plain]": "go one plain",
        "one [style=loud]": "go one loud",
        "two [style=plain]": "go two plain",
        "two [style=loud]": "go two loud",
    }
    assert [(case.base, dict(case.combination)) for case in report.cases][1] == ("one", {"style": "loud"})
    assert report.rate.runs == 8


def test_a_prompt_stands_around_each_input_and_the_case_stays_what_it_was(store):
    prompts = [labelled("plain", "{input}"), labelled("short", "In {words} words: {input}")]
    suite = combine(suite_of(cases=CASES[:1]), Matrix(prompt=prompts, words=[3]))
    assert answers(run(suite, store), store) == {
        "one [prompt=plain, words=3]": "go one",
        "one [prompt=short, words=3]": "In 3 words: go one",
    }
    assert len({suite.fingerprint_of(case) for case in suite.cases}) == 1


def test_a_prompt_of_the_suite_has_variables_and_is_replaced_by_that_of_a_matrix(store):
    async def agent(prompt):
        return prompt

    suite = suite_of(agent=PromptedAgent(FunctionAgent(agent), "in {city}: {input}"), cases=CASES[:1])
    assert list(answers(run(combine(suite, Matrix(city=["Rome"])), store), store).values()) == [
        "in Rome: go one"
    ]
    assert list(answers(run(combine(suite, Matrix(prompt=["{input}!"])), store), store).values()) == [
        "go one!"
    ]


def test_agents_are_replaced(store):
    async def loud(prompt):
        return prompt.upper()

    async def low(prompt):
        return prompt.lower()

    agents = [labelled("loud", FunctionAgent(loud)), labelled("low", FunctionAgent(low))]
    report = run(combine(suite_of(cases=CASES[:1]), Matrix(agent=agents)), store)
    assert answers(report, store) == {"one [agent=loud]": "GO ONE", "one [agent=low]": "go one"}


def test_models_by_what_makes_them_by_their_names_and_their_system_texts(store):
    def model_of(text):
        script = Script()
        script.on(user="go", system="Polite", model="gpt").reply(f"{text}, please")
        script.on(user="go").reply(text)
        return lambda: ScriptedModel(script, shared=True)

    suite = suite_of(agent=ModelAgent("m"), cases=CASES[:1])
    matrix = Matrix(live=[labelled("first", model_of("1")), labelled("second", model_of("2"))])
    assert list(answers(run(combine(suite, matrix), store), store).values()) == ["1", "2"]
    suite = suite_of(agent=ModelAgent("m"), cases=CASES[:1], model=model_of("1"))
    matrix = Matrix(
        model=["openai/gpt", "other"], system=[labelled("none", ""), labelled("polite", "Polite.")]
    )
    assert list(answers(run(combine(suite, matrix), store), store).values()) == ["1", "1, please", "1", "1"]


def test_workspaces_and_words_of_commands_are_replaced(store, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "text.txt").write_text(f"in {name}")
    code = "import sys; print(open('text.txt').read(), sys.argv[1:])"
    agent = CommandAgent((sys.executable, "-c", code, "--level={level}", "{input}"))
    matrix = Matrix(workspace=[labelled(name, tmp_path / name) for name in "ab"], level=[1])
    report = run(combine(suite_of(agent=agent, cases=CASES[:1]), matrix), store)
    assert list(answers(report, store).values()) == [f"in {name} ['--level=1', 'go one']" for name in "ab"]


def test_variables_stand_in_inputs_and_turns(store):
    cases = [
        Case(name="a", input="weather in {city}", expect=ANY),
        Case(name="b", turns=(EvalTurn(input="{city}?"), EvalTurn(input="again {city}")), expect=ANY),
    ]
    report = run(combine(suite_of(cases=cases), Matrix(city=["Rome"])), store)
    assert list(answers(report, store).values()) == ["weather in Rome", "again Rome"]


def test_values_are_made_for_each_run_and_left_after_it(store):
    events = []

    @contextlib.asynccontextmanager
    async def tools():
        events.append("opened")
        yield ["search"]
        events.append("closed")

    async def agent(prompt, *, tools, style):
        events.append((tools, style))
        return "x"

    matrix = Matrix(tools=[made_by(tools)], style=["plain"])
    run(combine(suite_of(agent, cases=CASES[:1], repeat=2), matrix), store, concurrency=1)
    assert events == ["opened", (["search"], "plain"), "closed"] * 2


def test_an_agent_can_be_made_and_what_it_does_not_take_is_an_error_of_its_run(store):
    async def speaker(prompt, *, style):
        return f"{style}!"

    async def made():
        return FunctionAgent(speaker)

    suite = suite_of(cases=CASES[:1])
    report = run(combine(suite, Matrix(agent=[made_by(made)], style=["s"])), store)
    assert list(answers(report, store).values()) == ["s!"]
    report = run(combine(suite, Matrix(agent=[made_by(made)], style=["s"], stile=["t"])), store)
    assert "stile" in report.errors[0].reason


@pytest.mark.parametrize(
    ("dimensions", "told"),
    [
        ({"city": ["Rome"]}, "matrix.city: nothing takes it"),
        ({"model": ["m"]}, "matrix.model: nothing takes it"),
        ({"agent": ["loud"]}, "expected an agent"),
        ({"prompt": ["no place for it"]}, "expected a text with {input}"),
        ({"workspace": ["/nowhere/at/all"]}, "there is no folder"),
        ({"prompt": [made_by(lambda: "x")]}, "is an agent, or an argument"),
    ],
)
def test_a_dimension_that_nothing_takes_and_a_value_that_does_not_fit_are_refused(dimensions, told):
    with pytest.raises(MatrixError) as caught:
        combine(suite_of(cases=CASES), Matrix(**dimensions))
    assert told in str(caught.value)


def test_a_case_with_an_agent_of_its_own_is_refused():
    case = Case(name="a", input="x", expect=ANY, agent=ModelAgent("m"))
    with pytest.raises(MatrixError, match="the case 'a' has an agent"):
        combine(suite_of(cases=[case]), Matrix(prompt=["{input}"]))


def test_a_case_is_chosen_in_one_combination_or_in_all(store):
    suite = combine(suite_of(cases=[Case(name="a", input="{n}", expect=ANY), *CASES[:1]]), Matrix(n=[1, 2]))
    assert [case.name for case in run(suite, store, only=["a"]).cases] == ["a [n=1]", "a [n=2]"]
    assert [case.name for case in run(suite, store, only=["a [n=2]"]).cases] == ["a [n=2]"]


def test_a_matrix_is_resumed_without_repeating_a_run(store):
    made = []

    async def agent(prompt, *, n):
        made.append((prompt, n))
        return "x"

    suite = combine(suite_of(agent, cases=CASES, repeat=2), Matrix(n=[1, 2]))
    first = run(suite, store, only=["one"])
    assert len(made) == 4
    again = run(suite, store, resume=True)
    assert len(made) == 8
    assert again.eval == first.eval
    assert again.cases[:2] == first.cases
    other = combine(suite_of(agent, cases=CASES, repeat=2), Matrix(n=[1, 3]))
    assert other.fingerprint != suite.fingerprint


def test_the_evaluators_of_a_case_see_its_input_as_it_is():
    suite = combine(
        suite_of(cases=[Case(name="a", input="go", expect=(evaluator_of("contains", "go"),))]),
        Matrix(prompt=["say {input}"]),
    )
    assert suite.cases[0].input == "go"


def test_each_agent_of_a_matrix_has_the_model_on_a_port_if_it_needs_one(store):
    code = "import os; print(os.environ['OPENAI_BASE_URL'])"
    agents = [
        labelled("alone", ModelAgent("m")),
        labelled("program", CommandAgent((sys.executable, "-c", code, "{input}"))),
    ]
    suite = suite_of(agent=agents[0].value, cases=CASES[:1])
    report = run(combine(suite, Matrix(agent=agents)), store)
    assert answers(report, store)["one [agent=program]"].startswith("http://127.0.0.1:")


def test_the_prompt_of_the_suite_is_around_the_inputs_of_every_agent_of_a_matrix(store):
    async def agent(prompt):
        return prompt

    agents = [
        labelled("bare", FunctionAgent(agent)),
        labelled("own", PromptedAgent(FunctionAgent(agent), "own {input}")),
    ]
    suite = suite_of(agent=PromptedAgent(FunctionAgent(agent), "suite {input}"), cases=CASES[:1])
    report = run(combine(suite, Matrix(agent=agents)), store)
    assert list(answers(report, store).values()) == ["suite go one", "own go one"]


def test_a_dimension_does_not_take_the_place_of_the_input():
    agent = CommandAgent(("echo", "{input}"))
    with pytest.raises(MatrixError, match="the input of a case"):
        combine(suite_of(agent=agent, cases=CASES), Matrix(input=["x", "y"]))
