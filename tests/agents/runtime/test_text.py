"""The part of a result that a model reads: all of it if it is short, its two ends if it is long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents.runtime import ToolError
from soundstage.agents.runtime._text import as_text, error_text, shorten
from soundstage.journal import readable


@given(st.text("a\n", min_size=0, max_size=50), st.integers(1, 400))
def test_a_result_keeps_both_ends_and_says_how_much_is_gone(text, times):
    whole = text * times
    short = shorten(whole)
    if len(whole) <= 8000:
        assert short == whole
        return
    assert short.startswith(whole[:3000])
    assert short.endswith(whole[-2000:])
    notice = short[3000:-2000].strip("\n")
    assert notice == (
        f"[... {len(whole) - 5000} characters left out; the whole result has {whole.count(chr(10)) + 1} lines ...]"
    )


def test_the_limit_itself_is_not_cut():
    assert shorten("x" * 8000) == "x" * 8000
    assert "left out" in shorten("x" * 8001)


@given(st.text(max_size=3000))
def test_an_error_has_the_prefix_once_and_at_most_2000_characters(text):
    shown = error_text(text)
    assert shown.startswith("ERROR: ")
    assert 7 < len(shown) <= 2000


def test_a_prefix_that_is_there_is_not_repeated():
    assert error_text("ERROR: no") == "ERROR: no"
    assert error_text("") == "ERROR: the tool failed without a word"


@given(st.text())
def test_text_is_made_encodable_and_otherwise_left_alone(text):
    assert readable(text) == text
    assert readable("\ud800" + text) == "\\ud800" + text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, ""),
        (b"bytes", "bytes"),
        ({"a": [1, 2.5, True, None]}, '{"a":[1,2.5,true,null]}'),
        (3, "3"),
        ("\udc80", "\\udc80"),
    ],
)
def test_results_become_text(value, text):
    assert as_text(value) == text


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [object(), {1j: 2}, b"\xff", nested(100_000), {"a": {object()}}])
def test_what_is_neither_text_nor_json_is_a_clear_error(value):
    with pytest.raises(ToolError, match="the tool returned"):
        as_text(value)
