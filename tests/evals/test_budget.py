"""The budget of a whole eval: no run starts that would be beyond; what is left out is told, and is no pass."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from soundstage.clock import VirtualClock
from soundstage.clock import run as run_on
from soundstage.errors import WrongValueError
from soundstage.evals import Case, EvalBudget, ModelAgent, NamedEvaluator, ScoredRun, evaluator_of, run_suite
from soundstage.evals._report_text import as_text
from soundstage.evals._spending import EvalSpending
from soundstage.messages import Usage
from soundstage.models import Script, ScriptedModel
from soundstage.trace import PricingError

from .conftest import suite_of

SIX = [Case(name="a", input="weather?", expect=(evaluator_of("contains", "sunny"),), repeat=6)]


def costly(model="gpt-4.1", tokens=1000, **fields):
    """A suite whose every run takes so many tokens of the input, and none of the output."""
    script = Script()
    script.on(user="weather").reply("It is sunny.", usage=Usage(input_tokens=tokens))
    usual = {"agent": ModelAgent(model), "model": lambda: ScriptedModel(script, shared=True), "cases": SIX}
    return suite_of(**{**usual, **fields})


def run(suite, store, **options):
    return asyncio.run(run_suite(suite, store=store, **options))


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize(
    ("budget", "runs"),
    [
        (EvalBudget(tokens=3000), 3),
        (EvalBudget(tokens=2999), 2),
        (EvalBudget(cost=0.008), 4),  # a run costs 0.002
        (EvalBudget(cost=0.0079), 3),
        (EvalBudget(cost=0.012), 6),
        (EvalBudget(cost=1, tokens=1000), 1),
    ],
)
def test_no_run_starts_that_would_be_beyond_the_budget(store, budget, runs, concurrency):
    report = run(costly(budget=budget), store, concurrency=concurrency)
    (case,) = report.cases
    assert (len(case.runs), report.passed) == (runs, runs == 6)
    assert len(store.list(driver="eval")) == runs
    assert (f"{6 - runs} of 6 runs are left out" in as_text(report)) is (runs < 6)


def test_a_case_without_any_run_is_in_the_report_and_has_not_passed(store):
    cases = [msgspec.structs.replace(SIX[0], name=name, repeat=1) for name in "ab"]
    report = run(costly(cases=cases, budget=EvalBudget(tokens=1000)), store)
    assert [(case.name, len(case.runs), case.passed) for case in report.cases] == [
        ("a", 1, True),
        ("b", 0, False),
    ]
    assert not report.passed
    assert "the budget of 1000 tokens has no room for another run" in report.left_out


def test_runs_of_an_eval_that_is_resumed_count_against_its_budget(store):
    first = run(costly(budget=EvalBudget(tokens=2000)), store)
    again = run(costly(budget=EvalBudget(tokens=2000)), store, resume=True)
    assert [len(report.cases[0].runs) for report in (first, again)] == [2, 2]
    more = run(costly(budget=EvalBudget(tokens=5000)), store, resume=True)
    assert [one.run for one in more.cases[0].runs[:2]] == [one.run for one in first.cases[0].runs]
    assert len(more.cases[0].runs) == 5


def test_a_run_that_is_an_error_has_spent_its_tokens_all_the_same(store):
    def broken(run):
        raise ZeroDivisionError

    cases = [msgspec.structs.replace(SIX[0], expect=(NamedEvaluator("broken", broken),))]
    report = run(costly(cases=cases, budget=EvalBudget(tokens=2000)), store, concurrency=1)
    assert [one.outcome for one in report.cases[0].runs] == ["error"] * 2


def test_a_model_without_a_price_is_refused_before_it_is_asked(store):
    suite = costly(model="house-model", budget=EvalBudget(cost=1))
    with pytest.raises(PricingError, match="house-model"):
        run(suite, store)
    assert store.list(driver="eval") == []
    assert run(costly(model="house-model", budget=EvalBudget(tokens=6000)), store).passed


def test_a_model_that_is_known_only_when_it_is_asked_ends_the_eval_at_its_first_run(store):
    from soundstage.messages import ModelRequest, user
    from soundstage.models import complete

    asked = []

    async def agent(prompt, place):
        asked.append(prompt)
        return (await complete(place.model, ModelRequest(model="secret-7b", messages=(user(prompt),)))).text

    from soundstage.evals import FunctionAgent

    with pytest.raises(PricingError, match="secret-7b"):
        run(costly(agent=FunctionAgent(agent), budget=EvalBudget(cost=1)), store, concurrency=4)
    assert len(asked) == 1


def test_a_recording_spends_no_token_and_no_dollar(store):
    suite = costly(model="house-model", budget=EvalBudget(cost=0.001, tokens=1), replayed="a.tape")
    report = run(suite, store)
    assert report.passed
    assert "replayed from a.tape: no provider was asked, and no token spent" in as_text(report)


def test_time_is_a_budget_too_by_the_longest_run_so_far():
    clock = VirtualClock()
    began = []

    async def main():
        spending = EvalSpending(suite_of(budget=EvalBudget(seconds=50)), clock, [])

        async def work(numbers):
            for number in numbers:
                if not await spending.admits("a", number):
                    return
                began.append(clock.now())
                await clock.sleep(20)
                await spending.over(ScoredRun(case="a", number=number, outcome="passed", seconds=20))

        numbers = iter(range(1, 100))
        await asyncio.gather(work(numbers), work(numbers))
        return spending.left_out

    told = run_on(main(), clock=clock)
    assert began == [0, 20, 20]  # at 40 a run would end at 60
    assert "50 seconds" in told


def test_a_small_run_is_let_in_when_one_under_way_turns_out_smaller_than_expected():
    """1000 tokens: one run of 400 is known; two under way leave no room for a fourth, until one has taken 100."""

    async def main():
        spending = EvalSpending(suite_of(budget=EvalBudget(tokens=1200)), VirtualClock(), [])

        def over(number, tokens):
            return spending.over(ScoredRun(case="a", number=number, outcome="passed", tokens=tokens))

        assert await spending.admits("a", 1)
        await over(1, 400)
        assert await spending.admits("a", 2)
        assert await spending.admits("a", 3)
        fourth = asyncio.ensure_future(spending.admits("a", 4))
        await asyncio.sleep(0)
        assert not fourth.done()
        await over(2, 0)
        assert await fourth
        fifth = asyncio.ensure_future(spending.admits("a", 5))
        await over(3, 400)
        await over(4, 400)
        return await fifth

    assert asyncio.run(main()) is False


@pytest.mark.parametrize("name", ["cost", "tokens", "seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_budget_is_above_zero(name, value):
    with pytest.raises(WrongValueError, match=name):
        EvalBudget(**{name: value})


@pytest.mark.parametrize(
    ("budget", "told"),
    [(EvalBudget(cost=1), "the cost of the run 1"), (EvalBudget(tokens=9), "the tokens of")],
)
def test_a_provider_that_does_not_tell_tokens_ends_the_eval_at_its_first_run(store, budget, told):
    with pytest.raises(PricingError, match=told):
        run(costly(tokens=0, budget=budget), store, concurrency=1)
    assert len(store.list(driver="eval")) == 1


def test_an_answer_that_is_an_error_is_free_and_ends_no_eval(store):
    script = Script()
    script.on(user="weather").error(status=500)
    model = lambda: ScriptedModel(script, shared=True)  # noqa: E731
    suite = suite_of(agent=ModelAgent("gpt-4.1"), model=model, cases=SIX, budget=EvalBudget(cost=1, tokens=9))
    report = run(suite, store)
    assert [one.outcome for one in report.cases[0].runs] == ["failed"] * 6
