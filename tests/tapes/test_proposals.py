"""Places at which two texts differ: what is volatile gets a mask, what is not is told as that."""

from __future__ import annotations

import re

import pytest

from soundstage.tapes._proposals import ORDER, WORDS, places_of

VOLATILE = {
    "a time of day": ("now 10:41:07 UTC", "now 10:42:19 UTC", "time"),
    "a time to the minute": ("it is 9:58 AM here", "it is 10:02 AM here", "time"),
    "a date with a time": ("at 2026-01-31T10:41:07.123Z.", "at 2026-02-01T00:00:00Z.", "time"),
    "a time without signs": ("run 20260131T104107Z", "run 20260131T104109Z", "time"),
    "seconds since 1970": ("at 1795430530.86 sharp", "at 1795430538.03 sharp", "time"),
    "nanoseconds since 1970": ("stamp=1795430530860557812", "stamp=1795430538030673401", "time"),
    "a uuid": (
        "id f755686b-52d0-49a3-88b0-14cfc72f3e3f",
        "id 879c4b9f-3b81-4d65-b86a-defa2e45166e",
        "id",
    ),
    "an address in memory": ("<Agent at 0x7f01a2b3c4d0>", "<Agent at 0x7fb2a2b3c4d0>", "id"),
    "hexadecimal digits": ("commit 26b8824c is good", "commit e918dbef is good", "id"),
    "an id behind its kind": ("see run_8fQ3xK of today", "see run_1Zt9aB of today", "id"),
    "an id with hyphens": ("key V1StGXR8_Z5jdHi6B-myT ok", "key 9_aXcd-8Zk2dHi60B-mxQ ok", "id"),
    "a process": ("pid 18853 is up", "pid 981 is up", "number"),
    "a number that is all": ("17203", "981", "number"),
    "a number at the start": ("17 files seen", "2041 files seen", "number"),
    "a number in JSON": ('{"pid": 18853, "ok": 1}', '{"pid": 981, "ok": 1}', "number"),
    "a duration": ("took 0.375 s", "took 12.4 s", "duration"),
    "a port": ("at http://127.0.0.1:45123/v1", "at http://127.0.0.1:3321/v1", "port"),
    "a folder in /tmp": ("see /tmp/tmpab12/x", "see /tmp/tmpzz_9/x", "temporary path"),
    "a folder below the folder for such": ("see <tmp>/tmpabcd/x", "see <tmp>/tmpefgh/x", "temporary path"),
}


@pytest.mark.parametrize("case", VOLATILE)
def test_every_mask_of_a_volatile_text_makes_both_sides_the_same(case):
    one, other, kind = VOLATILE[case]
    [place] = places_of(one, other)
    assert place.kind == kind
    assert place.masks
    for mask in place.masks:
        assert re.sub(mask.pattern, mask.stands, one) == re.sub(mask.pattern, mask.stands, other) != one


@pytest.mark.parametrize("case", VOLATILE)
def test_the_narrow_mask_hides_nothing_but_its_place(case):
    one, other, _ = VOLATILE[case]
    place = next(places_of(one, other))
    assert not re.search(place.masks[-1].pattern, f"{place.then} or {place.first} elsewhere")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like cats", "I like dogs"),
        ("call me", "call me now"),
        ("be brief", "be brief\nnever guess"),
        ("version two", "version 2"),
        ("", "17"),
    ],
)
def test_other_words_get_no_mask(one, other):
    assert [(place.kind, place.masks) for place in places_of(one, other)] == [(WORDS, ())]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use alpha, beta, gamma, delta", "use gamma, alpha, delta, beta"),
        ("b.py\na.py\nc.py", "a.py\nc.py\nb.py"),
    ],
)
def test_the_same_words_in_another_order_are_told_as_that(one, other):
    assert [(place.kind, place.masks) for place in places_of(one, other)] == [(ORDER, ())]


def test_an_order_is_told_apart_from_other_words_and_from_what_is_volatile():
    one = "at 10:41:07 use alpha, beta, gamma, delta, epsilon and like cats"
    other = "at 10:41:09 use gamma, epsilon, alpha, delta, beta and like dogs"
    assert [place.kind for place in places_of(one, other)] == ["time", ORDER, WORDS]
    assert [place.first for place in places_of(one, other)][-1] == "cats"


def test_a_number_behind_other_words_is_no_mask():
    assert {place.kind for place in places_of("seven cats 17", "eight dogs 18")} == {WORDS}


def test_a_mask_is_as_readable_as_its_words():
    [place] = places_of("(order-id: 17)", "(order-id: 2041)")
    assert place.masks[-1].pattern == r"(?<=\(order-id: )\d+(?:\.\d+)?"
