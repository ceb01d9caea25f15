"""Live models of evals, over the wire, from a provider on loopback that is too busy now and then."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from soundstage.evals import Case, ModelAgent, evaluator_of, load_suite, run_suite
from soundstage.evals._chosen import chosen_suite
from soundstage.evals._report_text import as_text
from soundstage.journal import Journal
from soundstage.live import LiveModel, ModelThrottled, ProviderLimits
from soundstage.models import Script, ScriptedModel
from soundstage.wire import ModelServer

from .conftest import suite_of

URLS = {
    "openai": "openai_url",
    "openai-responses": "openai_url",
    "anthropic": "anthropic_url",
    "gemini": "gemini_url",
}


@contextlib.asynccontextmanager
async def provider(*busy, then="It is sunny."):
    """A server that turns away so many requests, each as it says, and answers then."""
    script = Script()
    for fields in busy:
        script.on(user="weather", times=1).error(**fields)
    if then:
        script.on(user="weather").reply(then)
    server = ModelServer(ScriptedModel(script, shared=True), Journal())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def live_suite(server, name="openai", **fields):
    url = getattr(server, URLS[name])
    usual = {
        "agent": ModelAgent("gpt-4.1"),
        "model": lambda: LiveModel(name, api_key="not-a-real-key", base_url=url, allow=True),
        "cases": [Case(name="a", input="weather?", expect=(evaluator_of("contains", "sunny"),))],
    }
    return suite_of(**{**usual, **fields})


def evaluated(store, *busy, then="It is sunny.", **fields):
    async def main():
        async with provider(*busy, then=then) as server:
            return await run_suite(live_suite(server, **fields), store=store)

    return asyncio.run(main())


def throttled(store, report):
    (one,) = report.cases[0].runs
    journal = store.open(one.run).journal()
    return [event.event for event in journal if isinstance(event.event, ModelThrottled)]


BUSY = {"status": 429, "message": "slow down", "retry_after": 0.02}


@pytest.mark.parametrize("name", URLS)
def test_a_provider_that_is_too_busy_is_asked_again_and_the_run_has_not_failed(store, name):
    report = evaluated(store, BUSY, BUSY, name=name)
    assert report.passed, report.cases[0].runs[0].reason
    assert [(event.status, event.wait) for event in throttled(store, report)] == [(429, 0.02)] * 2
    assert report.throttled == report.as_json()["total"]["throttled"] == 2
    assert "2 requests were turned away for a while" in as_text(report)


def test_a_provider_that_stays_too_busy_makes_an_error_and_no_failure(store):
    report = evaluated(store, *[BUSY] * 3, limits=ProviderLimits(attempts=3))
    (one,) = report.cases[0].runs
    assert one.outcome == "error"
    assert "turned away a request 3 times" in one.reason
    assert store.list(driver="eval") == []


def test_an_answer_of_a_provider_that_is_a_failure_is_one(store):
    report = evaluated(store, {"status": 400, "message": "no such model"})
    assert report.cases[0].runs[0].outcome == "failed"
    assert report.throttled == 0


def test_limits_of_a_provider_are_kept_over_the_wire(store):
    """Two requests at a time, of four runs at a time; limits of another provider do not count."""
    running = most = 0

    class Counting(LiveModel):
        async def stream(self, request):
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                async for chunk in super().stream(request):
                    yield chunk
            finally:
                running -= 1

    def at_most(limits):
        nonlocal most
        most = 0

        async def main():
            async with provider() as server:
                model = lambda: Counting("openai", api_key="k", base_url=server.openai_url, allow=True)  # noqa: E731
                suite = live_suite(server, model=model, repeat=8, limits=limits)
                return await run_suite(suite, store=store, concurrency=4)

        assert asyncio.run(main()).passed
        return most

    assert at_most({"openai": ProviderLimits(concurrency=1)}) == 1
    assert at_most({"gemini": ProviderLimits(concurrency=1)}) > 1


def test_a_run_that_only_waited_for_limits_is_an_error_and_no_failure(store):
    """One request a minute, and runs of a tenth of a second: the second run has no time left."""
    limits = ProviderLimits(requests_per_minute=1)
    report = evaluated(store, limits=limits, timeout=0.5, repeat=2)
    outcomes = sorted(one.outcome for one in report.cases[0].runs)
    assert outcomes == ["error", "passed"], [one.reason for one in report.cases[0].runs]
    assert "waited 0." in report.errors[0].reason


SUITE = (
    "agent: {model: m}\nscript: rules.yaml\ncases: [{name: a, input: weather, expect: [{contains: sunny}]}]\n"
)


def test_the_model_of_a_suite_is_replaced_by_that_of_the_command(store, tmp_path, monkeypatch):
    monkeypatch.setenv("SOUNDSTAGE_ALLOW_LIVE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
    (tmp_path / "rules.yaml").write_text("rules: [{reply: {text: It rains.}}]\n")
    (tmp_path / "suite.yaml").write_text(SUITE)

    async def main():
        async with provider() as server:
            suite = chosen_suite(tmp_path / "suite.yaml", model="openai/gpt-4.1", base_url=server.openai_url)
            return suite, await run_suite(suite, store=store)

    suite, report = asyncio.run(main())
    assert report.passed, "the script says something else"
    (step,) = store.open(report.cases[0].runs[0].run).trace().steps
    assert (step.model, step.request.model) == ("gpt-4.1", "m")
    assert suite.fingerprint != load_suite(tmp_path / "suite.yaml").fingerprint, (
        "it cannot be resumed as the other"
    )
