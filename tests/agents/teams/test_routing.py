"""The orchestrator's decision, read from whatever a model says around it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents.teams import AgentNotFoundError, RoutingError, parse_routing
from soundstage.agents.teams._routing import resolve

DECISION = '{"agents": ["executor", "test-pm"], "phase": "execute", "reason": "go"}'


@pytest.mark.parametrize(
    "text",
    [
        DECISION,
        f"I think so.\n{DECISION}\nThat is all.",
        f"```json\n{DECISION}\n```",
        f'Use {{braces}} and {{}} like "this: {DECISION} and a last {{',
        f"{DECISION}\n\nAgain, for clarity: {DECISION}",
        f'{{"thought": "hm"}} {DECISION}',
    ],
    ids=[
        "alone",
        "in prose",
        "in a fence",
        "among stray braces and quotes",
        "twice the same",
        "after another",
    ],
)
def test_a_decision_is_found_wherever_it_stands(text):
    routing = parse_routing(text)
    assert (routing.agents, routing.phase, routing.reason) == (("executor", "test-pm"), "execute", "go")


def test_quotes_and_braces_inside_of_strings_belong_to_the_strings():
    reason = 'he said "}" and {"agents": ["wrong"]}, then \\ and\na new line'
    text = "so: " + json.dumps({"agents": ["executor"], "reason": reason}) + " {"
    assert parse_routing(text).reason == reason
    assert parse_routing('{"agents": ["executor"], "reason": "two\nlines"}').reason == "two\nlines"


def test_phase_and_reason_may_be_left_out_or_null():
    assert parse_routing('{"agents": ["END"], "phase": null}').phase == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty reply"),
        ("Let the executor do it.", "no routing decision"),
        ('{"agents": ["executor"', "no routing decision"),
        ('["executor"]', "no routing decision"),
        ('{"routing": {"agents": ["executor"]}}', "no routing decision"),
        ('{"agents": []}', "at least one slug"),
        ('{"agents": "executor"}', "a list of slugs"),
        ('{"agents": ["executor", 3]}', "a list of slugs"),
        ('{"agents": [" "]}', "a list of slugs"),
        ('{"agents": ["executor"], "phase": 3}', "`phase`"),
        ("{" * 100_000, "no routing decision"),
        ('{"a":' * 100_000, "no routing decision"),
    ],
)
def test_what_is_no_decision_is_refused_with_the_reply_as_it_was(text, message):
    with pytest.raises(RoutingError, match=message) as caught:
        parse_routing(text)
    assert caught.value.raw == text


def test_two_decisions_that_differ_are_none_and_both_are_named():
    with pytest.raises(RoutingError, match="2 routing decisions") as caught:
        parse_routing('{"agents": ["executor"]} or rather {"agents": ["test-pm"]}')
    assert '["executor"]' in caught.value.seen
    assert '["test-pm"]' in caught.value.seen


def test_agents_before_end_are_targets_and_those_after_are_not():
    routing = parse_routing('{"agents": ["executor", "END", "test-pm"]}')
    assert routing.targets == ("executor",)
    assert routing.ends


def test_slugs_are_alike_in_upper_and_lower_case_and_strangers_are_named():
    assert resolve(parse_routing('{"agents": ["Executor", "end"]}'), ["executor"]).agents == (
        "executor",
        "END",
    )
    with pytest.raises(AgentNotFoundError, match="'coder', whom the team does not have") as caught:
        resolve(parse_routing('{"agents": ["executor", "coder"]}'), ["executor"])
    assert caught.value.known == ("executor",)
    assert isinstance(caught.value, LookupError)


TEXTS = st.text(max_size=20)


@given(before=st.text(alphabet=st.characters(exclude_characters="{"), max_size=30), reason=TEXTS, after=TEXTS)
def test_any_reason_survives_any_prose_around_it(before, reason, after):
    text = before + json.dumps({"agents": ["executor"], "reason": reason}) + after
    assert parse_routing(text).reason == reason
