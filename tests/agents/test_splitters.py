"""Split policies: where a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import (
    ChainSplitter,
    LengthSplitter,
    MarkerSplitter,
    ParagraphSplitter,
    SentenceSplitter,
    SettingError,
    SplitPolicy,
)


@pytest.mark.parametrize(
    ("policy", "text", "pieces"),
    [
        (ParagraphSplitter(), "one\n\ntwo\n\n\nthree", ("one\n\n", "two\n\n\n", "three")),
        (ParagraphSplitter(), "one\r\n\r\ntwo", ("one\r\n\r\n", "two")),
        (ParagraphSplitter(), "one\n\n", ("one\n\n",)),
        (ParagraphSplitter(), "one\ntwo", ("one\ntwo",)),
        (SentenceSplitter(), "Hi. How are you?  Fine!", ("Hi.", " How are you?", "  Fine!")),
        (SentenceSplitter(), "It is 3.5 m. Really", ("It is 3.5 m.", " Really")),
        (SentenceSplitter(), "Hi. ", ("Hi. ",)),
        (SentenceSplitter(), "no end", ("no end",)),
        (LengthSplitter(3), "abcdefgh", ("abc", "def", "gh")),
        (LengthSplitter(3), "abc", ("abc",)),
        (MarkerSplitter(), "seen.\n**Next**\n\nLook.", ("seen.\n", "**Next**\n\nLook.")),
        (MarkerSplitter(), "a **B**\n\nc **D**\n\ne", ("a ", "**B**\n\nc **D**\n\ne")),
        (MarkerSplitter(), " **First**\n\nLook.", (" **First**\n\nLook.",)),
        (MarkerSplitter(), "nothing bold", ("nothing bold",)),
        (ChainSplitter((ParagraphSplitter(), LengthSplitter(4))), "12345\n\n67", ("1234", "5\n\n", "67")),
    ],
)
def test_where_a_text_is_cut(policy, text, pieces):
    assert policy.pieces(text) == pieces


class Untouched:
    """Leaves texts without a comma as they are."""

    def pieces(self, text):
        head, comma, rest = text.partition(",")
        return (head + comma, rest) if comma and rest else ()


def test_a_chain_keeps_the_pieces_that_a_policy_leaves_as_they_are():
    assert ChainSplitter((SentenceSplitter(), Untouched())).pieces("a,b. c.") == ("a,", "b.", " c.")


def test_a_chain_in_which_no_policy_touches_the_text_has_no_pieces():
    assert ChainSplitter((Untouched(), Untouched())).pieces("abc") == ()


@pytest.mark.parametrize(
    "make", [lambda: LengthSplitter(0), lambda: LengthSplitter("9"), lambda: ChainSplitter(())]
)
def test_values_that_make_no_sense_are_value_errors(make):
    with pytest.raises(ValueError, match=r".") as caught:
        make()
    assert isinstance(caught.value, SettingError)


POLICIES = [
    ParagraphSplitter(),
    SentenceSplitter(),
    LengthSplitter(5),
    MarkerSplitter(),
    ChainSplitter((ParagraphSplitter(), SentenceSplitter(), LengthSplitter(3))),
    ChainSplitter((Untouched(), MarkerSplitter())),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@given(text=st.text(alphabet="ab,. \n\r*!?", max_size=40) | st.text())
def test_the_pieces_join_to_the_text(policy, text):
    assert isinstance(policy, SplitPolicy)
    pieces = policy.pieces(text)
    assert "".join(pieces) == (text if pieces else "")
    assert all(pieces)
    assert pieces or not text or isinstance(policy, ChainSplitter)


@given(text=st.text(), maximum=st.integers(1, 20))
def test_no_piece_is_longer_than_the_limit(text, maximum):
    for policy in (LengthSplitter(maximum), ChainSplitter((SentenceSplitter(), LengthSplitter(maximum)))):
        assert all(len(piece) <= maximum for piece in policy.pieces(text))
    assert all(len(piece) == maximum for piece in LengthSplitter(maximum).pieces(text)[:-1])
