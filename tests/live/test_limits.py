"""Limits of a provider: rates on virtual time, what a busy answer asks for, and who is let in when."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from soundstage.clock import VirtualClock
from soundstage.clock import run as run_on
from soundstage.errors import EnvironmentProblem, ProviderError, WrongValueError
from soundstage.journal import Journal
from soundstage.live import LimitedModel, ModelThrottled, ProviderGate, ProviderLimits
from soundstage.live._limits import wait_of
from soundstage.messages import FinishChunk, ModelRequest, TextChunk, Usage, user
from soundstage.models import complete

REQUEST = ModelRequest(model="m", messages=(user("x" * 40),))  # ten tokens, as they are guessed


class Provider:
    """Notes when it is asked; answers after a while, or turns away."""

    def __init__(self, clock, *, errors=(), seconds=0.0, tokens=10):
        self.clock, self.errors = clock, iter(errors)
        self.seconds, self.tokens = seconds, tokens
        self.asked, self.at_once, self.most = [], 0, 0

    async def stream(self, request):
        self.asked.append(round(self.clock.now(), 6))
        error = next(self.errors, None)
        if error is not None:
            raise error
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.clock.sleep(self.seconds)
        finally:
            self.at_once -= 1
        yield TextChunk(index=0, text="yes")
        yield FinishChunk(finish="stop", usage=Usage(input_tokens=self.tokens))


def asked(count, limits, journal=None, **provider):
    """A provider after so many requests at once, and what became of each."""
    clock = VirtualClock()
    made = Provider(clock, **provider)

    async def main():
        gate = ProviderGate(limits)
        written = journal if journal is not None else Journal(clock=clock)
        model = LimitedModel(made, gate, written)
        calls = (complete(model, REQUEST) for _ in range(count))
        return await asyncio.gather(*calls, return_exceptions=True)

    made.answers = run_on(main(), clock=clock)
    return made


def busy(status=429, code="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ProviderError("too many", status=status, headers=named, code=code)


def test_requests_begin_evenly_so_that_no_minute_has_more():
    found = asked(7, ProviderLimits(requests_per_minute=3))
    assert found.asked == [0, 20, 40, 60, 80, 100, 120]


def test_idle_time_is_not_saved_up_for_a_burst():
    clock = VirtualClock()
    made = Provider(clock)

    async def main():
        model = LimitedModel(made, ProviderGate(ProviderLimits(requests_per_minute=60)), Journal(clock=clock))
        await complete(model, REQUEST)
        await clock.sleep(600)
        await asyncio.gather(*(complete(model, REQUEST) for _ in range(3)))

    run_on(main(), clock=clock)
    assert made.asked == [0, 600, 601, 602]


def test_tokens_are_counted_as_the_answers_tell_and_not_as_they_were_guessed():
    """Each was guessed at 10 tokens and took 60: at 120 a minute that is half a minute each, and not five seconds."""
    found = asked(4, ProviderLimits(tokens_per_minute=120), tokens=60)
    assert found.asked == [0, 30, 60, 90]


def test_so_many_requests_at_a_time_and_no_more():
    found = asked(6, ProviderLimits(concurrency=2), seconds=10)
    assert (found.most, found.asked) == (2, [0, 0, 10, 10, 20, 20])


def test_without_limits_nobody_waits():
    assert asked(5, None, seconds=1).asked == [0] * 5


def test_a_busy_provider_is_asked_again_when_it_says_so_and_nobody_meanwhile():
    journal = Journal()
    found = asked(3, ProviderLimits(), journal, errors=[busy(retry_after="30")])
    assert found.asked == [0, 30, 30, 30]
    assert [answer.text for answer in found.answers] == ["yes"] * 3
    (event,) = journal.events(ModelThrottled)
    assert (event.status, event.wait, event.attempt) == (429, 30, 1)


def test_who_comes_while_the_gate_is_shut_waits_too():
    """One is turned away while another one is answered; the third comes then."""
    errors = [None, busy(529, retry_after="7.5")]
    found = asked(3, ProviderLimits(concurrency=2), errors=errors, seconds=3)
    assert found.asked == [0, 0, 7.5, 7.5]


def test_without_a_word_of_the_provider_the_wait_doubles():
    found = asked(1, None, errors=[busy() for _ in range(3)])
    assert found.asked == [0, 1, 3, 7]


def test_a_provider_that_stays_busy_is_the_environments_problem_and_no_failure_of_the_agent():
    found = asked(1, ProviderLimits(attempts=3), errors=itertools.repeat(busy(retry_after="1")))
    (problem,) = found.answers
    assert isinstance(problem, EnvironmentProblem)
    assert "turned away a request 3 times" in str(problem)
    assert found.asked == [0, 1, 2]


def test_a_quota_that_is_spent_is_told_at_once():
    found = asked(1, None, errors=[busy(code="insufficient_quota")])
    assert isinstance(found.answers[0], EnvironmentProblem)
    assert found.asked == [0]


@pytest.mark.parametrize("status", [400, 401, 500, 503])
def test_other_errors_reach_who_asks_as_they_are(status):
    found = asked(1, None, errors=[busy(status)])
    assert isinstance(found.answers[0], ProviderError)
    assert found.asked == [0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2),
        ({"Retry-After": "0"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:42 GMT"}, 42),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, 4),
        ({"retry-after": "nan"}, 4),
        ({"retry-after": "-1"}, 4),
        ({}, 4),
    ],
)
def test_the_wait_is_read_in_each_form(headers, seconds):
    assert wait_of(ProviderError("busy", status=429, headers=headers), 3, VirtualClock()) == seconds


def test_the_longest_wait_of_our_own_is_a_minute():
    assert wait_of(busy(), 40, VirtualClock()) == 60


@pytest.mark.parametrize("name", ["requests_per_minute", "tokens_per_minute", "concurrency", "attempts"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_above_zero(name, value):
    with pytest.raises(WrongValueError, match=name):
        ProviderLimits(**{name: value})
