"""Keywords, suggestions, stages, handled errors: what passes, what does not, and what cannot be asked."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.claude_code.semantics import (
    ERROR_TYPES,
    WORKFLOWS,
    StageGraph,
    error_handled,
    keywords_in,
    suggested,
    transition,
)
from soundstage.claude_code.semantics._errors import ACKNOWLEDGEMENTS, CRASHES, RECOVERIES
from soundstage.errors import ExpectationError, ScriptError

PLUGINS = Path(__file__).resolve().parents[3] / "examples/plugins"


# --- keywords


def test_keywords_are_found_in_capitals_or_not_and_counted():
    found = keywords_in("SYSTEMATIC look at the code-base", ["systematic", "Code", "tests"])
    assert (found.passed, found.found, found.missing) == (True, ("systematic", "Code"), ("tests",))
    assert found.ratio == pytest.approx(2 / 3)
    assert not keywords_in("SYSTEMATIC code", ["systematic", "tests"], require_all=True)
    assert keywords_in("systematic tests", ["Tests", "systematic"], require_all=True)
    assert keywords_in("", ["x"]).ratio == 0
    assert keywords_in("x", ["x", "X", "y"]).ratio == 0.5


@pytest.mark.parametrize("keywords", [[], [""], ["a", "  "], "word"])
def test_keywords_that_would_be_found_in_everything_are_refused(keywords):
    with pytest.raises(ScriptError):
        keywords_in("anything", keywords)


@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), min_size=1))
def test_found_and_missing_are_all_keywords_once(text, keywords):
    result = keywords_in(text, keywords)
    assert len(result.found) + len(result.missing) == len({keyword.casefold() for keyword in keywords})
    assert 0 <= result.ratio <= 1
    assert result.passed == bool(result.found)


def test_a_result_is_frozen_becomes_json_and_can_be_required():
    result = keywords_in("a", ["b"])
    with pytest.raises(AttributeError):
        result.passed = True
    assert json.loads(msgspec.json.encode(result))["missing"] == ["b"]
    with pytest.raises(ExpectationError, match="missing: 'b'"):
        result.require()
    keywords_in("b", ["b"]).require()


# --- suggestions


@pytest.mark.parametrize(
    ("text", "command", "found"),
    [
        ("Next, run /plan to go on", "/plan", "/plan"),
        ("Next, run /plan.", "plan", "/plan"),
        ("(`/plan`)", "plan", "/plan"),
        ("**/plan**", "plan", "/plan"),
        ("run /agent-loop:plan now", "/plan", "/agent-loop:plan"),
        ("run /agent-loop:plan now", "agent-loop:plan", "/agent-loop:plan"),
        ("/planning or /plan", "/plan", "/plan"),
        ("run /write-tests", "/write-tests", "/write-tests"),
        ("start /planning", "/plan", ""),
        ("start /plan-b", "/plan", ""),
        ("see docs/plan", "/plan", ""),
        ("see ./plan and /plan/a and /plan.md", "/plan", ""),
        ("</plan>", "/plan", ""),
        ("http://plan", "/plan", ""),
        ("run /Plan", "/plan", ""),
        ("run /epti:plan", "/agent-loop:plan", ""),
        ("run /plan", "/agent-loop:plan", ""),
        ("run /visual:commit", "/epti:commit", ""),
        ("plan", "/plan", ""),
        ("", "/plan", ""),
    ],
)
def test_a_command_is_suggested_as_a_whole(text, command, found):
    result = suggested(text, command)
    assert (result.passed, result.found) == (bool(found), found)
    assert result.position == (text.rindex(found) if found else -1)
    assert found in result.context


def test_a_suggestion_shows_twenty_characters_on_either_side():
    result = suggested("a" * 30 + " /plan " + "b" * 30, "plan")
    assert result.context == "a" * 19 + " /plan " + "b" * 19
    assert suggested("/plan", "plan").context == "/plan"


@pytest.mark.parametrize("name", ["", " ", "/", "a b", "/x/y", ":"])
def test_a_name_that_no_command_has_is_refused(name):
    with pytest.raises(ScriptError, match="no name of a command"):
        suggested("/plan", name)


# --- stages


def test_a_target_can_be_reached_by_a_step_that_the_workflow_does_not_have():
    good = transition("exploring", "planning", "Planning")
    assert (good.passed, good.valid, good.expected) == (True, True, "exploring -> planning")
    assert good.workflows == ("agent-loop",)
    skipped = transition("exploring", "coding", "coding")
    assert (skipped.passed, skipped.valid) == (True, False)
    assert "after exploring comes planning" in skipped.details
    missed = transition("exploring", "planning", "exploring")
    assert (missed.passed, missed.valid, missed.workflows) == (False, False, ("agent-loop",))
    assert not transition("exploring", "planning", "NONSENSE").valid
    assert not transition("exploring", "flying", "flying").valid
    assert "no stage 'flying'" in transition("exploring", "flying", "flying").details


def test_a_workflow_can_be_named_or_given():
    assert transition("implementing", "committing-code", "committing-code", workflow="epti").valid
    assert not transition("exploring", "planning", "planning", workflow="epti").valid
    own = StageGraph(name="own", stages={"idle": ("busy",), "busy": ("idle",)}, commands={"work": "busy"})
    assert transition("IDLE", "Busy", "busy", workflow=own).valid
    assert own.stage_after(["/other:work", "/own:work now"]) == "busy"
    assert own.stage_after(["/other:work"]) == "idle"
    with pytest.raises(ScriptError, match="agent-loop, epti, visual-iteration"):
        transition("a", "b", "b", workflow="waterfall")
    with pytest.raises(ScriptError, match="does not have"):
        StageGraph(name="own", stages={"idle": ("busy",)}, commands={})


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_a_workflow_has_the_commands_of_its_plugin_and_every_stage_can_be_reached(name):
    workflow = WORKFLOWS[name]
    assert sorted(workflow.commands) == sorted(
        path.stem for path in (PLUGINS / name / "commands").glob("*.md")
    )
    reached, todo = set(), [workflow.initial]
    while todo:
        stage = todo.pop()
        if stage not in reached:
            reached.add(stage)
            todo += workflow.stages[stage]
    assert reached == set(workflow.stages)


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("agent-loop", ["explore", "plan", "code", "commit"]),
        ("epti", ["write-tests", "verify-fail", "commit-tests", "implement", "iterate", "commit-code"]),
        (
            "visual-iteration",
            ["load-mock", "implement-design", "screenshot", "compare", "iterate", "visual-commit"],
        ),
    ],
)
def test_the_commands_in_their_order_are_valid_steps_and_none_can_be_skipped(name, commands):
    workflow = WORKFLOWS[name]
    stages = [workflow.initial, *(workflow.stage_after([f"/{name}:{command} x"]) for command in commands)]
    for before, after in itertools.pairwise(stages):
        assert workflow.allows(before, after), (before, after)
    assert not workflow.allows(stages[0], stages[-1])


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_each_command_of_a_plugin_suggests_one_that_may_follow(name):
    workflow = WORKFLOWS[name]
    for command, stage in workflow.commands.items():
        text = (PLUGINS / name / "commands" / f"{command}.md").read_text()
        following = [other for other, end in workflow.commands.items() if workflow.allows(stage, end)]
        assert any(suggested(text, f"/{name}:{other}") for other in following), command


# --- errors


@pytest.mark.parametrize(
    ("response", "kind", "passed"),
    [
        ("I couldn't find that file. Let's check the folder.", "file_not_found", True),
        ("I couldn\u2019t find that file. Let\u2019s look elsewhere.", "file_not_found", True),
        ("There was an error: the file is missing. Try another path.", "file_not_found", True),
        ("Two issues came up; I am checking the syntax of line 3.", "syntax_error", True),
        ("There is a problem. Try again.", "any", True),
        ("There is a problem. Try again.", "file_not_found", False),
        ("There is a problem with the file.", "file_not_found", False),
        ("All good, let's try the next file.", "file_not_found", False),
        ("The country has an entry in the file, unable to say more.", "file_not_found", False),
        ("Traceback (most recent call last):\n  problem\nlet's try the file", "file_not_found", False),
        ("Let's try. I can't.\nValueError: the file", "file_not_found", False),
        ("  > error: no such file; I can't; try again", "file_not_found", False),
        ("", "any", False),
    ],
)
def test_an_error_is_handled_by_saying_it_naming_it_and_knowing_a_way_on(response, kind, passed):
    assert error_handled(response, kind).passed is passed, error_handled(response, kind).details


def test_the_flags_of_an_error_tell_what_is_lacking():
    crash = error_handled("Exception: no file. There is a problem, try again", "file_not_found")
    assert (crash.graceful, crash.recovery_suggested, crash.error_acknowledged) == (False, True, True)
    assert crash.crashes == ("exception:",)
    assert "shows a crash: exception:" in crash.details
    silent = error_handled("Done.", "timeout")
    assert (silent.graceful, silent.recovery_suggested, silent.type_named) == (False, False, False)
    assert silent.details.count(";") == 2


def test_an_unknown_kind_of_error_is_refused_with_the_known_ones():
    for kind in ("", "File_Not_Found", "boom"):
        with pytest.raises(ScriptError, match="file_not_found"):
            error_handled("x", kind)


def test_the_words_are_data():
    assert (len(CRASHES), len(RECOVERIES), len(ACKNOWLEDGEMENTS)) == (4, 6, 6)
    assert all(words for kind, words in ERROR_TYPES.items() if kind != "any")
