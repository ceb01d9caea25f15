"""An execution and all that it starts come to an end together, however it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from soundstage.errors import EnvironmentProblem
from soundstage.journal import Journal, ProcessStarted
from soundstage.lifecycle import Execution, _execution

ENVIRONMENT = {"PATH": os.environ["PATH"]}
APART = "env -i setsid sh -c 'echo $$ > apart; echo > ready; exec sleep 600' >&- 2>&- &"


def shell(folder, line, **options):
    return Execution(("/bin/sh", "-c", line), cwd=folder, environment=ENVIRONMENT, **options)


def test_it_has_an_input_an_output_and_an_exit_code(tmp_path):
    done = shell(tmp_path, "cat; echo err >&2; exit 3", stdin=b"in\n").run(60)
    assert done == (3, "in\n", "err\n", False)
    assert shell(tmp_path, "echo out; echo err >&2", together=True).run(60).stdout == "out\nerr\n"


def test_what_is_stopped_from_another_thread_ends_with_all_that_it_started(tmp_path, exists):
    os.mkfifo(tmp_path / "ready")
    execution = shell(tmp_path, f"trap '' TERM; sleep 600 & echo $! > near; {APART} wait")
    ended = []
    thread = threading.Thread(target=lambda: ended.append(execution.run(600)))
    thread.start()
    (tmp_path / "ready").read_text()  # both have been started
    execution.stop()
    thread.join(30)
    assert ended[0].code == -signal.SIGKILL
    assert not ended[0].expired
    assert not any(exists(int((tmp_path / name).read_text())) for name in ("near", "apart"))


def test_what_is_left_in_the_background_ends_with_it_without_its_group_and_variables_too(tmp_path, exists):
    os.mkfifo(tmp_path / "ready")
    done = shell(tmp_path, f"sleep 600 & echo $! > near; {APART} cat ready").run(60)
    assert done.code == 0
    assert not any(exists(int((tmp_path / name).read_text())) for name in ("near", "apart"))


def test_what_turns_into_another_program_all_the_time_ends_with_it(tmp_path, exists):
    (tmp_path / "again").write_text("#!/bin/sh\nexec ./again\n")
    (tmp_path / "again").chmod(0o755)
    done = shell(tmp_path, "setsid ./again >&- 2>&- & echo $!").run(60)
    assert not exists(int(done.stdout))


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """A pipe; the time of an execution is up when something is written to it."""
    os.mkfifo(tmp_path / "ready")

    def limit(_within):
        limit, loop = asyncio.timeout(None), asyncio.get_running_loop()

        def expire():
            (tmp_path / "ready").read_text()
            loop.call_soon_threadsafe(limit.reschedule, 0)

        threading.Thread(target=expire).start()
        return limit

    monkeypatch.setattr(_execution, "time_limit", limit)


@pytest.mark.usefixtures("ready")
def test_one_whose_time_is_up_is_killed_and_what_it_printed_is_kept(tmp_path):
    done = shell(tmp_path, "trap '' TERM; echo first; echo > ready; exec sleep 600").run(60)
    assert done == (-signal.SIGKILL, "first\n", "", True)


@pytest.mark.usefixtures("ready")
def test_one_whose_time_is_up_may_tidy_up_if_it_has_a_grace(tmp_path):
    wait = "sleep 600 & echo first; echo > ready; wait"
    execution = shell(tmp_path, f"trap 'echo tidy; exit 4' TERM; {wait}", grace=60)
    assert execution.run(60) == (4, "first\ntidy\n", "", True)


def test_one_that_is_cancelled_is_killed_and_its_exit_goes_into_the_journal(tmp_path, exists):
    os.mkfifo(tmp_path / "ready")
    journal = Journal()

    async def main():
        execution = shell(tmp_path, "echo $$ > ready; exec sleep 600", journal=journal, source="sleeper")
        task = asyncio.ensure_future(execution.finish(600))
        pid = int(await asyncio.to_thread((tmp_path / "ready").read_text))
        await journal.wait_for(ProcessStarted, within=60)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        return pid

    assert not exists(asyncio.run(main()))
    kinds = [(type(record.event).__name__, record.source) for record in journal.read()]
    assert kinds == [("ProcessStarted", "sleeper"), ("ProcessExited", "sleeper")]


def test_one_that_is_stopped_before_it_runs_does_not_run(tmp_path):
    execution = shell(tmp_path, "echo > ran")
    execution.stop()
    assert execution.run(60).code == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_of_a_flood_the_beginning_and_the_end_are_kept(tmp_path):
    done = shell(tmp_path, "echo begin; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo end").run(60)
    assert done.stdout.startswith("begin\nxxx")
    assert done.stdout.endswith("xxx\nend\n")
    assert "bytes dropped" in done.stdout
    assert len(done.stdout) < 2_300_000


def test_a_program_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(EnvironmentProblem, match="no-such-program cannot be run"):
        Execution(("no-such-program",), cwd=tmp_path, environment=ENVIRONMENT).run(5)
