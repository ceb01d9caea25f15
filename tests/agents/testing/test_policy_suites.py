"""The conformance suites for window and split policies: ours pass, and each way to be wrong is named."""

from __future__ import annotations

import pytest

from soundstage.agents import (
    AnyWindow,
    ChainSplitter,
    CompletionWindow,
    FunctionWindow,
    ImmediateWindow,
    LengthSplitter,
    LengthWindow,
    MarkerSplitter,
    MarkerWindow,
    ParagraphSplitter,
    ParagraphWindow,
    SentenceSplitter,
    SentenceWindow,
)
from soundstage.agents.testing import verify_split_policy, verify_window_policy
from soundstage.agents.testing._policy_suites import SPLIT_GUARANTEES, WINDOW_GUARANTEES
from soundstage.clock import run
from soundstage.errors import ExpectationError


@pytest.mark.parametrize(
    "make",
    [
        ImmediateWindow,
        CompletionWindow,
        ParagraphWindow,
        SentenceWindow,
        MarkerWindow,
        lambda: LengthWindow(40),
        lambda: FunctionWindow(lambda window: window.texts[-1][-1:].isspace()),
        lambda: AnyWindow((ParagraphWindow(), MarkerWindow(), LengthWindow(1024))),
    ],
)
def test_our_window_policies_pass(make):
    run(verify_window_policy(make))


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (ParagraphSplitter, None),
        (SentenceSplitter, None),
        (MarkerSplitter, None),
        (lambda: LengthSplitter(100), 100),
        (lambda: ChainSplitter((ParagraphSplitter(), SentenceSplitter(), LengthSplitter(7))), 7),
    ],
)
def test_our_split_policies_pass(make, limit):
    run(verify_split_policy(make, max=limit))


class Window:
    """A policy that is right; each broken one below differs in one thing."""

    lookback = 1

    def emits(self, window):
        return window.length > 3


class NoLookback(Window):
    lookback = 0


class BoolLookback(Window):
    lookback = True


class Truthy(Window):
    def emits(self, window):
        return window.length


class Asynchronous(Window):
    async def emits(self, window):
        return True


class Refuses(Window):
    def emits(self, window):
        return window.texts[-1][-1] == " "  # a chunk may be empty


class Counts(Window):
    def __init__(self):
        self.asked = 0

    def emits(self, window):
        self.asked += 1
        return self.asked % 2 == 0


NUMBER, ANSWER, MEMORY, _ = (guarantee.promise for guarantee in WINDOW_GUARANTEES)


@pytest.mark.parametrize(
    ("make", "promise"),
    [
        (NoLookback, NUMBER),
        (BoolLookback, NUMBER),
        (Truthy, ANSWER),
        (Asynchronous, ANSWER),
        (Refuses, ANSWER),
        (Counts, MEMORY),
    ],
)
def test_each_way_in_which_a_window_policy_can_be_wrong_is_named(make, promise):
    run(verify_window_policy(Window))
    with pytest.raises(ExpectationError, match="this window policy does not keep a guarantee") as caught:
        run(verify_window_policy(make))
    assert caught.value.summary.endswith(promise)


def test_a_policy_under_which_text_gets_lost_is_named(monkeypatch):
    monkeypatch.setattr("soundstage.agents.testing._policy_suites.StreamBuffer", Forgetful)
    with pytest.raises(ExpectationError, match="loses and adds no text"):
        run(verify_window_policy(Window))


class Forgetful:
    """A buffer that loses what it is given."""

    def __init__(self, windowing):
        pass

    def add(self, chunk, now):
        return []

    def flush(self):
        return []


class Halves:
    """A policy that is right; each broken one below differs in one thing."""

    def pieces(self, text):
        middle = len(text) // 2
        return [piece for piece in (text[:middle], text[middle:]) if piece]


class AsText(Halves):
    def pieces(self, text):
        return text


class EmptyPieces(Halves):
    def pieces(self, text):
        return [text, ""]


class NoTexts(Halves):
    def pieces(self, text):
        return [text.encode()]


class Trims(Halves):
    def pieces(self, text):
        return [piece.strip() for piece in super().pieces(text) if piece.strip()]


class Remembers(Halves):
    def __init__(self):
        self.seen = set()

    def pieces(self, text):
        again = text in self.seen
        self.seen.add(text)
        return () if again else super().pieces(text)


PIECES, JOINED, REPEATABLE, LIMIT = (guarantee.promise for guarantee in SPLIT_GUARANTEES)


@pytest.mark.parametrize(
    ("make", "limit", "promise"),
    [
        (AsText, None, PIECES),
        (EmptyPieces, None, PIECES),
        (NoTexts, None, PIECES),
        (Trims, None, JOINED),
        (Remembers, None, REPEATABLE),
        (Halves, 100, LIMIT),
    ],
)
def test_each_way_in_which_a_split_policy_can_be_wrong_is_named(make, limit, promise):
    run(verify_split_policy(Halves))
    with pytest.raises(ExpectationError, match="this split policy does not keep a guarantee") as caught:
        run(verify_split_policy(make, max=limit))
    assert caught.value.summary.endswith(promise)
