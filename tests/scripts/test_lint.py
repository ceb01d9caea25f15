"""Rules that can never fire: the usual mistakes are seen, and look-alikes are left alone."""

from __future__ import annotations

import pytest

from soundstage.match import matcher
from soundstage.models import Script


def hidden(*rules):
    script = Script()
    for options in rules:
        script.on(**options).reply("x")
    return [(found.rule.number, found.by.number) for found in script.shadowed()]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([{"user": "a"}, {"user": "a"}], [(2, 1)]),
        ([{"user": "auth"}, {"user": "implement auth"}], [(2, 1)]),
        ([{"user": "implement auth"}, {"user": "auth"}], []),
        ([{"user": "a"}, {"user": "a", "agent": "b"}], [(2, 1)]),
        ([{"user": "a", "agent": "b"}, {"user": "a"}], []),
        ([{"user": "a"}, {"user": "a", "priority": 1}], [(1, 2)]),
        ([{"user": "a", "times": 1}, {"user": "a"}], []),
        ([{"user": "a"}, {"user": "a", "times": 1}], [(2, 1)]),
        ([{"user": "/a/"}, {"user": "/a/"}], [(2, 1)]),
        ([{"user": "/a/"}, {"user": "a"}], []),
        ([{"agent": "Bob"}, {"agent": "bob", "user": "x"}], [(2, 1)]),
        ([{"iteration": 1}, {"iteration": 2}], []),
        ([{"tools": True}, {"tools": True, "user": "x"}], [(2, 1)]),
        ([{"header": {"x": "a"}}, {"header": {"X": "a"}}], [(2, 1)]),
        ([{"header": {"x": "a"}}, {"header": {"x": "b"}}], []),
        ([{"user": matcher("a") | matcher("b")}, {"user": ["a", "b"]}], [(2, 1)]),
        ([{}, {"user": "a"}], []),
    ],
)
def test_a_rule_is_shadowed_by_an_earlier_one_that_takes_all_it_could(rules, expected):
    assert hidden(*rules) == expected


def test_two_functions_on_one_line_are_not_the_same_condition():
    functions = [lambda text: "a" in text, lambda text: "b" in text]
    assert hidden({"user": functions[0]}, {"user": functions[1]}) == []
    assert hidden({"user": functions[0]}, {"user": functions[0]}) == [(2, 1)]


def test_long_texts_that_begin_alike_are_not_the_same_condition():
    assert hidden({"user": "x" * 500 + "1"}, {"user": "x" * 500 + "2"}) == []


def test_many_rules_are_compared_by_their_conditions_alone():
    rules = [{"user": f"question {number}."} for number in range(1000)]
    assert hidden(*rules, {"user": "question 7.", "agent": "bob"}) == [(1001, 8)]


def test_the_report_names_both_rules_with_their_places():
    script = Script.from_data(
        {
            "rules": [
                {"when": {"user": "a"}, "reply": "1", "name": "first"},
                {"when": {"user": "ab"}, "reply": "2"},
            ]
        }
    )
    (problem,) = script.problems()
    assert str(problem) == "script: rule 2 can never fire: rule 1 'first' [user 'a'] comes first"
