"""Assertions on the events of a journal."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import ChatChunk, ChatEntry, ChatReceived, ChatReply, Journals, TypedJournal
from soundstage.clock import run
from soundstage.errors import ExpectationError, InvalidStateError, MatchError, ScriptError, WaitTimeout
from soundstage.journal import Journal, MessageReceived, MessageSent, Noted, event
from soundstage.trace import (
    assert_eventually,
    assert_ordered,
    assert_quiet,
    check_eventually,
    check_ordered,
    check_quiet,
)


@pytest.fixture(params=["the journal", "a typed view"])
def chat(request):
    """A chat of four entries, and its remarks, which only the whole journal has."""
    journal = Journal()
    journal.append(ChatReceived(text="hi", sender="ann"))
    journal.append(ChatReply(text="hello ann", sender="bot"))
    journal.append(ChatReceived(text="tell me of tea", sender="ann"))
    journal.append(ChatReply(text="tea is hot", sender="bot"))
    return journal if request.param == "the journal" else Journals(journal).get(ChatEntry)


def failure(journal, *matchers, **options):
    with pytest.raises(ExpectationError) as caught:
        assert_ordered(journal, *matchers, **options)
    return caught.value


@pytest.mark.parametrize(
    "expected",
    [
        (ChatReceived, ChatReply),
        (ChatReceived, ChatReply, ChatReceived, ChatReply),
        ("hello", "tea is"),
        ("hi", event(ChatReply, text="/^hello/"), lambda entry: "tea" in entry.text),
        (["nothing", "hi"], {"not": ChatReceived}, {"all": [ChatReply, "hot"]}),
        (ChatEntry, ChatEntry, ChatEntry, ChatEntry),
    ],
)
def test_events_in_order_hold_whatever_comes_between(chat, expected):
    finding = check_ordered(chat, *expected)
    assert finding
    assert finding.at == 1 or expected[0] == "hello"
    assert assert_ordered(chat, *expected) is None


def test_a_miss_counts_what_was_found_and_shows_the_journal_around_the_nearest(chat):
    error = failure(chat, "hi", event(ChatReply, text="hello bob"), "hot")
    assert error.summary == "expected 3 ordered, found 1: ChatReply(text='hello bob') is missing"
    assert error.expected.splitlines() == ["= 1 'hi' @1", "- 2 ChatReply(text='hello bob')", "- 3 'hot'"]
    assert error.seen.splitlines() == [
        "the nearest is @2: text: 'hello bob' is not in 'hello ann'",
        "= @1 ChatReceived ann: hi",
        "> @2 ChatReply bot: hello ann",
        "  @3 ChatReceived ann: tell me of tea",
        "  @4 ChatReply bot: tea is hot",
    ]


def test_an_event_that_comes_too_early_is_named(chat):
    error = failure(chat, "tea is", "hello")
    assert error.summary == "expected 2 ordered, found 1: 'hello' came before 'tea is'"
    assert error.seen.splitlines()[0] == "@2 would match, but comes earlier"
    assert "> @2 ChatReply" in error.seen
    assert "= @4 ChatReply" in error.seen


def test_no_event_counts_twice(chat):
    error = failure(chat, "hello", "hello")
    assert error.seen.splitlines()[0] == "@2 would match, but counts for event 1 already"


def test_what_is_like_nothing_says_so(chat):
    error = failure(chat, "hi", "/xyz{3}/")
    assert error.seen.splitlines()[0] == "nothing like it comes after @1"
    assert failure(Journal(), Noted).seen == "nothing like it is in the journal\n(nothing happened)"


def test_a_position_from_which_to_look(chat):
    assert_ordered(chat, ChatReceived, ChatReply, after=2)
    assert failure(chat, ChatReceived, ChatReceived, after=2)


def test_a_long_journal_is_cut_to_what_stands_around_the_miss_without_what_is_routine():
    journal = Journal()
    for number in range(50):
        journal.append(ChatChunk(text=f"piece {number}"))
        journal.append(Noted(text=f"remark {number}"), source="test")
    error = failure(journal, "remark 20", event(Noted, text="remark 2x"))
    lines = error.seen.splitlines()
    assert lines[1] == "  ... 16 before"
    assert lines[-1] == "  ... 22 after"
    assert len(lines) == 15
    assert "> @44 Noted (test) remark 21" in lines
    assert "ChatChunk" not in error.seen


@pytest.mark.parametrize("expected", [(), ("hi", "ChatReply"), ([],), ("hi", 5), ("hi", "ChatRecieved")])
def test_nothing_holds_by_accident(chat, expected):
    with pytest.raises(ScriptError):
        assert_ordered(chat, *expected)


def test_a_predicate_that_raises_is_an_error_and_no_miss(chat):
    with pytest.raises(MatchError, match="raised AttributeError"):
        assert_ordered(chat, lambda entry: entry.nothing)
    with pytest.raises(MatchError, match="has no field 'txt'"):
        assert_ordered(chat, event(ChatReply, txt="x"))


def test_a_predicate_that_raises_for_an_earlier_event_still_explains_the_miss(chat):
    error = failure(chat, "hot", lambda entry: entry.nothing)
    assert error.summary.startswith("expected 2 ordered, found 1")


def test_an_event_of_another_family_is_refused_by_a_typed_view():
    view = TypedJournal(Journal(), ChatEntry)
    with pytest.raises(MatchError, match="never holds Noted"):
        assert_ordered(view, ChatReply, Noted)


def test_a_typed_view_sees_its_entries_only():
    journal = Journal()
    journal.append(Noted(text="hello"))
    journal.append(ChatReply(text="bye"))
    assert_ordered(journal, "hello", "bye")
    assert "@1" not in failure(TypedJournal(journal, ChatEntry), "hello").seen


LETTERS = st.lists(st.sampled_from("abc"), max_size=8)


def is_subsequence(some, many):
    rest = iter(many)
    return all(one in rest for one in some)


@given(LETTERS.filter(bool), LETTERS)
def test_it_holds_exactly_for_subsequences(expected, there):
    journal = Journal()
    journal.extend(Noted(text=letter) for letter in there)
    finding = check_ordered(journal, *expected)
    assert bool(finding) == is_subsequence(expected, there)
    if not finding:
        longest = max(n for n in range(len(expected)) if is_subsequence(expected[:n], there))
        assert finding.message.startswith(f"expected {len(expected)} ordered, found {longest}:")


def test_two_quiet_seconds_pass_on_the_runs_clock_only():
    async def main():
        journal = Journal()
        await assert_quiet(TypedJournal(journal, ChatEntry), 1)
        await assert_quiet(journal, 3600)
        return journal.clock.now()

    assert run(main()) == 3601


async def later(journal, *events, step=1.0):
    for fact in events:
        await asyncio.sleep(step)
        journal.append(fact)


def in_a_run(body, *events, view=None):
    """Run `body(journal)` while these events come, one a second."""

    async def main():
        journal = Journal()
        journal.append(MessageReceived(text="hi", sender="ann"))
        coming = asyncio.create_task(later(journal, *events))
        try:
            return await body(journal if view is None else TypedJournal(journal, view))
        finally:
            await coming

    return run(main())


def test_what_comes_in_the_quiet_is_quoted():
    with pytest.raises(ExpectationError) as caught:
        in_a_run(
            lambda journal: assert_quiet(journal, 2, because="an empty line asks nothing"),
            MessageSent(text="Oops", channel="console"),
        )
    error = caught.value
    assert error.summary == "expected 2 quiet seconds, but there came MessageSent: console: Oops"
    assert error.expected == "no event, because an empty line asks nothing"
    assert error.seen.splitlines() == [
        "  @1 MessageReceived ann: hi",
        "> @2 MessageSent console: Oops",
    ]


def test_what_comes_after_the_quiet_or_does_not_match_or_was_there_before_does_not_matter():
    in_a_run(lambda journal: assert_quiet(journal, 0.5), Noted(text="late"))
    in_a_run(lambda journal: assert_quiet(journal, 5, MessageSent), Noted(text="other"))
    in_a_run(lambda journal: assert_quiet(journal, 5, "hi"), Noted(text="other"))
    in_a_run(lambda journal: assert_quiet(journal, 5), Noted(text="other"), view=ChatEntry)
    with pytest.raises(ExpectationError, match="ChatReply: oh"):
        in_a_run(lambda journal: assert_quiet(journal, 5), ChatReply(text="oh"), view=ChatEntry)


def test_quiet_never_holds_by_accident():
    with pytest.raises(MatchError, match="raised AttributeError"):
        in_a_run(lambda journal: assert_quiet(journal, 5, lambda one: one.nothing), Noted(text="x"))
    with pytest.raises(MatchError, match="cannot be waited for"):
        in_a_run(lambda journal: assert_quiet(journal, 5, "MesageSent"))
    with pytest.raises(MatchError, match="never holds"):
        in_a_run(lambda journal: assert_quiet(journal, 5, MessageSent), view=ChatEntry)
    with pytest.raises(ValueError, match="more than 0"):
        in_a_run(lambda journal: assert_quiet(journal, 0))

    async def closed():
        journal = Journal()
        journal.close()
        await assert_quiet(journal, 1)

    with pytest.raises(InvalidStateError, match="closed"):
        run(closed())


def test_an_event_that_comes_in_time_or_is_there_is_returned():
    async def both(journal):
        return (
            await assert_eventually(journal, "hi"),
            await assert_eventually(journal, MessageSent, within=30, because="it answers"),
        )

    there, came = in_a_run(both, Noted(text="x"), MessageSent(text="hello"))
    assert (there.position, there.time) == (1, 0)
    assert (came.position, came.time) == (3, 2)


def test_what_does_not_come_lists_what_was_skipped_and_says_why_it_was_wanted():
    wanted = event(MessageSent, text="hello ann")
    with pytest.raises(WaitTimeout) as caught:
        in_a_run(
            lambda journal: assert_eventually(journal, wanted, within=10, because="the bot greets"),
            MessageSent(text="hello bob"),
            Noted(text="hello ann"),
        )
    error = caught.value
    assert error.summary == "no matching event within 10 s"
    assert error.expected == "MessageSent(text='hello ann'), because the bot greets"
    assert error.seen.splitlines() == [
        "3 events skipped",
        "the nearest is @2: text: 'hello ann' is not in 'hello bob'",
        "  @1 MessageReceived ann: hi",
        "> @2 MessageSent hello bob",
        "  @3 Noted hello ann",
    ]
    assert isinstance(error, AssertionError)


def test_waiting_from_a_position_and_in_a_closed_journal():
    async def main():
        journal = Journal()
        journal.append(Noted(text="early"))
        with pytest.raises(WaitTimeout) as caught:
            await assert_eventually(journal, "early", within=1, after=1)
        assert caught.value.seen == "0 events skipped\n(nothing happened)"
        journal.close()
        with pytest.raises(WaitTimeout, match="the journal is closed"):
            await assert_eventually(journal, "/late$/", within=1)
        return journal.clock.now()

    assert run(main()) == 1


def test_every_assertion_has_a_form_that_returns_a_finding():
    """The same arguments, and a finding where the other one raises."""
    import inspect

    import soundstage.trace as public

    def named(name):
        return list(inspect.signature(getattr(public, name)).parameters)

    raising = [name for name in public.__all__ if name.startswith("assert_")]
    assert {name.replace("assert_", "check_") for name in raising} == {
        name for name in public.__all__ if name.startswith("check_")
    }
    for name in raising:
        assert named(name) == named(name.replace("assert_", "check_")), name


def test_waiting_checks_return_what_the_assertions_raise():
    async def main():
        journal = Journal()
        journal.append(MessageSent(text="tea is hot"))
        came = await check_eventually(journal, "tea", within=1)
        never = await check_eventually(journal, "milk", within=1, because="it is asked for")
        quiet = await check_quiet(journal, 2)
        asyncio.get_running_loop().call_later(1, journal.append, MessageSent(text="late"))
        loud = await check_quiet(journal, 2)
        with pytest.raises(WaitTimeout) as caught:
            await assert_eventually(journal, "milk", within=1, because="it is asked for")
        assert never.expected == caught.value.expected
        return came, never, quiet, loud

    came, never, quiet, loud = run(main())
    assert came
    assert came.at == 1
    assert not never
    assert "because it is asked for" in never.expected
    assert quiet
    assert not loud
    assert loud.at == 2
    assert "there came MessageSent: late" in loud.message
