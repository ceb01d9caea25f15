"""The index: how many rules are looked at, counted and not timed."""

from __future__ import annotations

from soundstage.messages import Caller, ModelRequest, user
from soundstage.models import Script
from soundstage.models._conditions import KINDS, RequestContext, RequestFacts
from soundstage.scripts._index import RuleIndex


def facts_of(text="x", **fields):
    return RequestFacts(
        ModelRequest(model="m", messages=(user(text),), caller=Caller(**fields)), RequestContext()
    )


def test_ten_thousand_rules_are_narrowed_to_those_that_share_the_anchor():
    script = Script()
    for number in range(10_000):
        script.on(user=f"question {number}.", agent="executor").reply("x")
    index = RuleIndex(script.rules.ordered(), KINDS)
    assert list(index.candidates(facts_of("this is question 4711. please", agent="executor"))) == [4711]
    assert list(index.candidates(facts_of("no such question", agent="executor"))) == []


def test_the_rarest_condition_is_the_anchor():
    script = Script()
    for number in range(100):
        script.on(user="the same text", agent=f"agent {number}").reply("x")
    index = RuleIndex(script.rules.ordered(), KINDS)
    assert list(index.candidates(facts_of("the same text", agent="AGENT 7"))) == [7]


def test_a_list_of_texts_is_an_anchor_too():
    script = Script()
    for number in range(100):
        script.on(user=[f"one {number}.", f"two {number}."]).reply("x")
    index = RuleIndex(script.rules.ordered(), KINDS)
    assert list(index.candidates(facts_of("two 5."))) == [5]


def test_a_queue_of_thousands_adds_one_candidate():
    script = Script()
    script.queue(*["x"] * 5000)
    for number in range(100):
        script.on(user=f"question {number}.").reply("x")
    index = RuleIndex(script.rules.ordered(), KINDS)
    assert list(index.candidates(facts_of("question 3."))) == [0]
    for rank in range(5000):
        assert list(index.candidates(facts_of("question 3."))) == [rank]
        index.retire(rank)
    assert list(index.candidates(facts_of("question 3."))) == [5003]
    assert list(index.candidates(facts_of("question 3."), queue=False)) == [5003]


def test_rules_that_have_served_are_no_candidates_any_more():
    script = Script()
    for _ in range(1000):
        script.on(user="the same", times=1).reply("x")
    index = RuleIndex(script.rules.ordered(), KINDS)
    for rank in range(1000):
        assert next(iter(index.candidates(facts_of("the same")))) == rank
        index.retire(rank)
    assert list(index.candidates(facts_of("the same"))) == []


def test_of_many_rules_with_one_anchor_only_those_before_the_queue_are_candidates():
    script = Script()
    for number in range(100):
        script.on(user="the same", priority=number % 2).reply("x")
    script.queue("y")
    script.on(user="the same").reply("x")
    index = RuleIndex(script.rules.ordered(), KINDS)
    assert list(index.candidates(facts_of("the same"))) == list(range(101))
    assert list(index.candidates(facts_of("the same"), queue=False)) == [*range(100), 101]


def test_few_rules_need_no_index():
    script = Script()
    script.on(user="a").reply("x")
    script.queue("y")
    index = RuleIndex(script.rules.ordered(), KINDS)
    assert list(index.candidates(facts_of("nothing"))) == [0, 1]
    index.retire(1)
    assert list(index.candidates(facts_of("nothing"))) == [0, 1]


def test_half_a_surrogate_pair_is_found_all_the_same():
    script = Script()
    for number in range(50):
        script.on(user=f"question {number}.").reply("x")
    script.on(user="\ud800").reply("y")
    assert {3, 50} <= set(RuleIndex(script.rules.ordered(), KINDS).candidates(facts_of("question 3. \ud800")))
