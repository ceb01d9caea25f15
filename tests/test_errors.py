"""The error tree and its messages."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from soundstage import errors
from soundstage.errors import (
    ExpectationError,
    ProviderError,
    RequestRejected,
    ScriptLoadError,
    ScriptProblem,
    SoundstageError,
    WaitTimeout,
)

CLASSES = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)
]


def drawn_tree():
    """The tree in the docstring as {class: base}."""
    bases, found = {}, {}
    for line in errors.__doc__.splitlines():
        match = re.match(r"    (?P<indent>(?:\|   |    )*(?:[|`]-- )?)(?P<name>[A-Z]\w+)(?:  |$)", line)
        if match:
            depth = len(match["indent"]) // 4
            bases[depth] = match["name"]
            found[match["name"]] = bases[depth - 1] if depth else None
    return found


def test_the_tree_in_the_docstring_is_the_real_one():
    real = {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES if cls is not SoundstageError}
    assert drawn_tree() == {"SoundstageError": None, **real}


def test_every_error_is_exported_and_documented():
    assert sorted(
        [*(cls.__name__ for cls in CLASSES), "ScriptProblem", "did_you_mean", "near_names"]
    ) == sorted(errors.__all__)
    assert all(cls.__doc__ for cls in CLASSES)


def test_expectations_are_assertions_and_timeouts_are_timeouts():
    assert issubclass(ExpectationError, AssertionError)
    assert issubclass(WaitTimeout, TimeoutError)
    assert issubclass(WaitTimeout, ExpectationError)


def test_a_message_has_a_summary_and_three_labelled_parts():
    error = SoundstageError("it broke", expected="a cup", seen="shards", hint="buy a new one")
    assert str(error) == "it broke\n  expected: a cup\n  seen: shards\n  next step: buy a new one"
    assert (error.summary, error.expected, error.seen, error.hint) == (
        "it broke",
        "a cup",
        "shards",
        "buy a new one",
    )


def test_parts_that_are_not_there_leave_no_label():
    assert str(SoundstageError("it broke")) == "it broke"
    assert str(SoundstageError("it broke", hint="wait")) == "it broke\n  next step: wait"


def test_a_part_of_several_lines_is_indented_below_its_label():
    assert str(SoundstageError("it broke", seen="one\ntwo")) == "it broke\n  seen:\n    one\n    two"


def test_a_script_that_cannot_be_loaded_lists_every_problem():
    problems = [
        ScriptProblem("a.yaml", 3, "rules[0].when", "unknown key"),
        ScriptProblem("a.yaml", 9, "", "no colon"),
    ]
    error = ScriptLoadError(problems)
    assert error.problems == tuple(problems)
    assert error.summary == "the script cannot be used: 2 problems"
    assert "    a.yaml:3: rules[0].when: unknown key\n    a.yaml:9: no colon" in str(error)
    assert "1 problem" in ScriptLoadError(problems[:1]).summary
    assert "1 problems" not in ScriptLoadError(problems[:1]).summary


def test_a_rejected_request_carries_what_the_provider_says():
    error = RequestRejected("no such model", status=404, kind="not_found_error", param="model", code="x")
    assert str(error) == error.message == "no such model"
    assert (error.status, error.kind, error.param, error.code) == (404, "not_found_error", "model", "x")
    assert RequestRejected("bad").status == 400


def test_a_provider_error_carries_status_and_headers():
    headers = {"retry-after": "1"}
    error = ProviderError("busy", status=529, kind="overloaded_error", headers=headers)
    headers.clear()
    assert str(error) == "the model answered with status 529: busy"
    assert (error.message, error.status, error.kind) == ("busy", 529, "overloaded_error")
    assert error.headers == {"retry-after": "1"}
    assert ProviderError("busy", status=500).headers == {}


@pytest.mark.parametrize(
    "error",
    [
        SoundstageError("it broke", expected="a", seen="b", hint="c"),
        ScriptLoadError([ScriptProblem("a.yaml", 1, "key", "wrong")]),
        RequestRejected("bad", status=422),
        ProviderError("busy", status=529, headers={"a": "b"}),
        WaitTimeout("too late", seen="nothing"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
def test_errors_cross_process_borders_whole(error, again):
    error.add_note("a note")
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)
