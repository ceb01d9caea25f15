"""The numbers at the head of a section."""

from __future__ import annotations

import pytest

from soundstage.journal import EgressTried, ModelRequested, ModelResponded, Record, RunStarted
from soundstage.messages import ModelRequest, ModelResponse, Usage, user
from soundstage.report import Section
from soundstage.report._figures import duration_text, figures_of, summarise
from soundstage.trace import build_trace


def values(records):
    return {figure.key: (figure.value, figure.note) for figure in figures_of(build_trace(records))}


def record(event, position, cause=None):
    return Record(position=position, time=0.0, run="r", source="s", cause=cause, event=event)


def test_the_figures_count_what_happened(team):
    found = values(team)
    usage = build_trace(team).usage
    assert found["requests"] == ("9", "1 on the side")
    assert found["tools"] == ("3", "1 error")
    assert found["tokens-in"] == (str(usage.input_tokens), "")
    assert found["tokens-out"] == (str(usage.output_tokens), "")
    assert found["cost"] == (f"${build_trace(team).cost().usd:.4f}", "1 reply without token counts")
    assert found["failures"] == ("2", "2 model")
    assert found["hosts"] == ("1 tried", "telemetry.example.com:443")


def test_a_cost_that_nobody_can_say_keeps_its_reason(failing):
    assert values(failing)["cost"] == ("unknown", "no price for 'house-model'")


def test_a_run_that_left_alone_the_outside_says_so(failing):
    assert values(failing)["hosts"] == ("none", "no attempt to reach one")


def test_a_host_that_was_tried_again_is_listed_once():
    tried = EgressTried(host="api.example.com", port=443)
    assert values([record(tried, 1), record(tried, 2)])["hosts"] == ("1 tried", "api.example.com:443")


def test_tokens_from_a_cache_count_as_tokens_in():
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=1000, cache_write_tokens=200)
    found = values(
        [
            record(ModelRequested(request=ModelRequest(model="gpt-4o", messages=(user("x"),))), 1),
            record(ModelResponded(response=ModelResponse(usage=usage)), 2, cause=1),
        ]
    )
    assert found["tokens-in"] == ("1,210", "1,000 from a cache")


def test_the_outcome_is_the_sections_own_or_that_of_the_run(failing, team):
    assert summarise(Section("a", failing)).outcome == "failed"
    assert summarise(Section("a", failing)).reason == "the program ended with exit code 3"
    assert summarise(Section("a", team, outcome="odd")).outcome == "odd"
    assert summarise(Section("a", [])).outcome == ""


@pytest.mark.parametrize(
    ("wall", "shown"),
    [
        ("2026-01-01T00:00:00+00:00", "2026-01-01 00:00:00 UTC"),
        ("2026-01-01T02:30:00+02:00", "2026-01-01 00:30:00 UTC"),
        ("2026-01-01T00:00:00", "2026-01-01 00:00:00"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_the_date_is_shown_in_utc(wall, shown):
    assert summarise(Section("a", [record(RunStarted(wall=wall), 1)])).date == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0, "0 s"),
        (0.000_012, "12 µs"),
        (0.001_24, "1.2 ms"),
        (0.25, "250 ms"),
        (1.256, "1.26 s"),
        (59.5, "59.5 s"),
        (60.0, "1 m"),
        (125.4, "2 m 05 s"),
        (3600.0, "1 h"),
        (3725.0, "1 h 02 m"),
        (90_000.0, "25 h"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds, shown):
    assert duration_text(seconds) == shown
