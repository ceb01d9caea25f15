"""A run of an agent in process, on virtual time: attempts, limits, watchers, and what is left of it in each case."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run
from soundstage.errors import ConnectionCut, EgressRefused, ProviderError, ScriptError
from soundstage.journal import Journal, ModelFailed
from soundstage.runs import AgentRunner, AttemptFailed, Retry, RunAbortedError, RunOpened


async def echo(prompt, context):
    await asyncio.sleep(2)
    return prompt.upper()


def in_time(make):
    """Run what `make(journal)` returns on virtual time."""

    async def main():
        journal = Journal()
        return await make(journal), journal

    return run(main())


def test_a_run_returns_the_answer_of_the_target_and_is_a_view_of_its_part_of_the_journal():
    async def twice(journal):
        runner = AgentRunner(echo, journal=journal)
        return [await runner.run("one"), await runner.run("two")]

    (one, two), journal = in_time(twice)
    assert (one.output, one.status, two.output, two.status) == ("ONE", "complete", "TWO", "complete")
    assert one.id != two.id
    assert (*one.timeline, *two.timeline) == tuple(journal.read())
    assert [opened.run for opened in journal.events(RunOpened)] == [one.id, two.id]


def test_errors_that_may_pass_are_tried_again_after_waits_that_double():
    begun = []

    async def flaky(prompt, context):
        begun.append(context.clock.now())
        if context.attempt < 3:
            raise ProviderError("busy", status=529)
        return f"attempt {context.attempt}"

    result, journal = in_time(lambda journal: AgentRunner(flaky, journal=journal).run("go"))
    assert (result.output, result.status) == ("attempt 3", "complete")
    assert begun == [0, 1, 3]
    assert [(failed.attempt, failed.wait) for failed in journal.events(AttemptFailed)] == [(1, 1), (2, 2)]
    assert [warning for warning in result.warnings if "529" in warning] == list(result.warnings[:2])


def test_the_last_error_of_a_target_that_goes_on_failing_is_raised_with_the_result():
    async def broken(prompt, context):
        raise ProviderError(f"busy {context.attempt}", status=503)

    with pytest.raises(ProviderError, match="busy 2") as caught:
        in_time(lambda journal: AgentRunner(broken, journal=journal, retry=Retry(attempts=2)).run("go"))
    assert caught.value.partial_result.status == "failed"


class Failure:
    """A turn that failed, in the words of the agent."""

    text, is_error = "API Error: overloaded", True


def test_a_turn_that_the_target_reports_as_failed_is_a_failed_run_with_its_words_and_no_error():
    async def fails(prompt, context):
        return Failure

    result, journal = in_time(lambda journal: AgentRunner(fails, journal=journal).run("go"))
    assert (result.status, result.output) == ("failed", "API Error: overloaded")
    assert result.reasons == ("API Error: overloaded",)
    assert journal.events(AttemptFailed) == []


@pytest.mark.parametrize(("status", "attempts"), [(529, 3), (400, 1)])
def test_a_failed_turn_is_tried_again_if_the_model_had_failed_for_a_moment(status, attempts):
    begun = []

    async def fails(prompt, context):
        begun.append(context.attempt)
        failed = ModelFailed(reason="error", message="no", status=status)
        context.journal.append(failed, source="model")
        return Failure

    result, _ = in_time(lambda journal: AgentRunner(fails, journal=journal).run("go"))
    assert len(begun) == attempts
    assert (result.status, result.output) == ("failed", "API Error: overloaded")


def test_a_run_that_takes_too_long_is_aborted_with_what_there_is():
    async def slow(prompt, context):
        await asyncio.sleep(1000)

    with pytest.raises(RunAbortedError) as caught:
        in_time(lambda journal: AgentRunner(slow, journal=journal).run("go", timeout=5))
    partial = caught.value.partial_result
    assert (caught.value.reason, partial.abort, partial.status) == ("timeout", "timeout", "partial")
    assert partial.duration == 5


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ProviderError("busy", status=429), True),
        (ProviderError("wrong", status=400), False),
        (ConnectionCut("the answer broke off"), True),
        (ConnectionResetError(), True),
        (EgressRefused("example.org", 443), False),
        (ZeroDivisionError(), False),
        (ScriptError("no rule"), False),
    ],
    ids=lambda value: str(value) if isinstance(value, bool) else type(value).__name__,
)
def test_what_may_pass_is_tried_again_and_nothing_else_is(error, again):
    begun = []

    async def fails(prompt, context):
        begun.append(context.attempt)
        raise error

    with pytest.raises(type(error)):
        in_time(lambda journal: AgentRunner(fails, journal=journal).run("go"))
    assert len(begun) == (3 if again else 1)
