"""Regular expressions are those of `re`, and none of them can hold anybody up."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import MatchError
from soundstage.match import Regex, _expression
from soundstage.match._expression import LARGEST, _BoundedSearch, shape_of
from support.cases import cases


@pytest.mark.parametrize(
    "pattern", [r"^(a|a)+$", r"(?:(?:a+)+)+\Z(?<!!)", r"^(?=(a|aa)+$)", r"(a|a)(?:a|a)*\d\1"], ids=str
)
def test_a_search_that_would_take_for_ever_is_an_error_that_names_the_expression(pattern, monkeypatch):
    monkeypatch.setattr(_expression, "SECONDS", 0.05)
    with pytest.raises(MatchError, match=r"is too slow: the search took more than 0.05 s") as failed:
        for length in (40, 400, 4000, 40_000, 400_000):  # the engine is quick with some of them
            Regex(pattern).matches("a" * length + "!")
    assert f"/{pattern}/" in str(failed.value)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("((a{1000}){1000}){1000}", "more than 10000 steps"),
        ("(?x) # [\n ((a{1000}){1000}){1000} # ]", "more than 10000 steps"),
        ("(?x: # [\n) ((a{1000}){1000}){1000} # ]", "more than 10000 steps"),
        ("(" * 60 + "a*" + ")" * 60, "more than 50 groups are in one another"),
        ("(" * 4000 + ")" * 4000, "is not a regular expression"),
        ("a" * 10_001, "longer than 10000 characters"),
    ],
    ids=range(6),
)
def test_an_expression_that_is_too_large_is_refused_when_it_is_written(pattern, why):
    with pytest.raises(MatchError, match=re.escape(why)):
        Regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("hello+ {e}", "hello {e}", True),
        ("hello+ {e}", "hello x", False),  # `regex` would take {e} for any error
        ("x*{i}", "abc", False),
        (r"(?<=is )Paris+\b(?!, Texas)", "it is Paris", True),
        (r"(?<=is )Paris+\b(?!, Texas)", "it is Paris, Texas", False),
        (r"(\w+) \1", "the the", True),
        (r"(?P<w>\w+)-(?P=w)", "go-go", True),
        (r"^\w+$", "größe", True),
        (r"[{]a+\{1,2}", "{aa{1,2}", True),
    ],
)
def test_the_language_is_that_of_re(pattern, text, found):
    assert Regex(pattern).matches(text) is found is (re.search(pattern, text) is not None)


ATOMS = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\w",
        r"\d",
        "[ab]",
        "[^a]",
        "(a|b)",
        "(?:ab)",
        "{",
        "{e}",
        "{a,2}",
        "}",
        "(?=a)",
        "(?!b)",
        "^",
        "$",
        r"\b",
    ]
)
COUNTS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{,2}", "*?", "+?"])


@given(
    st.lists(st.tuples(ATOMS, COUNTS), max_size=5),
    st.text("ab1{e}, \n", max_size=8),
    st.sampled_from([0, re.IGNORECASE, re.MULTILINE, re.DOTALL]),
)
@cases(150)
def test_the_bounded_search_finds_what_re_finds(parts, text, flags):
    pattern = "".join(atom + count for atom, count in parts)
    try:
        wanted = re.compile(pattern, flags)
    except re.error:
        return
    found, expected = _BoundedSearch(shape_of(pattern).text, flags).search(text), wanted.search(text)
    assert (found and found.span()) == (expected and expected.span())


def test_expressions_that_cannot_be_slow_do_not_load_the_other_engine():
    assert shape_of("^You are the executor|planner$").plain
    assert not shape_of("a*").plain
    assert not shape_of("|".join("ab" * 9)).plain  # each alternative can double the time
    assert shape_of("(ab){20}c").size == 41 < LARGEST


@pytest.mark.parametrize(
    ("pattern", "size", "depth"),
    [
        ("abc", 3, 0),
        ("((a)b)(c)", 3, 2),
        ("(a)(b)(c)", 3, 1),
        ("(?i)a(?#no group)", 1, 0),
        ("(a(b(c)))d", 4, 3),
    ],
)
def test_groups_in_groups_are_counted_and_groups_side_by_side_are_not(pattern, size, depth):
    found = shape_of(pattern)
    assert (found.size, found.depth) == (size, depth)
