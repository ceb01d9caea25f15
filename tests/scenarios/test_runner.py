"""Recordings of the library through the runner, the result and the store, each with what was recorded of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.journal import Journal, MessageSent, RunAborted
from soundstage.runs import AgentRunner, Retry, RunAbortedError, RunStore
from soundstage.scenarios import load_recording
from soundstage.scenarios._result import figures_of
from soundstage.scenarios.testing import RecordedSession
from support.stores import QuickDisk

LIBRARY = Path(__file__).parents[2] / "examples" / "scenarios"
STATUS = {
    "simple-file-edit": "complete",
    "multi-file-refactor": "complete",
    "cost-budget-enforced": "partial",
    "hook-failure-recovery": "partial",
    "session-timeout": "partial",
}


def played(recording, **options):
    """Run the recording on virtual time."""

    async def body():
        journal = Journal(clock=clock)
        runner = AgentRunner(RecordedSession(recording, journal), journal=journal, **options)
        return await runner.run(recording.json("input")["prompt"])

    clock = VirtualClock()
    return run(body(), clock=clock)


@pytest.mark.parametrize("name", STATUS)
def test_a_recorded_run_comes_to_its_figures_through_runner_and_store(tmp_path, name):
    told = []

    async def watcher(watched):
        told.append(watched.event)

    recording = load_recording(LIBRARY, name)
    store = RunStore(tmp_path / "store", disk=QuickDisk())
    result = played(recording, store=store, watchers=[watcher], on_abort="return")
    kept = store.open(result.id).result()
    assert figures_of(recording, result) == recording.json("assertions")
    assert figures_of(recording, kept) == recording.json("assertions")
    assert (result.status, kept.status) == (STATUS[name], STATUS[name]), result.reasons
    assert told == [record.event for record in result.timeline][: len(told)]
    assert (RunAborted in map(type, told)) is bool(result.abort)
    assert MessageSent in map(type, told)
    store.close()


@pytest.mark.parametrize(
    ("name", "reason"), [("cost-budget-enforced", "budget"), ("session-timeout", "session-timeout")]
)
def test_a_limit_of_the_agent_itself_aborts_the_run_and_is_not_tried_again(name, reason):
    recording = load_recording(LIBRARY, name)
    with pytest.raises(RunAbortedError) as caught:
        played(recording, retry=Retry(attempts=3))
    assert (caught.value.reason, caught.value.partial_result.abort) == (reason, reason)
    assert figures_of(recording, caught.value.partial_result) == recording.json("assertions")
