"""Data against record types: every problem at once, in words, at its line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from soundstage.models import script_problems
from soundstage.scripts._check import convert_source, describe, fits
from soundstage.scripts._source import SourceReport, read_source, wrap_source


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=1, lt=9)]
    note: str = ""

    def __post_init__(self):
        if self.note == "odd" and self.size % 2 == 0:
            raise ValueError("size and note do not go together")


class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    first_one: Inner
    many: tuple[Inner, ...] = ()
    either: str | Inner = ""
    maybe: Inner | None = None
    kind: Literal["a", "b"] = "a"
    ratio: float = 0.0
    flag: bool = False
    free: Any = None
    words: dict[str, str] = {}


SIZE = "expected a whole number of at least 1 and less than 9"


def result_of(text, **options):
    report = SourceReport("f")
    found = convert_source(Outer, read_source(text, report, form="yaml"), report, **options)
    return found, [str(problem) for problem in report.problems]


def test_good_data_becomes_the_record():
    text = "firstOne: {size: 1}\nmany: [{size: 2}]\neither: {size: 3}\nmaybe: {size: 4}\nratio: 2\nfree: [1]"
    found, problems = result_of(text)
    assert problems == []
    assert found == Outer(Inner(1), (Inner(2),), Inner(3), Inner(4), ratio=2.0, free=[1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "firstOne:\n  size: 0",
            [f"f:2: firstOne.size: {SIZE}, got the number 0"],
        ),
        (
            "firstOne: {size: true}",
            [f"f:1: firstOne.size: {SIZE}, got true"],
        ),
        (
            "first_one: {size: 1}",
            ["f:1: first_one: unknown key; did you mean 'firstOne'?", "f:1: `firstOne` is missing"],
        ),
        (
            "firstOne: {size: 1}\nzzz: 1",
            [
                "f:2: zzz: unknown key; known are firstOne, many, either, maybe, kind, ratio, flag, free, words"
            ],
        ),
        (
            "firstOne: {size: 1}\nmany:\n- size: 1\n- size: x\n- 3",
            [
                f"f:4: many[1].size: {SIZE}, got the text 'x'",
                "f:5: many[2]: expected a mapping, got the number 3",
            ],
        ),
        ("firstOne: {size: 1}\neither: [1]", ["f:2: either: expected text or a mapping, got a list of 1"]),
        ("firstOne: {size: 1}\nmaybe:", ["f:2: maybe: expected a mapping, got nothing"]),
        ("firstOne: {size: 1}\nkind: c", ["f:2: kind: expected one of a, b, got the text 'c'"]),
        ("firstOne: {size: 1}\nflag: 1", ["f:2: flag: expected true or false, got the number 1"]),
        ("firstOne: {size: 1}\nwords: {a: 1}", ["f:2: words: expected a mapping, got a mapping with a"]),
        ("firstOne:\n  note: odd\n  size: 2", ["f:3: firstOne.size: size and note do not go together"]),
        ("[]", ["f:1: expected a mapping, got an empty list"]),
    ],
)
def test_each_problem_is_in_words_at_its_line(text, expected):
    found, problems = result_of(text)
    assert (found, problems) == (None, expected)


def test_keys_that_are_known_but_not_supported_get_their_own_words():
    _, problems = result_of("firstOne: {size: 1, colour: red}", refused={"colour": "is not supported"})
    assert problems == ["f:1: firstOne.colour: is not supported"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["size", "note", "x"]), inner)
    ),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from(["firstOne", "many", "either", "kind", "ratio", "flag", "words"]), VALUES)
)
@settings(deadline=None)
def test_without_problems_the_data_can_always_be_converted(data):
    report = SourceReport("f")
    found = convert_source(Outer, wrap_source(data), report)
    if found is None:
        assert report.problems
    else:
        assert found == msgspec.convert(data, Outer)


@pytest.mark.parametrize(
    ("kind", "good", "bad", "words"),
    [
        (int, [3], [True, 3.0, "3", None], "a whole number"),
        (float, [3, 2.5], [True, float("inf"), float("nan"), "x"], "a number"),
        (str, ["", "x"], [3, None], "text"),
        (Annotated[str, msgspec.Meta(min_length=1)], ["x"], [""], "a text that is not empty"),
        (Annotated[float, msgspec.Meta(gt=0, le=9)], [9], [0, 9.5], "a number of more than 0 and at most 9"),
        (list[str], [[], ["a"]], ["a", [1]], "a list (text each)"),
        (list[Any], [[1]], [{}], "a list"),
        (dict[str, Any], [{"a": 1}], [[]], "a mapping"),
        (str | int | None, ["a", 1], [None, 2.5], "text or a whole number"),
        (Any, [None, 1, []], [], "anything"),
        (bytes, [], [b"x"], "something else"),
    ],
)
def test_types_are_told_apart_and_named(kind, good, bad, words):
    info = inspect.type_info(kind)
    assert [fits(info, value) for value in good] == [True] * len(good)
    assert [fits(info, value) for value in bad] == [False] * len(bad)
    assert words in describe(info)


@pytest.mark.parametrize("digits", [19, 400, 4000, 5000])
@pytest.mark.parametrize("place", ["    priority: {}", "    times: {}", "    reply: {{text: x, delay: {}}}"])
def test_a_number_of_any_length_is_refused_in_one_line_and_never_a_traceback(tmp_path, place, digits):
    path = tmp_path / "script.yaml"
    path.write_text("version: 1\nrules:\n  - when: {user: hi}\n" + place.format("9" * digits) + "\n")
    problems = [str(problem) for problem in script_problems(path)]
    assert any("expected a" in problem and "number" in problem for problem in problems), problems
    assert max(map(len, problems)) < 400
    if digits <= 4000:  # longer ones are no numbers for Python
        assert any("below 2**63, got" in problem for problem in problems), problems
