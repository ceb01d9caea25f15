"""Masks that are learnt from two runs: they cover a third one, and hide nothing else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from soundstage.differences import differences
from soundstage.messages import ModelRequest, assistant, user
from soundstage.tapes import Mask, Playback, RecordedExchange, Surroundings, Tape, TapeHead
from soundstage.tapes._learning import AskedTwice, learn
from soundstage.tapes._playback import normaliser_of
from soundstage.tapes._seen import SeenRequest
from soundstage.tapes._surroundings import normaliser
from soundstage.tapes._twice import learned_of
from soundstage.tapes._verdict import Verdict

PLAIN = Tape()


def learnt(*pairs, same=(), here=Surroundings()):  # noqa: B008
    asked = [AskedTwice(number, "", *pair) for number, pair in enumerate(pairs, 1)]
    return learn(asked, same, lambda masks: normaliser_of(PLAIN, here, masks))


def patterns(learned):
    return [mask.pattern or mask.place for mask, _ in learned.masks]


def values(text):
    """A template of a prompt, filled with drawn values."""
    digits = st.integers(10_000, 99_999_999)
    clock = st.times().map(lambda time: time.replace(microsecond=0).isoformat())
    hexes = st.text("0123456789abcdef", min_size=12, max_size=12).map(lambda hexed: f"a1{hexed}")
    return st.tuples(digits, clock, hexes, st.uuids()).map(lambda drawn: text.format(*drawn))


PROMPT = "You are job {0}. Started {1}, commit {2}.\nSession: {3}, version 3.\nAnswer in 2 sentences."


@given(st.lists(values(PROMPT), min_size=3, max_size=3, unique=True))
@settings(max_examples=60, deadline=None)
def test_masks_of_two_runs_cover_a_third(request_of, texts):
    first, second, third = (request_of("go on", prompt=text) for text in texts)
    learned = learnt((first, second))
    assert learned.left == ()
    masks = [mask for mask, _ in learned.masks]
    normal = normaliser(masks=masks)
    parts = [set(zip(*(text.split() for text in pair), strict=True)) for pair in (texts[:2], texts[::2])]
    if {one for one, other in parts[1] if one != other} <= {one for one, other in parts[0] if one != other}:
        assert differences(first, third, normalise=normal) == ()
    for edited in ("version 4", "in 5 sentences"):
        changed = texts[2].replace(edited[:-1] + "3" if "version" in edited else "in 2 sentences", edited)
        assert differences(first, request_of("go on", prompt=changed), normalise=normal) != ()


def test_a_mask_that_would_hide_what_both_runs_have_is_made_narrow(request_of):
    texts = [
        f"Released 2024-01-02 12:00:00. Now {now}." for now in ("2026-01-31 10:41:07", "2026-01-31 10:41:09")
    ]
    learned = learnt(tuple(map(request_of, texts)))
    assert r"12:00:00\. Now )" in patterns(learned)[0]
    normal = normaliser(masks=[mask for mask, _ in learned.masks])
    assert "2024-01-02 12:00:00" in normal(texts[0])


def test_a_mask_that_would_hide_what_another_request_has_is_made_narrow(request_of):
    pair = request_of("it is 10:41:07"), request_of("it is 10:41:09")
    assert patterns(learnt(pair)) == [r"\b\d\d:\d\d:\d\d(?:\.\d+)?\b"]
    assert patterns(learnt(pair, same=[request_of("wake me at 07:00:00")]))[0].startswith("(?<=it is )")


def test_a_number_with_nothing_around_it_is_refused_where_another_text_is_a_number(request_of):
    pair = request_of("17"), request_of("18")
    assert patterns(learnt(pair)) == [r"\A\d+(?:\.\d+)?\Z"]
    learned = learnt(pair, same=[request_of("4")])
    assert (learned.masks, [one.place.kind for one in learned.left]) == ((), ["number"])


def test_one_mask_serves_a_text_that_comes_again_in_the_history(request_of):
    first, then = ("at 10:41:07", "at 10:41:09")
    learned = learnt(
        (request_of(first), request_of(then)),
        (request_of(first, assistant("ok"), user("more")), request_of(then, assistant("ok"), user("more"))),
    )
    assert len(learned.masks) == 1
    assert str(learned.masks[0][1]) == "request 1, messages[0] user, part 1: '10:41:07', then '10:41:09'"


def test_plain_words_are_left_and_told_once(request_of):
    learned = learnt(
        (request_of("I like cats at 10:41:07"), request_of("I like dogs at 10:41:09")),
        (request_of("I like cats at 10:41:07", user("x")), request_of("I like dogs at 10:41:09", user("x"))),
    )
    assert [one.place[:3] for one in learned.left] == [("cats", "dogs", "words")]
    assert len(learned.masks) == 1


def test_a_setting_that_is_a_number_is_masked_by_its_place(request_of):
    pair = request_of("hi", settings={"seed": 71, "n": 1}), request_of("hi", settings={"seed": 9, "n": 1})
    learned = learnt(pair)
    assert patterns(learned) == ["settings.seed"]
    head = TapeHead(masks=tuple(mask for mask, _ in learned.masks))
    tape = Tape([RecordedExchange(number=1, request=pair[0])], head=head)
    assert Playback(tape).find(request_of("hi", settings={"seed": 5, "n": 1}))
    assert not Playback(tape).find(request_of("hi", settings={"seed": 5, "n": 2}))


def test_folders_and_names_of_the_run_need_no_mask(request_of):
    head = TapeHead(places=Surroundings(user="annabel", host="box17", cwd="/work/shop"))
    tape = Tape([RecordedExchange(number=1, request=request_of("annabel@box17:/work/shop"))], head=head)
    here = Surroundings(user="bertold", host="runner", cwd="/builds/7")
    assert Playback(tape, here=here).find(request_of("bertold@runner:/builds/7"))
    assert not Playback(tape, here=here).find(request_of("bertolda@runner:/builds/7"))
    assert normaliser(here)("in bertold's sebertold") == "in <user>'s sebertold"


def test_another_model_is_left(request_of):
    learned = learnt((request_of("hi"), request_of("hi", model="n")))
    assert (learned.masks, len(learned.left)) == ((), 1)


def test_a_mask_says_what_it_is_for():
    assert str(Mask(pattern="[0-9]+", stands="<n>")) == "<n>  [0-9]+"
    assert str(Mask(place="settings.seed", stands="<n>")) == "<n>  settings.seed"


def test_a_setting_that_has_a_mask_already_gets_no_other():
    def asked(text, seed):
        return ModelRequest(model="m", messages=(user(text),), settings={"seed": seed})

    recorded, seen = asked("job 41234, please", 1), asked("job 59876, please", 2)
    tape = Tape([RecordedExchange(number=1, request=recorded, response=assistant("ok"))])
    tape.head = TapeHead(masks=(Mask(place="settings.seed", stands="<number>"),))
    verdict = Verdict(cause="prompt edited", request=1, nearest=1)
    learned = learned_of(tape, [SeenRequest(request=seen, verdict=verdict)], Surroundings())
    assert len(learned.masks) == 1
    assert "settings" not in patterns(learned)[0]
    assert learned.left == ()
