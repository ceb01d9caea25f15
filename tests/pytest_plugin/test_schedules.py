"""The mark `schedules`: it finds a bug that only some interleavings show, and its seed shows it again."""

from __future__ import annotations

import re

import pytest

pytest_plugins = ["pytester"]

# Two workers of a team share a list of tasks. Whether a task is free is asked before a wait, and noted after it.
COORDINATOR = """
import asyncio

import pytest

from soundstage.messages import ModelRequest, user
from soundstage.models import complete


class Coordinator:
    def __init__(self, model, tasks):
        self.model, self.free, self.done = model, list(tasks), []
        self.lock = asyncio.Lock()

    async def take(self):
        if not self.free:
            return None
        task = self.free[0]
        await self.note(f"taking {task}")
        if task in self.free:
            self.free.remove(task)
        return task

    async def note(self, what):
        {wait}

    async def work(self):
        while (task := await {take}) is not None:
            await complete(self.model, ModelRequest(model="m", messages=(user(task),)))
            self.done.append(task)

    async def safely(self):
        async with self.lock:
            return await self.take()


@pytest.mark.schedules({schedules})
async def test_every_task_is_done_once(model, script, journal):
    script.on(user="task").reply("done")
    team = Coordinator(model, ["task 1", "task 2", "task 3"])

    async def late(start):
        for _ in range(start):
            await asyncio.sleep(0)
        await team.work()

    await asyncio.gather(late(0), late(4))
    print("JOURNAL", [(type(record.event).__name__, record.time) for record in journal.read()])
    print("DONE", team.done)
    assert sorted(team.done) == ["task 1", "task 2", "task 3"]
"""


def team(pytester, *args, take="self.take()", schedules="50", wait="await asyncio.sleep(0)"):
    source = COORDINATOR.replace("{take}", take).replace("{wait}", wait).replace("{schedules}", schedules)
    pytester.makepyfile(test_team=source)
    return pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider", *args)


def seed_of(result):
    found = re.search(r"It failed under schedule (\d+)", result.stdout.str())
    assert found, result.stdout.str()
    return found[1]


def test_the_planted_race_is_found_within_50_schedules_and_not_by_asyncios_own_order(pytester):
    single = COORDINATOR.replace("@pytest.mark.schedules({schedules})\n", "")
    pytester.makepyfile(
        test_single=single.replace("{take}", "self.take()").replace("{wait}", "await asyncio.sleep(0)")
    )
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=1)
    outcome = team(pytester, "test_team.py").parseoutcomes()
    assert outcome["failed"] == 1, outcome
    assert outcome.get("passed", 0) + outcome.get("skipped", 0) == 49


def test_the_seed_of_a_failure_reproduces_it_exactly(pytester):
    seed = seed_of(team(pytester))
    runs = [team(pytester, f"test_team.py::test_every_task_is_done_once[schedule-{seed}]") for _ in range(2)]
    told = [[line for line in run.outlines if line.startswith(("JOURNAL", "DONE", "E  "))] for run in runs]
    assert told[0] == told[1]
    assert any(line.startswith("DONE") for line in told[0])
    alone = team(pytester, "--soundstage-schedule", seed)
    alone.assert_outcomes(failed=1)
    assert seed_of(alone) == seed


def test_the_mended_coordinator_passes_under_every_schedule(pytester):
    team(pytester, take="self.safely()").assert_outcomes(passed=50)


def test_the_other_schedules_of_a_failed_test_are_skipped_with_the_reason(pytester):
    result = team(pytester, "-rs")
    result.stdout.fnmatch_lines(["*schedule * has failed already*"])


@pytest.mark.parametrize("arguments", ["", "0", "-1", "'many'", "5, 6", "5, last=9"])
def test_a_mark_that_is_none_is_refused_when_tests_are_collected(pytester, arguments):
    result = team(pytester, schedules=arguments)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the mark `schedules` takes the number of schedules*"])


def test_a_first_seed_moves_on(pytester):
    result = team(pytester, "--collect-only", "-q", schedules="2, first=1000")
    result.stdout.fnmatch_lines(["*[[]schedule-1000]", "*[[]schedule-1001]"])


def test_a_test_on_the_machines_time_cannot_have_schedules(pytester):
    pytester.makepyfile(
        """
        import pytest
        from soundstage.host import HostBuilder

        @pytest.mark.schedules(1)
        async def test_asynchronous(model_server):
            pass

        @pytest.mark.schedules(1)
        def test_with_a_host():
            async def body(host):
                pass

            HostBuilder().with_workspace().run(body)
        """
    )
    result = pytester.runpytest_subprocess()
    assert result.ret == 1
    assert result.stdout.str().count("schedules need virtual time") >= 2


def test_a_host_in_an_ordinary_test_follows_the_schedule(pytester):
    pytester.makepyfile(
        """
        import asyncio
        import pytest
        from soundstage.host import HostBuilder

        seen = set()

        async def app(context):
            async def say(name):
                context.console.write_line(name)

            await asyncio.gather(*(say(name) for name in "abcd"))
            context.console.write_line("end")

        @pytest.mark.schedules(30)
        def test_order():
            async def body(host):
                await host.console.expect("end")
                seen.add("".join(host.console.lines))

            HostBuilder().with_app(app).run(body)

        def test_z_orders():
            assert len(seen) > 10, seen
        """
    )
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=31)
