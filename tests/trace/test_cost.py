"""The cost of a run, and why it is not known."""

from __future__ import annotations

import genai_prices
import pytest
from genai_prices import calc_price

from soundstage.errors import ScriptError
from soundstage.journal import ModelFailed, ModelRequested, ModelResponded
from soundstage.messages import ModelRequest, ModelResponse, Usage
from soundstage.trace import PRICES, Price, Prices, PricingError, build_trace

MILLION = 1_000_000


@pytest.fixture
def cost_of(tape):
    """The cost of replies, given as (model, usage), or of failures, given as a reason."""

    def cost(*replies, prices=PRICES):
        for reply in replies:
            model, usage = reply if isinstance(reply, tuple) else ("claude-opus-5-5", None)
            asked = tape.add(ModelRequested(request=ModelRequest(model=model, messages=())))
            event = ModelFailed(reason=reply, message="x")
            if usage is not None:
                event = ModelResponded(response=ModelResponse(usage=usage))
            tape.add(event, cause=asked)
        return build_trace(tape.records).cost(prices)

    return cost


@pytest.mark.parametrize(
    ("model", "dollars"),
    [("claude-opus-5-5", 24), ("claude-sonnet-5-5", 12), ("claude-fable-5-2", 48), ("gpt-4o-mini", 0.75)],
)
def test_a_million_tokens_each_way_cost_what_the_table_says(cost_of, model, dollars):
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION)
    assert cost_of((model, usage)).usd == pytest.approx(dollars)


@pytest.mark.parametrize("model", PRICES.table)
@pytest.mark.parametrize("asked", [1_000, 150_000])
def test_the_table_says_what_the_package_says_that_follows_the_price_lists(cost_of, model, asked):
    price = PRICES.table[model]
    cached = {
        "cache_read_tokens": 0 if price.cache_read is None else 50,
        "cache_write_tokens": 0 if price.cache_write is None else 70,
    }
    theirs = calc_price(
        genai_prices.Usage(input_tokens=asked + sum(cached.values()), output_tokens=100, **cached),
        model_ref=model,
    )
    ours = cost_of((model, Usage(input_tokens=asked, output_tokens=100, **cached)))
    assert ours.usd == pytest.approx(float(theirs.total_price))


def test_cached_tokens_have_their_own_prices(cost_of):
    usage = Usage(cache_read_tokens=MILLION, cache_write_tokens=MILLION)
    assert cost_of(("claude-opus-5-5", usage)).usd == pytest.approx(0.2 + 5)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input_tokens=100_000, output_tokens=MILLION), 0.01 + 0.5),
        (Usage(input_tokens=100_001, output_tokens=MILLION), 0.0500005 + 2.5),
        (Usage(input_tokens=1, cache_read_tokens=100_000), 0.0000005 + 0.005),
    ],
)
def test_a_long_request_costs_more_where_the_price_depends_on_its_length(cost_of, usage, dollars):
    assert cost_of(("claude-haiku-5-5", usage)).usd == pytest.approx(dollars)


def test_all_steps_are_summed_and_listed_by_model(cost_of):
    usage = Usage(input_tokens=MILLION)
    cost = cost_of(("claude-opus-5-5", usage), ("claude-sonnet-5-5", usage), ("claude-opus-5-5", usage))
    assert cost.by_model == {"claude-opus-5-5": 8, "claude-sonnet-5-5": 2}
    assert (cost.amount, cost.usd, cost.reason, str(cost)) == (10, 10, "", "$10.0000")


def test_an_unknown_model_makes_a_cost_with_a_reason_and_never_zero(cost_of):
    cost = cost_of(("house-model", Usage(input_tokens=5)), ("claude-opus-5-5", Usage(input_tokens=MILLION)))
    assert (cost.amount, cost.reason) == (None, "no price for 'house-model'")
    assert cost.by_model == {"claude-opus-5-5": 4}
    assert str(cost) == "cost unknown: no price for 'house-model'"
    with pytest.raises(PricingError, match=r"house-model(.|\n)*PRICES.extended"):
        _ = cost.usd
    with pytest.raises(PricingError, match="house-model"):
        cost.show()


def test_a_missing_cache_price_is_a_reason_too(cost_of):
    cost = cost_of(("gpt-4o", Usage(input_tokens=5, cache_write_tokens=5)))
    assert cost.reason == "no cache write price for 'gpt-4o'"


def test_replies_without_token_counts_are_counted_apart(cost_of):
    cost = cost_of("cut", "error", ("claude-opus-5-5", Usage(input_tokens=MILLION)))
    assert (cost.amount, cost.uncounted) == (4, 1)


def test_a_run_whose_replies_report_no_tokens_has_no_known_cost(cost_of):
    assert cost_of(("claude-opus-5-5", Usage())).reason == "no reply reports its tokens"


def test_a_run_without_requests_costs_nothing():
    assert build_trace([]).cost().usd == 0


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("gpt-4.1", "gpt-4.1"),
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-haiku-5-5@20261014", "claude-haiku-5-5"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("gpt-4.10", None),
        ("gpt-4", None),
        ("", None),
    ],
)
def test_the_longest_beginning_of_a_name_that_fits_counts(model, found):
    assert PRICES.find(model) == (PRICES.table[found] if found else None)


def test_your_own_prices_go_before_those_of_the_table(cost_of):
    mine = PRICES.extended({"claude-opus-5-5": Price(input=1, output=1), "house": Price(input=3, output=0)})
    usage = Usage(input_tokens=MILLION)
    assert cost_of(("claude-opus-5-5", usage), ("house-2", usage), prices=mine).usd == 4
    assert PRICES.find("house") is None


def test_a_bad_price_table_is_refused():
    with pytest.raises(ScriptError, match="from 0"):
        Price(input=-1, output=1)
    with pytest.raises(ScriptError, match="empty name"):
        Prices(table={}).extended({"": Price(input=1, output=1)})


def test_one_reply_is_charged_as_the_same_reply_in_a_trace(cost_of):
    usage = Usage(input_tokens=1234, output_tokens=567, cache_read_tokens=89)
    assert PRICES.charge("claude-opus-5-5", usage) == cost_of(("claude-opus-5-5", usage)).usd > 0


@pytest.mark.parametrize(
    ("model", "usage", "why"),
    [
        ("house-model", Usage(input_tokens=5), "no price for 'house-model'"),
        ("gpt-4o", Usage(cache_write_tokens=5), "no cache write price for 'gpt-4o'"),
    ],
)
def test_a_reply_without_a_known_price_is_a_pricing_error_that_names_the_model(model, usage, why):
    with pytest.raises(PricingError, match=why) as error:
        PRICES.charge(model, usage)
    assert isinstance(error.value, LookupError)
    assert "PRICES.extended" in error.value.hint
