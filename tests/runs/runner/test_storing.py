"""Runs into the store: once, under their id, whatever they came to; and a store that fails."""

from __future__ import annotations

import asyncio
import errno
from unittest.mock import ANY

import msgspec
import pytest

from soundstage.clock import run
from soundstage.errors import ProviderError
from soundstage.journal import Journal, MessageSent, Noted, ToolCalled, ToolReturned, file_changed
from soundstage.runs import AgentRunner, RunAbortedError, RunStore, StorageError
from support.stores import FailingDisk, QuickDisk


async def agent(prompt, context):
    context.journal.append(Noted(text="at work"), source="agent")
    if prompt == "hang":
        await asyncio.Event().wait()
    if prompt == "fail":
        raise ProviderError("no", status=400)
    return "done"


def told(store, prompt, **options):
    """Run the agent with a store. Returns the runner, and what was raised."""
    runner = AgentRunner(agent, journal=Journal(), store=store, test="test_x.py::test_a", **options)
    try:
        run(runner.run(prompt, timeout=5))
    except Exception as error:
        return runner, error
    return runner, None


@pytest.mark.parametrize(
    ("prompt", "status", "outcome"),
    [("go", "complete", "unknown"), ("hang", "partial", "aborted"), ("fail", "failed", "unknown")],
)
def test_a_run_is_kept_once_under_its_id_whatever_it_came_to(store, prompt, status, outcome):
    runner, error = told(store, prompt)
    assert (error is None) is (prompt == "go")
    (record,) = store.list(test="test_x.py::test_a")
    assert (record.id, record.status, record.outcome, record.driver) == (
        runner.last.id,
        status,
        outcome,
        "agent",
    )
    assert store.open(record.id).result() == msgspec.structs.replace(runner.last, timeline=ANY)
    kept = store.open(record.id).journal()
    assert [record.event for record in kept] == [record.event for record in runner.last.timeline]
    assert any(record.event == Noted(text="at work") for record in kept)


@pytest.mark.parametrize("prompt", ["go", "hang", "fail"])
@pytest.mark.parametrize("ignored", [False, True])
def test_a_full_disk_is_an_error_with_the_result_or_a_warning_of_it_and_never_hides_another_error(
    root, prompt, ignored
):
    full = FailingDisk(1, error=OSError(errno.ENOSPC, "No space left on device"))
    runner, error = told(RunStore(root, disk=full), prompt, ignore_storage_errors=ignored)
    expected = {"go": type(None) if ignored else StorageError, "hang": RunAbortedError, "fail": ProviderError}
    assert type(error) is expected[prompt]
    (warning,) = runner.last.warnings
    assert "cannot keep it" in warning
    assert "DiskFullError" in warning
    if error is not None:
        assert error.partial_result == runner.last
    if prompt == "go":
        assert runner.last.output == "done"
        assert ignored or (error.kind, error.store) == ("DiskFullError", str(root))


def test_what_a_run_said_is_kept_without_secrets(root):
    from soundstage.journal import Redactor

    redactor = Redactor(["open sesame"])

    async def leaks(prompt, context):
        context.journal.append(MessageSent(text="open sesame"), source="agent")

    store = RunStore(root, disk=QuickDisk())
    run(AgentRunner(leaks, journal=Journal(redactor=redactor), store=store).run("go"))
    assert not [path for path in root.rglob("*") if path.is_file() and b"open sesame" in path.read_bytes()]


async def test_a_kept_run_has_its_tool_calls_and_the_files_that_it_changed(root):
    async def edits(prompt, context):
        journal = context.journal
        called = journal.append(ToolCalled(call_id="t1", name="Edit"), source="agent")
        changed = file_changed(journal.contents, "shop.py", b"old\n", b"new\n")
        journal.append(changed, source="agent")
        journal.append(ToolReturned(call_id="t1", text="ok"), source="agent", cause=called)

    store = RunStore(root, disk=QuickDisk())
    journal = Journal()
    result = await AgentRunner(edits, journal=journal, store=store).run("go")
    kept = store.open(result.id)
    assert [use.name for use in kept.transcripts()] == ["Edit"]
    (entry,) = kept.result().files
    assert (entry.path, entry.before.text(), entry.after.text()) == ("shop.py", "old\n", "new\n")
    store.close()
