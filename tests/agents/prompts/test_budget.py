"""Sections within a budget: what is taken, what is dropped, what is an error."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import SettingError
from soundstage.agents.prompts import PromptBuilder, PromptTooLargeError, estimate_tokens

SECTIONS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 5).map(lambda n: n * 10)), min_size=1, max_size=12
)


def text(tokens):
    """A text of so many tokens."""
    return "x" * math.floor(tokens * 3.5)


def built(sections, **options):
    builder = PromptBuilder(**options)
    for label, content, priority in sections:
        builder.add(label, content, priority=priority)
    return builder.build()


def states(prompt):
    return {size.label: (size.tokens, size.included) for size in prompt.manifest.sections}


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2), (7, 2), (8, 3), (3500, 1000)])
def test_a_token_is_three_and_a_half_characters_rounded_up(length, tokens):
    assert estimate_tokens("x" * length) == tokens


def test_the_less_important_section_is_dropped_when_both_are_too_much():
    prompt = built([("Low", text(3000), 10), ("High", text(3000), 90)])
    assert states(prompt) == {"Low": (3000, False), "High": (3000, True)}
    assert prompt.manifest.dropped == ("Low",)
    assert prompt.manifest.total == 3000
    assert "## Low" not in prompt.text


def test_both_sections_are_kept_when_they_fit_to_the_last_token():
    prompt = built([("One", text(2400), 10), ("Two", text(2400), 90)])
    assert prompt.manifest.total == prompt.manifest.cap == 4800
    assert prompt.manifest.dropped == ()
    assert prompt.manifest.over_budget
    assert not built([("One", text(3000), 50)]).manifest.over_budget


def test_one_token_over_the_cap_does_not_fit():
    assert built([("One", text(2400), 90), ("Two", text(2401), 10)]).manifest.dropped == ("Two",)


def test_a_large_system_prompt_leaves_no_room_for_the_context():
    builder = PromptBuilder().add("System", text(4700), priority=100, required=True)
    prompt = builder.add("Project Context", text(200), priority=80).build()
    assert states(prompt) == {"System": (4700, True), "Project Context": (200, False)}


def test_important_sections_are_taken_first_and_stand_where_they_were_added():
    prompt = built([("C", "third", 10), ("A", "first", 90), ("B", "second", 50)])
    assert prompt.text == "## C\n\nthird\n\n## A\n\nfirst\n\n## B\n\nsecond"


def test_of_equally_important_sections_the_first_is_taken():
    prompt = built([("One", text(3000), 50), ("Two", text(3000), 50)])
    assert prompt.manifest.dropped == ("Two",)


def test_a_section_that_does_not_fit_makes_room_for_a_smaller_one_behind_it():
    prompt = built([("A", text(4000), 90), ("B", text(1000), 50), ("C", text(700), 10)])
    assert prompt.manifest.dropped == ("B",)
    assert prompt.manifest.total == 4700


def test_a_huge_context_is_dropped_whole_and_is_in_the_manifest():
    builder = PromptBuilder().add("System", "Be terse.", priority=100, required=True)
    prompt = builder.add("Project Context", "y" * 50_000, priority=80).build()
    assert states(prompt)["Project Context"] == (14_286, False)
    assert "y" not in prompt.text.removeprefix("## System")


def test_a_huge_context_is_cut_where_that_is_allowed_and_says_so():
    builder = PromptBuilder(cut=True).add("System", "Be terse.", priority=100, required=True)
    prompt = builder.add("Project Context", "z" * 50_000, priority=80).build()
    system, context = prompt.manifest.sections
    assert (context.included, context.cut, system.cut) == (True, True, False)
    assert 4790 <= prompt.manifest.total <= 4800
    kept = prompt.text.count("z")
    assert prompt.text.endswith(f"\n[{50_000 - kept} more characters are left out]")


def test_a_rest_of_no_use_is_not_filled_with_the_beginning_of_a_section():
    prompt = built([("A", text(4760), 90), ("B", text(1000), 50)], cut=True)
    assert prompt.manifest.dropped == ("B",)


@pytest.mark.parametrize("cut", [False, True])
def test_a_required_section_that_does_not_fit_is_an_error_with_the_sizes(cut):
    builder = PromptBuilder(cut=cut).add("System", text(5000), priority=100, required=True)
    builder.add("Project", "a shop")
    with pytest.raises(PromptTooLargeError, match="'System' must be in the prompt") as caught:
        builder.build()
    assert caught.value.manifest.dropped == ("System",)
    assert "System     5000  dropped" in caught.value.seen
    assert "cap=9800" in caught.value.hint


def test_a_blank_section_is_left_out_and_is_not_called_dropped():
    prompt = built([("A", "text", 50), ("B", " \n", 50)])
    assert prompt.text == "## A\n\ntext"
    assert states(prompt)["B"] == (0, False)
    assert prompt.manifest.dropped == ()
    assert "empty" in prompt.manifest.format()


def test_no_section_gives_an_empty_prompt():
    assert PromptBuilder().build().text == ""


@pytest.mark.parametrize("label", ["", " ", "two\nlines"])
def test_a_label_that_is_no_heading_is_refused(label):
    with pytest.raises(SettingError, match="label of one line"):
        PromptBuilder().add(label, "text")


def test_two_sections_of_one_label_and_a_budget_of_nothing_are_refused():
    with pytest.raises(SettingError, match="two sections"):
        PromptBuilder().add("A", "x").add("A", "y")
    for options in ({"cap": 0}, {"budget": 0}):
        with pytest.raises(SettingError, match="at least one token"):
            PromptBuilder(**options)


@given(SECTIONS, st.integers(1, 900), st.booleans())
def test_whatever_the_sections_are_the_cap_holds_and_the_manifest_is_true(sections, cap, cut):
    named = [(f"S{place}", text(tokens), priority) for place, (tokens, priority) in enumerate(sections)]
    prompt = built(named, cap=cap, cut=cut)
    manifest = prompt.manifest
    assert manifest.total <= cap
    assert manifest.total == sum(size.tokens for size in manifest.sections if size.included)
    assert [size.label for size in manifest.sections] == [label for label, _, _ in named]
    headings = [line for line in prompt.text.splitlines() if line.startswith("## ")]
    assert headings == [f"## {size.label}" for size in manifest.sections if size.included]
    if not cut:
        room = cap - manifest.total
        assert all(size.tokens > room for size in manifest.sections if size.label in manifest.dropped)


@given(SECTIONS, st.integers(1, 900))
def test_nothing_more_important_is_dropped_for_the_sake_of_something_less_important(sections, cap):
    named = [(f"S{place}", text(tokens), priority) for place, (tokens, priority) in enumerate(sections)]
    everything = {label: (content, priority) for label, content, priority in named}
    dropped = built(named, cap=cap).manifest.dropped
    for label in dropped:
        content, priority = everything[label]
        rivals = [part for part in named if part[2] > priority]
        rivals += [
            part
            for part in named
            if part[2] == priority and named.index(part) < [n for n, _, _ in named].index(label)
        ]
        taken = built(rivals, cap=cap).manifest.total if rivals else 0
        assert taken + estimate_tokens(content) > cap
