"""Server-sent events come out the same however the bytes were cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundstage.live._answer_sse import SseEvent, SseReader


def events_of(*pieces):
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [SseEvent("message", "a")]),
        (b"data:a\n\n", [SseEvent("message", "a")]),
        (b"data:  a\n\n", [SseEvent("message", " a")]),
        (b"event: ping\ndata: {}\n\n", [SseEvent("ping", "{}")]),
        (b"event: ping\n\ndata: a\n\n", [SseEvent("message", "a")]),
        (b"data: a\ndata: b\n\n", [SseEvent("message", "a\nb")]),
        (b"data\n\n", [SseEvent("message", "")]),
        (b": a remark\nid: 7\nretry: 5\ndata: a\n\n", [SseEvent("message", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent("message", "a")]),
        (
            b"data: a\r\n\r\ndata: b\r\rdata: c\n\n",
            [SseEvent("message", letter) for letter in "abc"],
        ),
        (b"data: a\n", []),
        (b"\n\n\n", []),
        (b"data: \xff\n\n", [SseEvent("message", "\ufffd")]),
    ],
)
def test_events_are_read_as_the_standard_says(stream, expected):
    assert events_of(stream) == expected


LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)))


@given(
    st.lists(st.tuples(st.sampled_from(["", "ping"]), st.lists(LINES, min_size=1, max_size=3))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 200)),
)
@settings(deadline=None)
def test_the_pieces_do_not_matter(events, end, cuts):
    stream = "".join(
        (f"event: {name}{end}" if name else "") + "".join(f"data: {line}{end}" for line in lines) + end
        for name, lines in events
    ).encode()
    stream += b"data: x\n\n"
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[start:stop] for start, stop in pairwise(places)]
    expected = [SseEvent(name or "message", "\n".join(lines)) for name, lines in events]
    assert events_of(*pieces) == [*expected, SseEvent("message", "x")]


def test_an_event_is_given_as_soon_as_its_end_is_certain():
    reader = SseReader()
    assert list(reader.feed(b"data: a\r\r")) == []  # a line feed may follow
    assert list(reader.feed(b"d")) == [SseEvent("message", "a")]
