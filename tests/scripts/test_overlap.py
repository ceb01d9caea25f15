"""Rules whose text is a part of another's: accidents are named, and what is written on purpose is left alone."""

from __future__ import annotations

import pytest

from soundstage.errors import ScriptLoadError
from soundstage.models import Script, script_problems


def warned(*rules):
    script = Script()
    for options in rules:
        script.on(**options).reply("x")
    found = script.problems()
    assert all(problem.warning for problem in found), "a shadowed rule is another finding"
    return [problem.message for problem in found]


ACCIDENTS = [
    ([{"user": "go", "times": 1}, {"user": "good bye"}], "stands first"),
    ([{"user": "good bye", "times": 1}, {"user": "go"}], "rule 1 steps aside"),
    ([{"user": "good bye"}, {"user": "go", "times": 1, "priority": 5}], "its priority 5 is above 0"),
    ([{"user": "deploy", "tools": True}, {"user": "deploy to production"}], "stands first"),
    ([{"contains": "go"}, {"user": "good bye"}], "stands first"),
    ([{"contains": "go"}, {"system": "a good agent"}], "stands first"),
    ([{"contains": "go"}, {"tool_result": "not good"}], "stands first"),
    ([{"system": "plan", "times": 1}, {"system": "you plane wood"}], "stands first"),
    ([{"tool_result": "ok", "times": 2}, {"tool_result": "token"}], "stands first"),
    ([{"user": "/GO/i"}, {"user": "good bye"}], "stands first"),
    ([{"user": "/go on/", "times": 1}, {"user": "do go once"}], "stands first"),
    ([{"user": ["stop", "go"], "iteration": 1}, {"user": ["good bye", "farewell"]}], "stands first"),
    ([{"header": {"x-team": "re"}, "times": 1}, {"header": {"X-Team": "green"}}], "stands first"),
    ([{"user": "go", "iteration": [1, 2]}, {"user": "good bye", "iteration": 2}], "stands first"),
]


@pytest.mark.parametrize(("rules", "order"), ACCIDENTS, ids=[str(rules) for rules, _ in ACCIDENTS])
def test_a_rule_that_may_answer_for_another_is_named_with_the_order(rules, order):
    (message,) = warned(*rules)
    assert "may answer what" in message
    assert " is a part of " in message
    assert order in message


ON_PURPOSE = [
    [{"user": "good bye"}, {"user": "go"}],
    [{"user": "go"}, {"user": "good bye", "priority": 1}],
    [{"user": "Oslo", "times": 1}, {"user": "Oslo"}],
    [{"user": "deploy", "times": 1}, {"user": "deploy to production"}],
    [{"user": "implement auth", "times": 1}, {"user": "auth"}],
    [{"user": "go", "agent": "a"}, {"user": "good bye", "agent": "b"}],
    [{"user": "go", "iteration": 1}, {"user": "good bye", "iteration": 2}],
    [{"user": "go", "system": "you plan"}, {"user": "good bye", "system": "you test"}],
    [{"user": "go", "header": {"x-team": "red"}}, {"user": "good bye", "header": {"x-team": "blue"}}],
    [{"user": "go", "tool_result": False}, {"user": "good bye", "tool_result": "done"}],
    [{"user": "go", "times": 1}, {"system": "a good agent"}],
    [{"user": "/\\bgo\\b/"}, {"user": "good bye"}],
    [{"user": {"not": "go"}}, {"user": "good bye"}],
    [{"user": lambda text: "go" in text}, {"user": "good bye"}],
    [{"user": "東", "times": 1}, {"user": "東京"}],
    [{"agent": "plan"}, {"agent": "planner"}],
]


@pytest.mark.parametrize("rules", ON_PURPOSE)
def test_what_is_written_on_purpose_gives_no_alarm(rules):
    assert warned(*rules) == []


def test_a_rule_that_can_never_fire_is_told_once_and_with_the_priority_that_hides_it():
    script = Script()
    script.on(user="good bye").reply("bye")
    script.on(user="go", priority=3).reply("going")
    assert [str(problem) for problem in script.problems()] == [
        "script: rule 1 can never fire: rule 2 [user 'go'] comes first, because its priority 3 is above 0"
    ]


def test_a_warning_has_a_line_and_an_advice_and_does_not_refuse_the_script(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text(
        "rules:\n"
        "  - {when: {user: go}, times: 1, reply: going}\n"
        "  - {when: {user: good bye}, reply: bye, name: farewell}\n"
    )
    (problem,) = script_problems(path)
    assert str(problem) == (
        f"{path}:3: warning: rule 1 ({path}:2) [user 'go'] may answer what rule 2 'farewell' ({path}:3) "
        "[user 'good bye'] is for: 'go' is a part of 'good bye', and rule 1 is asked first, because it stands first; "
        "write the whole word as /\\bgo\\b/, or give rule 2 the higher priority"
    )
    Script.load(path).validate()
    path.write_text(
        "rules:\n  - {when: {user: go}, reply: going}\n  - {when: {user: good bye}, reply: bye}\n"
    )
    with pytest.raises(ScriptLoadError, match="can never fire"):
        Script.load(path).validate()
