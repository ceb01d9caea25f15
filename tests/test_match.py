"""The match algebra."""

from __future__ import annotations

import enum
import functools
import gc
import re
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundstage.match
from soundstage.errors import MatchError
from soundstage.match import (
    AllOf,
    AnyOf,
    Anything,
    Contains,
    Equals,
    Fields,
    Matcher,
    Not,
    Predicate,
    Regex,
    Same,
    distinct,
    matcher,
    objects_in,
    preview,
    same_text,
)
from support.cases import cases

fixed = cases(100)  # the same examples in every run


class Point(msgspec.Struct):
    x: int
    y: int = 0


def is_long(text):
    return len(text) > 3


def shown(value):
    return value.__name__ if callable(value) else preview(value, 30)


# written, matches, does not match
TABLE = [
    ("auth", ["auth", "an auth token"], ["Auth", "aut", "", None]),
    ("/^a.c$/", ["abc"], ["ABC", "abcd", None]),
    ("/^a.c$/i", ["ABC"], ["abcd"]),
    ("/a.c/s", ["a\nc"], ["ac"]),
    ("/^b/m", ["a\nb"], ["ab"]),
    ("/a b/x", ["ab"], ["a b"]),
    ("/a/b/", ["xa/bx"], ["ab"]),
    (["a", "b"], ["xa", "xb"], ["c", None]),
    ({"any": ["a", "/^b/"]}, ["xa", "b"], ["xb"]),
    ({"all": ["a", "b"]}, ["ab", "ba"], ["a", "b"]),
    ({"not": "a"}, ["b", "", None], ["a"]),
    ({"not": ["a", "b"]}, ["c"], ["a", "xb"]),
    ({"text": "/usr/bin/python"}, ["in /usr/bin/python3"], ["usr/bin", None]),
    ({"text": "/a/i"}, ["x/a/ix"], ["A"]),
    ({"equals": "a"}, ["a"], ["ab", None, 1]),
    ({"equals": None}, [None], ["", 0]),
    ({"equals": ["a", "b"]}, [["a", "b"], ("a", "b")], ["a", ["b", "a"], ["a"]]),
    ({"equals": {"n": 1}}, [{"n": 1}], [{"n": True}, {}, {"n": 1, "m": 2}]),
    (1, [1, 1.0], [True, 2, "1", None]),
    (True, [True], [1, "True", None]),
    (False, [False], [0, None, ""]),
    (None, [None], [0, ""]),
    (b"ab", [b"ab"], [[97, 98], "ab"]),
    (is_long, ["long"], ["abc"]),
]


@pytest.mark.parametrize(("written", "good", "bad"), TABLE, ids=shown)
def test_the_table_holds(written, good, bad):
    condition = matcher(written)
    for value in good:
        assert condition.matches(value), value
        assert condition.explain(value) is None
    for value in bad:
        if not (value is None and callable(written)):
            assert not condition.matches(value), value
            assert condition.explain(value)


def test_every_operator_of_the_documented_table_is_tested():
    operators = re.findall(r'`\{"(\w+)":', soundstage.match.__doc__)
    tested = {name for row, *_ in TABLE if isinstance(row, dict) for name in row}
    assert sorted(tested) == sorted(set(operators))


def test_a_matcher_stays_as_it_is():
    condition = Contains("a")
    assert matcher(condition) is condition


@pytest.mark.parametrize(
    ("written", "value", "reason"),
    [
        ("auth", "use oaut", "'auth' is not in 'use oaut'"),
        ("auth", None, "'auth': there is no text"),
        ("auth", 5, "'auth': expected text, got int 5"),
        ("/a+/i", "b", "/a+/i is not found in 'b'"),
        (["a", "b"], "c", "none of these: 'a' is not in 'c'; 'b' is not in 'c'"),
        ({"all": ["a", "b"]}, "a", "'b' is not in 'a'"),
        ({"not": "a"}, "cat", "not 'a': the text contains 'a'"),
        ({"not": "/a/"}, "cat", "not /a/: the text contains /a/"),
        ({"not": 5}, 5, "not 5: the value matches 5"),
        ({"equals": "a"}, "b", "expected 'a', got 'b'"),
        (3, 4, "expected 3, got 4"),
        (is_long, "a", "is_long is false for 'a'"),
    ],
    ids=shown,
)
def test_a_mismatch_names_the_part_that_fails(written, value, reason):
    assert matcher(written).explain(value) == reason


def test_names_are_whole_and_have_no_case():
    assert same_text("Planner").matches("PLANNER")
    assert same_text({"text": "/a/"}).matches("/A/")
    assert not same_text("plan").matches("planner")
    assert same_text("plan").explain("planner") == "expected 'plan', got 'planner'"
    assert same_text(["a", "/^b/"]).matches("bc")


def test_fields_of_objects_and_mappings():
    condition = Fields({"x": matcher(1)}, type=Point)
    assert condition.matches(Point(1))
    assert condition.explain(Point(2)) == "x: expected 1, got 2"
    assert condition.explain({"x": 1}) == "expected Point, got dict"
    assert not condition.matches({"x": 1})
    assert condition.describe() == "Point(x=1)"
    assert Fields({}, type=(int, str)).explain(1.5) == "expected int or str, got float"
    free = Fields({"x": matcher(1)})
    assert free.matches({"x": 1})
    assert free.matches(SimpleNamespace(x=1, y=2))
    assert free.describe() == "{x=1}"


def test_a_missing_key_counts_as_a_missing_value():
    for value in ({}, None, {"x": None}):
        assert not Fields({"x": Contains("a")}).matches(value)
        assert Fields({"x": ~Contains("a")}).matches(value)
        assert Fields({"x": Anything()}).explain(value) is None


@pytest.mark.parametrize(
    ("value", "names"), [(Point(1), "x, y"), (SimpleNamespace(b=1, a=2), "a, b"), (5, "it has no fields")]
)
def test_a_misspelt_field_is_an_error_that_names_those_there_are(value, names):
    for ask in (Fields({"z": Anything()}).matches, Fields({"z": Anything()}).explain):
        with pytest.raises(MatchError, match="has no field 'z'") as caught:
            ask(value)
        assert names in caught.value.expected


def test_text_compared_with_a_number_under_a_not_is_an_error():
    for ask in (
        (~Contains("a")).matches,
        (~Contains("a")).explain,
        matcher({"not": {"all": ["a", "b"]}}).matches,
    ):
        with pytest.raises(MatchError, match="would be true of any int"):
            ask(5)
    assert matcher({"not": ["a", 5]}).matches(6)


@pytest.mark.parametrize(("wrong", "kind"), [(5, "5"), (5, True), (True, 1), (5, [5]), ({"equals": 5}, "5")])
def test_a_value_of_another_kind_under_a_not_is_an_error_unless_equality_is_meant(wrong, kind):
    """A counter that arrives as text would be 'not 5' for ever."""
    condition = matcher({"not": wrong})
    if isinstance(wrong, dict):
        assert condition.matches(kind)
        return
    with pytest.raises(MatchError, match="would be true of any") as caught:
        condition.matches(kind)
    assert caught.value.seen == str(preview(kind))
    assert caught.value.hint.startswith("compare with {'equals': ...}")
    assert condition.matches(None), "what is missing is none of it"
    assert not condition.matches(wrong)


@pytest.mark.parametrize("spec", [5, 0.5])
def test_whole_numbers_and_others_are_of_one_kind_under_a_not(spec):
    assert [matcher({"not": spec}).matches(value) for value in (5, 5.0, 0.5)] == [
        spec != 5,
        spec != 5,
        spec != 0.5,
    ]


@pytest.mark.parametrize("spec", [float("nan"), {"not": float("nan")}, {"equals": {"x": [1, float("nan")]}}])
def test_a_condition_that_nothing_can_equal_is_refused(spec):
    with pytest.raises(MatchError, match="NaN"):
        matcher(spec)


def test_a_predicate_that_raises_is_an_error():
    with pytest.raises(MatchError, match="is_long raised TypeError") as caught:
        matcher(is_long).matches(5)
    assert isinstance(caught.value.__cause__, TypeError)
    assert caught.value.seen == "5"


def test_a_class_is_no_predicate():
    with pytest.raises(MatchError, match="the class str is not a condition") as caught:
        matcher(str)
    assert "isinstance(value, str)" in caught.value.hint


def test_an_asynchronous_predicate_is_an_error_and_leaves_no_warning():
    async def check(value):
        return False

    class Later:
        def __await__(self):
            return iter(())

    for function in (check, functools.partial(check), lambda value: Later()):
        with pytest.raises(MatchError, match="is asynchronous"):
            matcher(function).matches("x")
    gc.collect()


@pytest.mark.parametrize("written", [[], {"any": []}, {"all": []}, ()])
def test_an_empty_list_is_an_error(written):
    with pytest.raises(MatchError, match="needs at least one condition"):
        matcher(written)


def test_an_empty_text_is_an_error_where_it_would_match_everything():
    for written in ("", {"text": ""}):
        with pytest.raises(MatchError, match="matches everything"):
            matcher(written)


@pytest.mark.parametrize("written", [{}, {"any": ["a"], "all": ["b"]}, {"contains": "a"}])
def test_a_mapping_has_exactly_one_known_operator(written):
    with pytest.raises(MatchError, match="one operator") as caught:
        matcher(written)
    assert caught.value.expected == "one of any, all, not, text, equals"
    assert caught.value.seen == (", ".join(written) or "an empty mapping")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"any": "a"}, "`any` takes a list"),
        ({"all": 5}, "`all` takes a list"),
        ({"text": 5}, "`text` takes a text"),
        ({"a", "b"}, "a set is not a condition"),
        (frozenset(), "a set is not a condition"),
    ],
)
def test_the_wrong_kind_of_value_is_an_error(written, message):
    with pytest.raises(MatchError, match=message):
        matcher(written)


def test_a_path_that_looks_like_an_expression_gets_the_way_out():
    with pytest.raises(MatchError, match="unknown flag 'h' of the expression /usr/bin/python") as caught:
        matcher("/usr/bin/python")
    assert caught.value.expected == "flags out of i, m, s, x"
    assert "write {'text': '/usr/bin/python'}" in caught.value.hint


@pytest.mark.parametrize("pattern", ["a(", "*", "a{99999999999}"])
def test_a_bad_expression_is_an_error_with_the_place(pattern):
    with pytest.raises(MatchError, match="is not a regular expression") as caught:
        matcher(f"/{pattern}/")
    assert "backslash" in caught.value.hint
    assert "'text'" in caught.value.hint


def test_an_expression_gives_its_groups_and_the_place_it_found():
    expression = Regex("a(b)", "ii")
    assert (expression.groups, expression.flags) == (1, "i")
    assert expression.search("xAB")[1] == "B"


def test_matchers_are_equal_if_they_surely_mean_the_same():
    def one(value):
        return True

    pairs = [Contains("a"), Regex("a", "im"), Same("a"), Equals([1]), AllOf(Contains("a")), ~Contains("a")]
    for number, left in enumerate(pairs):
        assert left == pairs[number]
        assert hash(left) == hash(pairs[number])
        assert all(left != right for right in pairs[number + 1 :])
    assert Contains("a" * 500 + "b") != Contains("a" * 500 + "c")
    assert Equals(1) != Equals(True)
    assert Predicate(one) == Predicate(one)
    assert Predicate(lambda value: 1) != Predicate(lambda value: 2)
    assert Fields({"a": Equals(1)}) == Fields({"a": Equals(1)})
    assert Contains("a") != "a"


def test_descriptions_are_short_and_readable():
    assert repr(Contains("a")) == "<Contains 'a'>"
    assert matcher({"all": ["a", ["b", 1]]}).describe() == "('a' and ('b' or 1))"
    assert Anything().describe() == "anything"
    assert "lambda" in Predicate(lambda value: True).describe()
    assert "line" in Predicate(lambda value: True).describe()
    assert Predicate(re.compile("a").search).describe() == "search"
    assert Predicate(enum.Enum("E", "a").__call__).describe()
    assert len(preview("x" * 500)) < 90
    assert preview(["a", 1]) == "['a', 1]"
    assert preview("a\nb") == r"'a\nb'"


VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.text("ab", max_size=3), st.just(["a"]))
LEAVES = st.one_of(
    st.text("ab", min_size=1, max_size=2).map(Contains),
    st.sampled_from(["a", "^b", "a|b"]).map(Regex),
    st.text("abAB", min_size=1, max_size=2).map(Same),
    VALUES.map(Equals),
    st.just(Anything()),
    st.just(Predicate(lambda value: value == "a")),
    st.just(Fields({}, type=str)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AllOf(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: AnyOf(*parts)),
        inner.map(Not),
    ),
    max_leaves=6,
)


def outcome(ask, value):
    try:
        return ask(value)
    except MatchError:
        return "error"


@fixed
@given(TREES, VALUES)
def test_explain_and_matches_always_agree(condition, value):
    matches = outcome(condition.matches, value)
    reason = outcome(condition.explain, value)
    assert matches is (reason is None) if matches != "error" else reason == "error"
    assert reason != ""


@fixed
@given(TREES, TREES, st.text("ab", max_size=3))
def test_and_or_and_not_follow_their_laws_on_text(left, right, text):
    a, b = left.matches(text), right.matches(text)
    assert (left & right).matches(text) is (a and b)
    assert (left | right).matches(text) is (a or b)
    assert (~left).matches(text) is not a
    assert (~~left).matches(text) is a
    assert (~(left & right)).matches(text) is (~left | ~right).matches(text)
    assert (~(left | right)).matches(text) is (~left & ~right).matches(text)


@fixed
@given(TREES)
def test_every_tree_can_be_described(condition):
    assert isinstance(condition, Matcher)
    assert condition.describe() in repr(condition)
    assert condition == condition


@fixed
@given(st.text(min_size=1))
def test_any_text_can_be_looked_for_as_it_stands(text):
    condition = matcher({"text": text})
    assert condition.matches(f"<{text}>")
    assert not condition.matches(text[:-1])


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("", []),
        ("no {braces} here", []),
        ('so: {"a": 1}.', [{"a": 1}]),
        ('{"a": {"b": 2}} and {"c": "}{"}', [{"a": {"b": 2}}, {"c": "}{"}]),
        ('{"a": tru} then { "b": 2 } then {}', [{"b": 2}, {}]),
        ('{"a": "two\nlines"}', [{"a": "two\nlines"}]),
        ('{"a": {"b": 1} oh {"c": 3}', [{"b": 1}, {"c": 3}]),
        ('{"a": 1} {"a": 1}', [{"a": 1}, {"a": 1}]),
    ],
)
def test_whole_objects_are_found_among_prose_and_broken_ones(text, objects):
    assert objects_in(text) == objects


@pytest.mark.parametrize(("broken", "found"), [(999, [{"a": 1}]), (1000, [])])
def test_a_text_with_a_thousand_broken_objects_is_searched_no_further(broken, found):
    assert objects_in('{"x ' * broken + '{"a": 1}') == found


def test_an_object_nested_without_end_is_none():
    assert objects_in('{"a":' * 100_000) == []


def test_what_is_said_twice_is_one_thing():
    assert distinct([{"a": 1}, {"b": 2}, {"a": 1}]) == [{"a": 1}, {"b": 2}]
