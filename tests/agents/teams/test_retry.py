"""Asking again: what is worth it, how often, after how long."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents.teams import Backoff, RetryingModel
from soundstage.clock import VirtualClock, run
from soundstage.errors import ConnectionCut, ProviderError
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, ScriptedModel, complete

REQUEST = ModelRequest(model="m", messages=(user("hello"),))


def asked(script, **options):
    """The answer, or the error, the seconds that it took, and the number of rules left."""
    clock = VirtualClock()
    scripted = ScriptedModel(script)
    model = RetryingModel(scripted, **options)

    async def main():
        try:
            return (await complete(model, REQUEST)).text
        except Exception as error:
            return error

    return run(main(), clock=clock), clock.now(), len(scripted.unused())


def failing(*faults):
    script = Script()
    for fault in faults:
        script.queue(fault)
    script.on(user="hello").reply("hi")
    return script


BUSY = {"error": {"status": 529}}
CUT = {"text": "half an answer", "fault": {"type": "cut", "after": 1}}


def test_a_model_that_is_busy_is_asked_again_after_1_2_and_4_seconds():
    answer, seconds, _ = asked(failing(BUSY, CUT, BUSY), backoff=Backoff(jitter=0))
    assert (answer, seconds) == ("hi", 7.0)


def test_after_three_retries_the_error_comes_out():
    error, seconds, unused = asked(failing(BUSY, BUSY, BUSY, BUSY), backoff=Backoff(jitter=0))
    assert isinstance(error, ProviderError)
    assert (seconds, unused) == (7.0, 1)


def test_a_broken_reply_leaves_nothing_behind():
    answer, _, _ = asked(failing(CUT))
    assert answer == "hi"
    error, _, _ = asked(failing(CUT, CUT), backoff=Backoff(retries=1))
    assert isinstance(error, ConnectionCut)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_will_not_pass_comes_out_at_once(status):
    error, seconds, _ = asked(failing({"error": {"status": status}}))
    assert (error.status, seconds) == (status, 0.0)


def test_the_jitter_repeats_with_the_seed():
    times = [asked(failing(BUSY, BUSY), seed=seed)[1] for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]
    chance = random.Random(1)
    expected = Backoff().wait(1, chance.random()) + Backoff().wait(2, chance.random())
    assert times[0] == pytest.approx(expected)


@given(st.integers(1, 2000), st.floats(0, 1))
def test_a_wait_is_within_a_tenth_of_its_plain_length_and_never_over_a_minute(retry, chance):
    plain = min(2.0 ** (retry - 1), 60.0) if retry < 100 else 60.0
    assert 0.9 * plain <= Backoff().wait(retry, chance) <= min(1.1 * plain, 60.0)
