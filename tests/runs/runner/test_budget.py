"""Budgets: before a run, by what it costs at least; in it, by what the journal says; and up to the limit, not below."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import WrongValueError
from soundstage.journal import Journal, ModelRequested, ModelResponded, RunAborted, UsageReported
from soundstage.messages import ModelRequest, ModelResponse, Usage
from soundstage.runs import (
    AgentRunner,
    Budget,
    BudgetExceededError,
    CostBudgetExceededError,
    RunAbortedError,
)
from soundstage.trace import PricingError

OPUS = "claude-opus-5-5"  # 4 dollars for a million tokens that go in, 20 for what comes out


def asking(replies, *, model=OPUS, purpose="main", tokens=250_000):
    """An agent that asks its model so often: a dollar for each request of the default size."""

    async def agent(prompt, context):
        for _ in range(replies):
            request = ModelRequested(request=ModelRequest(model=model, messages=(), purpose=purpose))
            asked = context.journal.append(request, source="model")
            await asyncio.sleep(1)
            response = ModelResponse(usage=Usage(input_tokens=tokens), model=model)
            context.journal.append(ModelResponded(response=response), source="model", cause=asked)
            await asyncio.sleep(1)
        return "done"

    return agent


def spend(agent, budget, prompt="go", **options):
    """Run an agent within a budget, on virtual time."""
    overrides = {name: options.pop(name) for name in ("model",) if name in options}
    runner = AgentRunner(agent, journal=Journal(), budget=budget, **options)
    return run(runner.run(prompt, **overrides))


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        ({"cost": 2.5}, CostBudgetExceededError(2.5, 3.0)),
        ({"tokens": 600_000}, BudgetExceededError("tokens", 600_000, 750_000)),
        ({"turns": 2}, BudgetExceededError("turns", 2, 3)),
        ({"time": 4.5}, BudgetExceededError("time", 4.5, 4.5)),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_run_that_crosses_its_budget_is_stopped_with_what_there_is(limit, error):
    with pytest.raises(type(error)) as caught:
        spend(asking(10), Budget(**limit))
    assert {**caught.value.metadata, "run": ""} == error.metadata
    partial = caught.value.partial_result
    assert (partial.status, partial.abort, caught.value.run) == ("partial", "budget", partial.id)
    asked = sum(isinstance(record.event, ModelRequested) for record in partial.timeline)
    assert asked == 3, "stopped with the event that crossed the budget, and not later"
    assert [record.event for record in partial.timeline if isinstance(record.event, RunAborted)]


@pytest.mark.parametrize("limit", [{"cost": 3.0}, {"tokens": 750_000}, {"turns": 3}, {"time": 6.5}])
def test_a_budget_that_is_used_up_and_not_crossed_stops_nothing(limit):
    assert spend(asking(3), Budget(**limit)).status == "complete"


@pytest.mark.parametrize("order", range(8))
def test_a_run_that_crosses_its_budget_with_its_last_event_has_crossed_it_whoever_is_told_first(order):
    async def agent(prompt, context):
        context.journal.append(UsageReported(usage=Usage(output_tokens=10)), source="agent")

    async def main():
        await AgentRunner(agent, journal=Journal(), budget=Budget(tokens=9)).run("go")

    with pytest.raises(BudgetExceededError):
        run(main(), clock=VirtualClock(schedule=order))


def test_a_prompt_that_alone_costs_more_than_the_budget_is_refused_before_the_target_is_made():
    def never(config):
        raise AssertionError("the target was made")

    with pytest.raises(CostBudgetExceededError) as caught:
        spend(never, Budget(cost=0.9), "x" * 1_000_000, model=OPUS)
    assert (caught.value.budget, caught.value.projected_cost) == (0.9, 1.0)
    assert caught.value.partial_result.abort == "budget"


def test_a_projection_of_the_test_takes_the_place_of_ours():
    async def never(prompt, context):
        raise AssertionError("the target was asked")

    seen = []

    def project(prompt, model, prices):
        seen.append((prompt, model))
        return 7.0

    with pytest.raises(CostBudgetExceededError) as caught:
        spend(never, Budget(cost=5), project=project, model="m")
    assert caught.value.projected_cost == 7
    assert seen == [("go", "m")]


def test_without_a_budget_nothing_is_projected_and_no_price_is_needed():
    def project(prompt, model, prices):
        raise AssertionError("nobody asked for this")

    assert spend(asking(2, model="house-model"), Budget(turns=2), project=project).status == "complete"


@pytest.mark.parametrize("when", ["before", "in the run"])
def test_a_model_without_a_price_under_a_budget_of_dollars_is_an_error_that_names_it(when):
    made = {"model": "house-model"} if when == "before" else {}
    with pytest.raises(PricingError, match="'house-model'") as caught:
        spend(asking(2, model="house-model"), Budget(cost=100), on_abort="return", **made)
    partial = caught.value.partial_result
    asked = sum(isinstance(record.event, ModelRequested) for record in partial.timeline)
    assert (partial.status, asked) == ("partial", 0 if when == "before" else 1)


def test_side_requests_are_no_turns():
    assert spend(asking(3, purpose="title"), Budget(turns=0)).status == "complete"


def test_the_agents_own_count_holds_where_the_journal_has_no_replies_and_only_there():
    async def agent(prompt, context):
        context.journal.append(UsageReported(usage=Usage(output_tokens=500), cost=2.0), source="agent")
        if prompt == "both":
            await asking(1, tokens=250_000)(prompt, context)
            context.journal.append(UsageReported(usage=Usage(output_tokens=500), cost=2.0), source="agent")
        await asyncio.sleep(1)

    with pytest.raises(CostBudgetExceededError) as caught:
        spend(agent, Budget(cost=1.5))
    assert caught.value.projected_cost == 2
    assert spend(agent, Budget(cost=2.5), "both").status == "complete", "counted twice"


def test_a_budget_that_could_not_be_held_is_a_warning():
    async def silent(prompt, context):
        """Asks nobody."""

    assert any("turns" in warning for warning in spend(silent, Budget(turns=1)).warnings)
    assert any("no tokens" in warning for warning in spend(asking(1, tokens=0), Budget(cost=1)).warnings)
    assert spend(silent, Budget()).warnings == ()


def test_an_aborted_run_is_returned_if_that_is_wanted():
    result = spend(asking(10), Budget(turns=1), on_abort="return")
    assert (result.abort, result.status) == ("budget", "partial")
    with pytest.raises(WrongValueError, match="'raise' or 'return'"):
        spend(asking(1), Budget(), on_abort="ignore")


@pytest.mark.parametrize("wrong", [{"cost": -1}, {"turns": True}, {"time": float("nan")}, {"tokens": -5}])
def test_a_budget_is_a_number_from_zero(wrong):
    with pytest.raises(WrongValueError, match="a number from 0"):
        Budget(**wrong)


def test_a_budget_error_is_an_abort():
    assert issubclass(CostBudgetExceededError, RunAbortedError)
