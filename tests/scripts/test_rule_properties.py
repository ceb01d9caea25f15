"""Properties of rules, whatever they are: the index never changes an answer, the linter never lies."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from soundstage.messages import Caller, ModelRequest, ToolDefinition, assistant, call, system, tool, user
from soundstage.models import Reply, Script, When
from soundstage.models._conditions import KINDS, RequestContext, RequestFacts
from soundstage.scripts import Rule
from soundstage.scripts._index import RuleIndex
from soundstage.scripts._lint import shadowed
from support.cases import cases

WORDS = st.sampled_from(["a", "b", "ab", "ba", "aba", "é", "ß", "A"])
NAMES = st.sampled_from(["bob", "Bob", "ann", "ANN", "straße", "STRASSE"])
NUMBERS = st.integers(1, 3)


def conditions_on(plain, expression):
    leaf = plain | expression | plain.map(lambda value: {"equals": value})
    several = st.lists(leaf, min_size=1, max_size=3)
    return (
        leaf
        | several
        | several.map(lambda parts: {"all": parts})
        | several.map(lambda parts: {"any": parts})
        | plain.map(lambda value: {"not": value})
    )


TEXT = conditions_on(WORDS, st.sampled_from(["/a+/", "/^b/i"]))
NAME = conditions_on(NAMES, st.sampled_from(["/^b/i", "/n$/i"]))
NUMBER = conditions_on(NUMBERS, st.just([1, 2]))
WHENS = st.builds(
    When,
    user=st.none() | TEXT,
    contains=st.none() | TEXT,
    system=st.none() | TEXT,
    agent=st.none() | NAME,
    previous_agent=st.none() | NAME,
    model=st.none() | NAME,
    tool=st.none() | NAME,
    after_tool=st.none() | NAME,
    iteration=st.none() | NUMBER,
    turn=st.none() | NUMBER,
    step=st.none() | NUMBER,
)


def fewer(when, count):
    given = [name for name in When.__struct_fields__ if getattr(when, name) is not None]
    return When(**{name: getattr(when, name) for name in given[:count]})


FEW_CONDITIONS = st.builds(fewer, WHENS, st.integers(0, 2))
RULES = st.lists(
    st.tuples(WHENS | FEW_CONDITIONS, st.sampled_from([None, None, 1, 2]), st.integers(-1, 1)), max_size=25
)
TEXTS = st.text("abéßA \ud800", max_size=6)


@st.composite
def requests(draw):
    messages = [system(draw(TEXTS))] if draw(st.booleans()) else []
    messages += [user(draw(TEXTS)) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        name = draw(NAMES)
        messages += [assistant("", call(name, id="c1")), tool("c1", draw(TEXTS))]
    caller = Caller(agent=draw(st.just("") | NAMES))
    tools = tuple(ToolDefinition(name=name) for name in draw(st.lists(NAMES, max_size=2)))
    request = ModelRequest(model=draw(NAMES), messages=tuple(messages), tools=tools, caller=caller)
    return RequestFacts(
        request, RequestContext(previous_agent=draw(st.just("") | NAMES), iteration=draw(NUMBERS))
    )


def script_of(rules):
    script = Script()
    for when, times, priority in rules:
        script.add(when, Reply(text="x"), times=times, priority=priority)
    return script.rules.ordered()


def matches(rule: Rule, facts: RequestFacts) -> bool:
    return all(condition.matches(facts.get(name)) for name, condition in rule.conditions)


def first(rules, ranks, facts, served, *, queue=True):
    for rank in ranks:
        rule = rules[rank]
        free = rule.times is None or served[rule.number] < rule.times
        if free and (queue or rule.conditions) and matches(rule, facts):
            return rank
    return None


@given(RULES, requests(), st.booleans())
@cases(150)
def test_every_rule_that_matches_and_could_serve_is_a_candidate(rules, facts, queue):
    rules = script_of(rules)
    found = list(RuleIndex(rules, KINDS, few=0).candidates(facts, queue=queue))
    assert found == sorted(found)
    matching = [
        rank for rank, rule in enumerate(rules) if (queue or rule.conditions) and matches(rule, facts)
    ]
    unconditional = [rank for rank in matching if not rules[rank].conditions]
    end = unconditional[0] if unconditional else len(rules)
    assert set(found) >= {rank for rank in matching if rank <= end}


@given(RULES, st.lists(st.tuples(requests(), st.booleans()), max_size=8))
@cases(150)
def test_the_choice_with_the_index_is_the_choice_without_it(rules, asked):
    rules = script_of(rules)
    index, served = RuleIndex(rules, KINDS, few=0), Counter()
    for facts, queue in asked:
        expected = first(rules, range(len(rules)), facts, served, queue=queue)
        chosen = first(rules, index.candidates(facts, queue=queue), facts, served, queue=queue)
        assert chosen == expected
        if chosen is not None:
            number = rules[chosen].number
            served[number] += 1
            if rules[chosen].times == served[number]:
                index.retire(chosen)


@given(RULES, st.lists(requests(), min_size=1, max_size=12))
@cases(150)
def test_a_rule_that_is_reported_as_shadowed_answers_no_request(rules, asked):
    rules = script_of(rules)
    hidden = {found.rule.number for found in shadowed(rules)}
    for facts in asked:
        rank = first(rules, range(len(rules)), facts, Counter())
        assert rank is None or rules[rank].number not in hidden
        side = first(rules, range(len(rules)), facts, Counter(), queue=False)
        assert side is None or rules[side].number not in hidden


@given(WHENS, st.lists(st.sampled_from(When.__struct_fields__), max_size=6), RULES)
@cases(100)
def test_a_rule_behind_one_with_some_of_its_conditions_is_reported(when, dropped, between):
    kept = [
        name for name in When.__struct_fields__ if getattr(when, name) is not None and name not in dropped
    ]
    if not kept:
        return
    wide = When(**{name: getattr(when, name) for name in kept})
    rules = script_of([(wide, None, 1), *between, (when, None, -2)])
    assert rules[-1] in [found.rule for found in shadowed(rules)]
