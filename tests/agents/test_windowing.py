"""The buffer of a stream, and the daemon that makes outputs of chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import (
    AGENT,
    CHAT,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    AgentThoughtChunk,
    BatchOutput,
    ChatChunk,
    ChatReply,
    ChatStreamCompleted,
    CompletionWindow,
    EntryFamily,
    Followers,
    FunctionWindow,
    ImmediateWindow,
    LengthSplitter,
    LengthWindow,
    SettingError,
    StreamBuffer,
    Windowing,
    WindowingDaemon,
)
from soundstage.clock import run
from soundstage.journal import DaemonChanged, Event, Journal

IMMEDIATE = Windowing(ChatChunk, ChatReply, ImmediateWindow())
WHOLE = Windowing(ChatChunk, ChatReply, CompletionWindow())


def texts(outputs):
    return [output.text for output in outputs]


def fed(windowing, *pieces, sender=""):
    """The outputs after each piece, and those of the flush."""
    buffer = StreamBuffer(windowing)
    given_out = [texts(buffer.add(ChatChunk(text=text, sender=sender), 0.0)) for text in pieces]
    return given_out, texts(buffer.flush())


def test_the_whole_buffer_is_emitted_not_only_what_the_policy_saw():
    windowing = Windowing(
        ChatChunk, ChatReply, FunctionWindow(lambda window: window.texts == ("!",), lookback=1)
    )
    assert fed(windowing, "Hello", " ", "you", "!", "rest") == ([[], [], [], ["Hello you!"], []], ["rest"])


def test_when_nothing_is_buffered_nothing_is_emitted():
    assert fed(IMMEDIATE, "a", "", "b") == ([["a"], [], ["b"]], [])
    assert fed(WHOLE, "", "") == ([[], []], [])
    assert fed(WHOLE) == ([], [])


def test_the_last_sender_that_is_not_empty_wins():
    buffer = StreamBuffer(WHOLE)
    for text, sender in (("a", "first"), ("b", "second"), ("c", "")):
        buffer.add(ChatChunk(text=text, sender=sender), 0.0)
    assert buffer.flush() == [ChatReply(text="abc", sender="second")]


class WithoutSender(Event, frozen=True, kw_only=True):
    text: str


def test_entries_of_an_apps_own_need_no_more_than_text():
    buffer = StreamBuffer(Windowing(WithoutSender, WithoutSender, CompletionWindow()))
    buffer.add(WithoutSender(text="a"), 0.0)
    buffer.add(WithoutSender(text="b"), 0.0)
    assert buffer.flush() == [WithoutSender(text="ab")]


def whole_words(chunks):
    """Everything up to the last space; the rest waits for what follows."""
    text = "".join(chunk.text for chunk in chunks)
    head, space, tail = text.rpartition(" ")
    return (
        BatchOutput(ChatReply(text=head + space), ChatChunk(text=tail))
        if space
        else BatchOutput(ChatReply(text=text))
    )


def test_a_remainder_stays_for_the_next_output():
    windowing = Windowing(ChatChunk, ChatReply, LengthWindow(6), batch=whole_words)
    assert fed(windowing, "Hel", "lo wor", "ld you") == ([[], ["Hello "], ["world "]], ["you"])


def test_what_is_left_is_flushed_even_if_it_is_only_a_remainder():
    windowing = Windowing(ChatChunk, ChatReply, ImmediateWindow(), batch=whole_words)
    assert fed(windowing, "one two") == ([["one "]], ["two"])


@pytest.mark.parametrize("growth", ["", "more"])
def test_a_batch_function_that_gives_everything_back_is_an_error_and_no_endless_loop(growth):
    def greedy(chunks):
        return BatchOutput(
            ChatReply(text=""), ChatChunk(text="".join(chunk.text for chunk in chunks) + growth)
        )

    with pytest.raises(SettingError, match="gives back as much as it got"):
        fed(WHOLE._replace(batch=greedy), "abc")
    with pytest.raises(SettingError, match="gives back as much as it got"):
        fed(IMMEDIATE._replace(batch=greedy), "abc")


def test_outputs_are_cut_by_the_split_policy():
    assert fed(WHOLE._replace(splitter=LengthSplitter(4)), "abcdef", "ghi") == (
        [[], []],
        ["abcd", "efgh", "i"],
    )


class NoPieces:
    def pieces(self, text):
        return ()


def test_an_output_without_pieces_is_left_as_it_is():
    assert fed(WHOLE._replace(splitter=NoPieces()), "abc") == ([[]], ["abc"])


def test_a_policy_is_told_when_the_buffer_began_and_when_it_was_emitted():
    seen = []

    def watch(window):
        seen.append((window.chunks, window.length, window.started, window.emitted))
        return window.chunks == 2

    buffer = StreamBuffer(Windowing(ChatChunk, ChatReply, FunctionWindow(watch)))
    for time, text in enumerate(("ab", "c", "def", "g")):
        buffer.add(ChatChunk(text=text), float(time))
    assert seen == [(1, 2, 0.0, None), (2, 3, 0.0, None), (1, 3, 2.0, 1.0), (2, 4, 2.0, 1.0)]


@given(
    pieces=st.lists(st.text(alphabet="ab \n.", max_size=6)),
    maximum=st.integers(1, 8),
    limit=st.integers(1, 8),
    batch=st.sampled_from([None, whole_words]),
)
def test_no_text_is_lost_or_doubled_and_no_output_is_longer_than_its_limit(pieces, maximum, limit, batch):
    windowing = Windowing(ChatChunk, ChatReply, LengthWindow(maximum), LengthSplitter(limit), batch)
    given_out, flushed = fed(windowing, *pieces)
    outputs = [text for some in [*given_out, flushed] for text in some]
    assert "".join(outputs) == "".join(pieces)
    assert all(0 < len(text) <= limit for text in outputs)


# -- the daemon --


def windowed(family, *entries, before=()):
    """The records that a windowing daemon makes of `entries`; `before` is there when it starts."""

    async def main():
        journal = Journal()
        for entry in before:
            journal.append(entry)
        daemon = WindowingDaemon(family, Followers(journal))
        await daemon.start()
        for entry in entries:
            journal.append(entry, source="test")
        await daemon.follower.wait_passed(len(journal))
        await daemon.stop()
        return [
            record
            for record in journal.read()
            if record.source == daemon.name and "Daemon" not in repr(record.event)
        ]

    return run(main())


def chunk(text, stream=""):
    return AgentResponseChunk(text=text, sender="agent", stream=stream)


def thought(text, stream=""):
    return AgentThoughtChunk(text=text, sender="agent", stream=stream)


def test_chunks_become_outputs_by_policy_and_the_rest_when_the_stream_is_complete():
    records = windowed(AGENT, chunk("One.\n"), chunk("\n"), chunk("Two"), AgentStreamCompleted())
    assert [(record.event, record.cause) for record in records] == [
        (AgentResponse(text="One.\n\n", sender="agent"), 3),  # 1 is the start of the daemon itself
        (AgentResponse(text="Two", sender="agent"), 5),
    ]


def test_thoughts_come_before_the_response_whatever_came_first():
    records = windowed(AGENT, chunk("answer"), thought("thinking"), AgentStreamCompleted())
    assert [type(record.event) for record in records] == [AgentThought, AgentResponse]


def test_streams_are_kept_apart():
    records = windowed(
        AGENT,
        chunk("a1 ", "a"),
        chunk("b1 ", "b"),
        chunk("a2", "a"),
        AgentStreamCompleted(stream="a"),
        chunk("b2", "b"),
        AgentStreamCompleted(stream="b"),
        AgentStreamCompleted(stream="c"),
    )
    assert [record.event.text for record in records] == ["a1 a2", "b1 b2"]


def test_a_completion_without_chunks_emits_nothing():
    assert windowed(CHAT, ChatStreamCompleted(), ChatStreamCompleted()) == []


def test_history_is_ignored():
    records = windowed(CHAT, ChatChunk(text="new"), ChatStreamCompleted(), before=[ChatChunk(text="old")])
    assert [record.event.text for record in records] == ["new"]


class OwnChunk(ChatChunk, frozen=True, kw_only=True): ...


def test_subclasses_of_a_chunk_type_are_left_alone():
    assert windowed(CHAT, OwnChunk(text="not ours"), ChatStreamCompleted()) == []


def test_outputs_of_the_default_policies_are_bounded_however_small_the_chunks_are():
    records = windowed(AGENT, *(chunk("0123456789") for _ in range(1000)), AgentStreamCompleted())
    assert [len(record.event.text) for record in records] == [4100, 4100, 1800]


def test_a_policy_that_raises_is_a_failure_event_that_names_the_daemon():
    def broken(window):
        raise RuntimeError("the policy is broken")

    family = EntryFamily(
        ChatReply, (Windowing(ChatChunk, ChatReply, FunctionWindow(broken)),), ChatStreamCompleted
    )

    async def main():
        journal = Journal()
        daemon = WindowingDaemon(family, Followers(journal), name="chat windows")
        await daemon.start()
        journal.append(ChatChunk(text="a"))
        with pytest.raises(RuntimeError, match="the policy is broken") as caught:
            await daemon.wait()
        await daemon.stop()
        failures = [event for event in journal.events(DaemonChanged) if event.error]
        return caught.value.__notes__, failures

    notes, failures = run(main())
    assert notes == ["in 'chat windows', at ChatChunk 2"]
    assert failures == [
        DaemonChanged(daemon="chat windows", status="running", error="RuntimeError: the policy is broken")
    ]
