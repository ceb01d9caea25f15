"""Window policies: when a buffer becomes an output."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import (
    AnyWindow,
    ChatChunk,
    ChatReply,
    CompletionWindow,
    FunctionWindow,
    ImmediateWindow,
    LengthWindow,
    MarkerWindow,
    ParagraphWindow,
    SentenceWindow,
    SettingError,
    StreamBuffer,
    Window,
    Windowing,
    WindowPolicy,
)
from soundstage.errors import ScriptError


def emits(policy, *texts):
    """Whether `policy` emits after these chunks; it sees what its lookback allows."""
    return policy.emits(Window(texts, len(texts), sum(map(len, texts))).newest(policy.lookback))


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (("One.\n\n",), True),
        (("One.\r\n\r\n",), True),
        (("One.", "\n", "\n"), True),
        (("One.\n\n", "  ", "\t", " "), True),
        (("One.\n", "  ", "\n"), False),
        (("One.\n",), False),
        (("\n\nTwo",), False),
        (("",), False),
        (("One.\n\r\n",), False),
    ],
)
def test_a_paragraph_ends_with_a_blank_line_in_however_many_chunks_it_comes(texts, answer):
    assert emits(ParagraphWindow(), *texts) is answer


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (("Hello", "."), True),
        (("Hello! ", " \n"), True),
        (("Really?",), True),
        (("Hello.", "a", "b", "c"), False),
        (("Hello.", " ", " ", " ", " "), False),  # the end is more than four chunks away
        (("Hello",), False),
        (("3.5",), False),
    ],
)
def test_a_sentence_ends_within_the_last_four_chunks(texts, answer):
    assert emits(SentenceWindow(), *texts) is answer


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (("**Plan**\n\n",), True),
        (("**", "Pl", "an", "**", "\n", "\n"), True),
        (("**Plan**\r\n",), True),
        (("so. **Plan**\n\nand",), True),
        (("**Plan**\n",), False),
        (("****\n\n",), False),
        (("** **\n\n",), False),
        (("**Plan** of\n\n",), False),
    ],
)
def test_a_marker_is_bold_text_and_a_blank_line(texts, answer):
    assert emits(MarkerWindow(), *texts) is answer


def test_a_maximum_counts_the_whole_buffer_however_small_the_chunks_are():
    policy = LengthWindow(10)
    assert not emits(policy, *"123456789")
    assert emits(policy, *"1234567890")
    assert policy.lookback == 1


def test_inside_a_composite_a_maximum_still_counts_the_whole_buffer():
    policy = AnyWindow((SentenceWindow(), LengthWindow(10)))
    assert policy.lookback == 4
    assert emits(policy, *"abcdefghij")
    assert not emits(policy, *"abcdefghi")


def test_each_part_of_a_composite_sees_what_its_own_lookback_allows():
    seen = []
    short = FunctionWindow(lambda window: bool(seen.append(window.texts)), lookback=1)
    assert not emits(AnyWindow((short, MarkerWindow())), "a", "b", "c")
    assert seen == [("c",)]


def test_a_composite_looks_back_as_far_as_its_longest_part():
    assert AnyWindow((SentenceWindow(), MarkerWindow())).lookback == 10
    assert AnyWindow((SentenceWindow(), ParagraphWindow())).lookback is None


def test_immediately_and_only_at_the_end():
    assert emits(ImmediateWindow(), "a")
    assert not emits(CompletionWindow(), "a.\n\n")


def test_a_function_decides_on_what_it_sees():
    whitespace = FunctionWindow(lambda window: window.texts[-1][-1:].isspace())
    assert emits(whitespace, "Hello", " ")
    assert not emits(whitespace, "Hello")
    assert emits(FunctionWindow(lambda window: window.chunks == 3 and window.length == 6), "ab", "cd", "ef")


@pytest.mark.parametrize(
    "make",
    [
        lambda: LengthWindow(0),
        lambda: LengthWindow(-1),
        lambda: LengthWindow(1.5),
        lambda: LengthWindow(True),
        lambda: AnyWindow(()),
        lambda: FunctionWindow(lambda window: True, lookback=0),
        lambda: FunctionWindow("sentence"),
    ],
)
def test_values_that_make_no_sense_are_value_errors_that_blame_the_author(make):
    with pytest.raises(ValueError, match=r".") as caught:
        make()
    assert isinstance(caught.value, SettingError)
    assert isinstance(caught.value, ScriptError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_asynchronous_function_is_refused_as_it_would_always_be_true():
    async def later(window):
        return False

    with pytest.raises(SettingError, match="answers at once"):
        FunctionWindow(later)


POLICIES = [
    ImmediateWindow(),
    CompletionWindow(),
    ParagraphWindow(),
    SentenceWindow(),
    LengthWindow(7),
    MarkerWindow(),
    AnyWindow((ParagraphWindow(), MarkerWindow(), LengthWindow(5))),
    FunctionWindow(lambda window: window.chunks % 3 == 0),
]
TEXT = st.text(alphabet="ab. \n\r*!", max_size=8)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@given(texts=st.lists(TEXT))
def test_windows_never_lose_or_add_text(policy, texts):
    assert isinstance(policy, WindowPolicy)
    buffer = StreamBuffer(Windowing(ChatChunk, ChatReply, policy))
    outputs = [output for text in texts for output in buffer.add(ChatChunk(text=text), 0.0)]
    outputs += buffer.flush()
    assert "".join(output.text for output in outputs) == "".join(texts)
    assert all(output.text for output in outputs)
    assert buffer.flush() == []


@given(texts=st.lists(TEXT, min_size=1), maximum=st.integers(1, 12))
def test_a_maximum_bounds_every_output_up_to_the_last_chunk(texts, maximum):
    buffer = StreamBuffer(
        Windowing(ChatChunk, ChatReply, AnyWindow((SentenceWindow(), LengthWindow(maximum))))
    )
    outputs = [output for text in texts for output in buffer.add(ChatChunk(text=text), 0.0)]
    outputs += buffer.flush()
    longest = max(map(len, texts))
    assert all(len(output.text) < maximum + max(longest, 1) for output in outputs)


def test_policies_are_values():
    assert AnyWindow((SentenceWindow(), LengthWindow(9))) == AnyWindow((SentenceWindow(), LengthWindow(9)))
    assert LengthWindow(9) != LengthWindow(8)
    with pytest.raises(AttributeError):
        LengthWindow(9).max = 8
