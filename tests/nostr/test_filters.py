"""Filters and the store, compared with the plainest way to say what they mean."""

from __future__ import annotations

import msgspec
import nostr_sdk as nostr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.nostr._crypto import Keys
from soundstage.nostr._filters import FilterProblem, passes, passes_any, read_filter, select
from soundstage.nostr._record import NostrEvent, UnsignedEvent, address, is_ephemeral
from soundstage.nostr._store import EventStore

IDS = [digit * 64 for digit in "0123"]
KEYS = [digit * 64 for digit in "ab"]
KINDS = [0, 1, 3, 7, 10_002, 20_001, 30_023]
TAGS = st.sampled_from(
    [("e", IDS[0]), ("e", IDS[1]), ("t", "x"), ("t", "y"), ("T", "x"), ("d", "p"), ("d", "q"), ("t",)]
)

EVENTS = st.builds(
    NostrEvent,
    id=st.sampled_from(IDS),
    pubkey=st.sampled_from(KEYS),
    created_at=st.integers(0, 5),
    kind=st.sampled_from(KINDS),
    tags=st.lists(TAGS, max_size=3).map(tuple),
    content=st.just(""),
    sig=st.just("0" * 128),
)
OPTIONAL = {
    "ids": st.lists(st.sampled_from(IDS), max_size=2),
    "authors": st.lists(st.sampled_from(KEYS), max_size=2),
    "kinds": st.lists(st.sampled_from(KINDS), max_size=3),
    "#e": st.lists(st.sampled_from(IDS), max_size=2),
    "#t": st.lists(st.sampled_from(["x", "y"]), max_size=2),
    "#T": st.just(["x"]),
    "since": st.integers(0, 5),
    "until": st.integers(0, 5),
    "limit": st.integers(0, 4),
}
FILTERS = st.fixed_dictionaries({}, optional=OPTIONAL)


CONDITIONS = {
    "ids": lambda event, value: event.id in value,
    "authors": lambda event, value: event.pubkey in value,
    "kinds": lambda event, value: event.kind in value,
    "since": lambda event, value: event.created_at >= value,
    "until": lambda event, value: event.created_at <= value,
    "limit": lambda event, value: True,
}


def meets(event, written):
    """NIP-01 in other words."""
    held = {(f"#{name}", value) for name, *values in event.tags for value in values[:1]}
    return all(
        CONDITIONS[key](event, value) if key in CONDITIONS else held & {(key, one) for one in value}
        for key, value in written.items()
    )


@given(EVENTS, FILTERS)
def test_an_event_passes_when_it_meets_every_condition(event, written):
    assert passes(event, read_filter(written)) == meets(event, written)


@given(st.lists(EVENTS, unique_by=lambda event: event.id), st.lists(FILTERS, max_size=3))
def test_a_selection_is_what_passes_newest_first_each_once_and_within_the_limits(events, written):
    filters = [read_filter(value) for value in written]
    found = select(events, filters)
    assert found == sorted(found, key=lambda event: (-event.created_at, event.id))
    assert len({event.id for event in found}) == len(found)
    assert all(passes_any(event, filters) for event in found)
    for value in written:
        fitting = sorted((e for e in events if meets(e, value)), key=lambda e: (-e.created_at, e.id))
        assert all(event in found for event in fitting[: value.get("limit")])
    assert len(found) <= sum(value.get("limit", len(events)) for value in written)


@given(FILTERS, st.integers(1, 3), st.sampled_from(KINDS), st.lists(TAGS, max_size=3))
def test_the_real_library_judges_as_we_do(written, when, kind, tags):
    keys = Keys(0, "ann")
    note = keys.sign(UnsignedEvent(when, kind, tuple(tags), ""))
    written = {key: value for key, value in written.items() if value != []}
    theirs = nostr.Filter.from_json(msgspec.json.encode(written).decode())
    assert theirs.match_event(nostr.Event.from_json(msgspec.json.encode(note).decode())) == passes(
        note, read_filter(written)
    )


@given(st.lists(EVENTS))
def test_the_store_keeps_of_each_address_the_newest_and_nothing_ephemeral(events):
    store, offered = EventStore(), {}
    for drawn in events:
        event = offered.setdefault(drawn.id, drawn)  # an id belongs to one event
        assert (store.add(event, 0).outcome == "ephemeral") == is_ephemeral(event.kind)
    kept = store.select([read_filter({})], 0)
    assert not any(is_ephemeral(event.kind) for event in kept)
    for event in offered.values():
        rivals = [rival for rival in offered.values() if address(rival) == address(event)]
        if address(event) is None:
            assert (event in kept) == (not is_ephemeral(event.kind))
        else:
            assert (event in kept) == (event == min(rivals, key=lambda e: (-e.created_at, e.id)))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_whatever_is_no_filter_is_refused_with_a_prefix_of_the_protocol(value):
    try:
        read_filter(value)
    except FilterProblem as problem:
        assert str(problem).startswith(("invalid: ", "unsupported: "))
    else:
        assert isinstance(value, dict)


@pytest.mark.parametrize(
    "written", [{"#e": ["A" * 64]}, {"#p": ["x"]}, {"authors": [""]}, {"kinds": [True]}, {"since": 1.5}]
)
def test_values_of_the_wrong_shape_are_refused(written):
    with pytest.raises(FilterProblem, match="invalid: in a filter"):
        read_filter(written)
