"""Cases of several turns: one conversation, each turn graded by itself."""

from __future__ import annotations

import asyncio
import sys

import pytest

from soundstage.evals import (
    Case,
    CommandAgent,
    EvalConfigError,
    EvalTurn,
    ModelAgent,
    evaluator_of,
    run_suite,
)
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, ScriptedModel, complete

from .conftest import suite_of


def turn(text, kind="contains", spec=None):
    return EvalTurn(input=text, expect=() if spec is None else (evaluator_of(kind, spec),))


def booking(*turns, **case):
    return [Case(name="booking", turns=turns, **case)]


def grades_of(report):
    [run] = report.cases[0].runs
    return {":".join(one.evaluator.split(":")[:2]): one.passed for one in run.grades}


def run(suite, store):
    return asyncio.run(run_suite(suite, store=store))


def table_script():
    """It asks back first."""
    script = Script()
    script.on(user="two").reply("A table for two in Rome.")
    script.on(user="Rome").reply("For how many?")
    return script


def test_a_model_alone_hears_the_whole_conversation_and_each_turn_is_graded_by_its_own_answer(store):
    asked = []

    class Listening(ScriptedModel):
        async def stream(self, request):
            asked.append([message.text for message in request.messages])
            async for part in super().stream(request):
                yield part

    suite = suite_of(
        agent=ModelAgent("gpt-4.1"),
        model=lambda: Listening(table_script(), shared=True),
        cases=booking(turn("a table in Rome", spec="how many"), turn("for two", spec="how many")),
    )
    report = run(suite, store)
    assert asked == [["a table in Rome"], ["a table in Rome", "For how many?", "for two"]]
    assert grades_of(report) == {"turn 1: contains": True, "turn 2: contains": False}
    assert not report.passed


def test_the_answer_of_the_run_is_that_of_the_last_turn(store):
    cases = booking(turn("first"), turn("second"), expect=(evaluator_of("equals", "second"),))
    assert run(suite_of(cases=cases), store).passed
    cases = booking(turn("first"), turn("second"), expect=(evaluator_of("equals", "first"),))
    assert not run(suite_of(cases=cases), store).passed


def test_a_function_is_told_what_was_said_before(store):
    seen = []

    async def agent(prompt, place):
        seen.append(place.said)
        return prompt.upper()

    run(suite_of(agent, cases=booking(turn("a"), turn("b"), turn("c", spec="C"))), store)
    assert seen == [(), (("a", "A"),), (("a", "A"), ("b", "B"))]


def test_a_turn_counts_its_own_requests_alone(store):
    async def agent(prompt, place):
        for _ in range(int(prompt)):
            await complete(place.model, ModelRequest(model="gpt-4.1", messages=(user("weather"),)))
        return "done"

    counted = booking(
        turn("2", "model_requests", 2),
        turn("1", "model_requests", 1),
        expect=(evaluator_of("model_requests", 3),),
    )
    assert run(suite_of(agent, cases=counted), store).passed
    wrong = booking(turn("2", "model_requests", 3), turn("1", "model_requests", 1))
    report = run(suite_of(agent, cases=wrong), store)
    assert grades_of(report) == {"turn 1: model_requests": False, "turn 2: model_requests": True}


def test_a_turn_that_was_never_answered_does_not_pass(store):
    async def agent(prompt):
        if prompt == "b":
            raise ValueError("no more")
        return prompt

    report = run(suite_of(agent, cases=booking(turn("a", spec="a"), turn("b", spec="b"))), store)
    found = grades_of(report)
    assert found == {"agent": False, "turn 1: contains": True, "turn 2: contains": False}


def test_a_program_is_started_for_each_turn_in_the_same_workspace(store, tmp_path):
    program = tmp_path / "agent.py"
    program.write_text(
        "import pathlib, sys\nnotes = pathlib.Path('notes')\n"
        "said = notes.read_text() if notes.exists() else ''\n"
        "notes.write_text(said + sys.argv[1])\nprint(said + sys.argv[1])\n"
    )
    suite = suite_of(
        agent=CommandAgent((sys.executable, str(program), "{input}")),
        cases=booking(turn("a", "equals", "a"), turn("b", "equals", "ab")),
    )
    report = run(suite, store)
    assert report.passed, report.cases[0].runs


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"turns": (turn("a"),), "input": "b"}, "has an input and turns; expected one of them"),
        (
            {"turns": (turn("a"), turn("")), "expect": (evaluator_of("contains", "x"),)},
            "cases[0].turns[1].input",
        ),
        ({"turns": (turn("a"),)}, "nothing is expected"),
    ],
)
def test_a_case_whose_turns_cannot_be_is_refused(fields, words):
    with pytest.raises(EvalConfigError, match="a") as caught:
        suite_of(cases=[Case(name="a", **fields)])
    assert words in str(caught.value)
