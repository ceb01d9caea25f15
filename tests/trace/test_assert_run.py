"""Assertions on words, requests, and what must not happen."""

from __future__ import annotations

import inspect

import pytest

import soundstage.trace as api
from soundstage.errors import ExpectationError, MatchError, ScriptError
from soundstage.journal import DaemonChanged, EgressTried, MessageSent, Noted
from soundstage.trace import (
    assert_model_requests,
    assert_no_egress,
    assert_no_failures,
    assert_text,
    build_trace,
    check_no_egress,
    check_no_failures,
    check_text,
)


@pytest.mark.parametrize(
    ("condition", "agent"),
    [
        ("that is all", None),
        ("login is ready", None),
        ("plaintext", "executor"),
        ("/PLAIN/i", "tester"),
        ({"not": "I read first"}, None),
        (lambda text: text.endswith("all"), None),
    ],
)
def test_the_last_words_of_a_run_or_a_message_match(routed, condition, agent):
    assert_text(routed, condition, agent)


@pytest.mark.parametrize(
    ("condition", "agent"),
    [
        ("I read first", None),
        ("add a login", None),
        ("login is ready", "executor"),
        ({"not": "plaintext"}, None),
    ],
)
def test_earlier_words_and_words_of_others_do_not(routed, condition, agent):
    with pytest.raises(ExpectationError):
        assert_text(routed, condition, agent=agent)


def test_a_failure_shows_the_nearest_line_and_where_it_was_said(routed):
    with pytest.raises(ExpectationError) as caught:
        assert_text(routed, "your logins are ready")
    message = str(caught.value)
    assert message.startswith("somebody did not say 'your logins are ready'")
    assert "the nearest line: 'Your login is ready'" in message
    assert "> << console: 'Your login is ready'" in message


def test_a_negation_shows_the_text_that_has_it(routed):
    finding = check_text(routed, {"not": "plaintext"})
    assert finding.message == "somebody said it: not 'plaintext': the text contains 'plaintext'"
    assert "passwords are stored" in finding.seen


def test_silence_matches_nothing_not_even_a_negation(traced):
    async def body(scene):
        scene.script.on(agent="clerk").reply(text="")
        await scene.ask("clerk")

    finding = check_text(traced(body), {"not": "plaintext"}, agent="clerk")
    assert (finding.passed, finding.message) == (False, "'clerk' said nothing at all")


def test_a_message_has_its_sender_for_an_agent(tape):
    tape.add(MessageSent(text="from a", sender="a"))
    trace = build_trace(tape.records)
    assert_text(trace, "from a")
    with pytest.raises(ScriptError, match="no agent 'b'"):
        assert_text(trace, "from a", agent="b")


@pytest.mark.parametrize("condition", ["", [], {"any": []}, lambda text: text.nothing])
def test_a_condition_that_means_nothing_is_an_error(routed, condition):
    with pytest.raises(MatchError):
        check_text(routed, condition)


def test_model_requests_are_counted_without_side_requests(traced):
    async def body(scene):
        for _ in range(2):
            await scene.ask("clerk")
        await scene.ask("clerk", purpose="title")

    trace = traced(body)
    assert_model_requests(trace, 2)
    with pytest.raises(ExpectationError) as caught:
        assert_model_requests(trace, 1)
    assert str(caught.value).startswith("2 model requests, expected 1\n  expected: 1 model request\n")
    assert "2: 2 by clerk; and 1 side requests" in str(caught.value)
    assert f"@{trace.main_steps[1].position} " in str(caught.value)


def test_no_requests_can_be_expected_of_a_run_but_not_of_nothing(tape):
    tape.add(Noted(text="x"))
    assert_model_requests(build_trace(tape.records), 0)
    with pytest.raises(ScriptError, match="the trace is empty"):
        assert_model_requests(build_trace([]), 0)
    with pytest.raises(ScriptError, match="whole numbers"):
        assert_model_requests(build_trace(tape.records), -1)


def test_attempts_to_reach_the_network_are_listed(tape, routed):
    assert_no_egress(routed)
    for number in range(12):
        tape.add(EgressTried(host=f"h{number}.example", port=443, method="CONNECT"))
    trace = build_trace(tape.records)
    with pytest.raises(
        ExpectationError, match=r"^12 attempts to reach(.|\n)*@1 CONNECT h0.example:443"
    ) as caught:
        assert_no_egress(trace)
    assert "... and 2 more" in str(caught.value)


def test_failures_are_listed(tape, routed):
    assert_no_failures(routed)
    tape.add(DaemonChanged(daemon="app", status="running", error="ValueError: x"))
    with pytest.raises(ExpectationError, match=r"^1 failure, the first: app: ValueError: x(.|\n)*@1 daemon"):
        assert_no_failures(build_trace(tape.records))


@pytest.mark.parametrize("check", [check_no_egress, check_no_failures])
def test_nothing_happened_in_an_empty_trace_is_an_error(check):
    with pytest.raises(ScriptError, match="the trace is empty"):
        check(build_trace([]))


CHECKS = sorted(name for name in api.__all__ if name.startswith("check_"))


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_has_an_assertion_with_the_same_arguments(name):
    check, assertion = getattr(api, name), getattr(api, name.replace("check_", "assert_"))
    assert list(inspect.signature(check).parameters) == list(inspect.signature(assertion).parameters)
    assert assertion.__name__ == name.replace("check_", "assert_")
    assert assertion.__doc__.startswith("Assert")


def test_an_expectation_that_fails_is_an_assertion_for_test_runners(routed):
    with pytest.raises(AssertionError, match=r"print\(trace.format\(\)\) shows the whole trace"):
        assert_model_requests(routed, 99)


def test_the_last_line_is_shown_where_no_line_is_nearest(tape):
    for text in ("first\nsecond", "third\n\n"):
        tape.add(MessageSent(text=text))
    finding = check_text(build_trace(tape.records), "/nowhere/")
    assert finding.seen == "the nearest line: 'third'"
    assert finding.at == 2
