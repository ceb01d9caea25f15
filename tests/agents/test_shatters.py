"""Shatter policies: where a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import (
    ChainShatter,
    LengthShatter,
    MarkerShatter,
    ParagraphShatter,
    SentenceShatter,
    SettingError,
    ShatterPolicy,
)


@pytest.mark.parametrize(
    ("policy", "text", "pieces"),
    [
        (ParagraphShatter(), "one\n\ntwo\n\n\nthree", ("one\n\n", "two\n\n\n", "three")),
        (ParagraphShatter(), "one\r\n\r\ntwo", ("one\r\n\r\n", "two")),
        (ParagraphShatter(), "one\n\n", ("one\n\n",)),
        (ParagraphShatter(), "one\ntwo", ("one\ntwo",)),
        (SentenceShatter(), "Hi. How are you?  Fine!", ("Hi.", " How are you?", "  Fine!")),
        (SentenceShatter(), "It is 3.5 m. Really", ("It is 3.5 m.", " Really")),
        (SentenceShatter(), "Hi. ", ("Hi. ",)),
        (SentenceShatter(), "no end", ("no end",)),
        (LengthShatter(3), "abcdefgh", ("abc", "def", "gh")),
        (LengthShatter(3), "abc", ("abc",)),
        (MarkerShatter(), "seen.\n**Next**\n\nLook.", ("seen.\n", "**Next**\n\nLook.")),
        (MarkerShatter(), "a **B**\n\nc **D**\n\ne", ("a ", "**B**\n\nc **D**\n\ne")),
        (MarkerShatter(), " **First**\n\nLook.", (" **First**\n\nLook.",)),
        (MarkerShatter(), "nothing bold", ("nothing bold",)),
        (ChainShatter((ParagraphShatter(), LengthShatter(4))), "12345\n\n67", ("1234", "5\n\n", "67")),
    ],
)
def test_where_a_text_is_cut(policy, text, pieces):
    assert policy.shatter(text) == pieces


class Untouched:
    """Leaves texts without a comma as they are."""

    def shatter(self, text):
        head, comma, rest = text.partition(",")
        return (head + comma, rest) if comma and rest else ()


def test_a_chain_keeps_the_pieces_that_a_policy_leaves_as_they_are():
    assert ChainShatter((SentenceShatter(), Untouched())).shatter("a,b. c.") == ("a,", "b.", " c.")


def test_a_chain_in_which_no_policy_touches_the_text_has_no_pieces():
    assert ChainShatter((Untouched(), Untouched())).shatter("abc") == ()


@pytest.mark.parametrize(
    "make", [lambda: LengthShatter(0), lambda: LengthShatter("9"), lambda: ChainShatter(())]
)
def test_values_that_make_no_sense_are_value_errors(make):
    with pytest.raises(ValueError, match=r".") as caught:
        make()
    assert isinstance(caught.value, SettingError)


POLICIES = [
    ParagraphShatter(),
    SentenceShatter(),
    LengthShatter(5),
    MarkerShatter(),
    ChainShatter((ParagraphShatter(), SentenceShatter(), LengthShatter(3))),
    ChainShatter((Untouched(), MarkerShatter())),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@given(text=st.text(alphabet="ab,. \n\r*!?", max_size=40) | st.text())
def test_the_pieces_join_to_the_text(policy, text):
    assert isinstance(policy, ShatterPolicy)
    pieces = policy.shatter(text)
    assert "".join(pieces) == (text if pieces else "")
    assert all(pieces)
    assert pieces or not text or isinstance(policy, ChainShatter)


@given(text=st.text(), maximum=st.integers(1, 20))
def test_no_piece_is_longer_than_the_limit(text, maximum):
    for policy in (LengthShatter(maximum), ChainShatter((SentenceShatter(), LengthShatter(maximum)))):
        assert all(len(piece) <= maximum for piece in policy.shatter(text))
    assert all(len(piece) == maximum for piece in LengthShatter(maximum).shatter(text)[:-1])
