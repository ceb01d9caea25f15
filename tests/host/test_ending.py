"""The end of a run: whatever comes meanwhile, every part is stopped and the journal is closed last."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from soundstage.clock import VirtualClock, VirtualLoop, run
from soundstage.discord import VirtualDiscordGateway, discord_of
from soundstage.errors import ExpectationError, ScriptError, WaitTimeout
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged, Journal, RunFinished
from soundstage.lifecycle import Daemon, Status
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, complete
from soundstage.worlds import Console


class Resource(Daemon):
    """A part that holds something, and needs three steps and some time to let go of it."""

    held = 0

    async def _start(self):
        type(self).held += 1

    async def _stop(self):
        try:
            await asyncio.sleep(0)
            await self.journal.clock.sleep(0.5)
            await asyncio.sleep(0)
        finally:
            type(self).held -= 1


class BrokenInput(Console):
    """A console whose input cannot be ended."""

    def end_input(self):
        raise OSError("the input is stuck")


async def slow_to_end(app):
    """An app that goes on for some time after the end of its input."""
    while await app.console.read_line() is not None:
        pass
    await app.clock.sleep(0.7)
    app.console.write_line("bye")


class Interrupting(VirtualLoop):
    """A loop that does something to a task before its step `at`, once the counting has begun."""

    def __init__(self, clock, at, interrupt):
        super().__init__(clock)
        self.at, self.interrupt, self.steps, self.target = at, interrupt, 0, None

    def _run_once(self):
        if self.target is not None and not self.target.done():
            self.steps += 1
            if self.steps == self.at:
                self.interrupt(self.target)
        super()._run_once()


def cancel(task):
    task.cancel()


def interrupt_the_loop(_):
    raise KeyboardInterrupt  # as a second Ctrl-C does, wherever the loop is


def both(task):
    task.cancel()
    raise KeyboardInterrupt


def end_with(interrupt, at, path):
    """Run a host whose end is interrupted at a step; the host and how many steps the end had."""
    Resource.held = 0
    clock = VirtualClock()
    seen = {}

    async def main():
        loop = asyncio.get_running_loop()
        builder = HostBuilder().with_journal(path).with_app(slow_to_end)
        for name in "ab":
            builder.with_daemon(lambda host, name=name: Resource(name, host.journal))
        seen["host"] = host = builder.build()
        seen["folder"] = host.data_dir
        async with host:
            loop.target = asyncio.current_task()

    loops = []

    def make():
        loops.append(Interrupting(clock, at, interrupt))
        return loops[0]

    with (
        contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt),
        asyncio.Runner(loop_factory=make) as runner,
    ):
        runner.run(main())
    return seen, loops[0].steps


@pytest.mark.parametrize("interrupt", [cancel, interrupt_the_loop, both])
def test_at_every_point_of_interruption_all_is_stopped_and_the_journal_is_closed_last(interrupt, tmp_path):
    _, steps = end_with(cancel, 0, tmp_path / "whole.jsonl")
    assert steps > 8
    for at in range(1, steps + 1):
        seen, _ = end_with(interrupt, at, tmp_path / f"{at}.jsonl")
        host = seen["host"]
        assert Resource.held == 0, f"left behind when interrupted at step {at}"
        assert {daemon.status for daemon in host.daemons} == {Status.COMPLETED}, at
        assert not seen["folder"].exists()
        assert host.journal.closed
        assert isinstance(host.journal.read()[-1].event, RunFinished)
        Journal(tmp_path / f"{at}.jsonl").close()  # nobody has it open


def test_a_deadline_around_the_run_does_not_cut_its_end_short():
    async def main():
        host = (
            HostBuilder().with_daemon(lambda host: Resource("a", host.journal)).with_app(slow_to_end).build()
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), host:
                pass
        return host

    Resource.held = 0
    host = run(main())
    assert (Resource.held, host.journal.closed) == (0, True)
    assert host.journal.events(RunFinished)[0].outcome == "failed"


@pytest.mark.parametrize("fails", [False, True])
def test_an_input_that_cannot_be_ended_stops_nothing_else_from_being_ended(fails):
    builder = HostBuilder().with_daemon(lambda host: Resource("a", host.journal))
    builder.with_daemon(lambda host: BrokenInput(host.journal)).with_app(slow_to_end)
    kept = []

    async def body(host):
        kept.append(host)
        if fails:
            raise ValueError("of the body")

    Resource.held = 0
    with pytest.raises(ValueError if fails else OSError) as caught:
        builder.run(body)
    assert (Resource.held, kept[0].journal.closed) == (0, True)
    if fails:
        assert any("the input is stuck" in note for note in caught.value.__notes__)


def test_what_fails_at_the_end_is_raised_beside_a_folder_that_cannot_be_removed(monkeypatch):
    async def body(host):
        assert host.data_dir.is_dir()
        original = host._data_dir.close

        def fails():
            original()
            raise OSError("the disk is gone")

        host._data_dir.close = fails

    async def broken(app):
        raise ValueError("the app is broken")

    with pytest.raises(ExceptionGroup) as caught:
        HostBuilder().with_app(broken).run(body)
    assert [str(error) for error in caught.value.exceptions] == ["the app is broken", "the disk is gone"]


# What is under way when the body ends.


async def asks(app):
    while (line := await app.console.read_line()) is not None:
        answer = await complete(app.model, ModelRequest(model="m", messages=(user(line),)))
        await app.clock.sleep(600)
        app.console.write_line(answer.text)


def test_the_end_waits_for_replies_and_what_the_app_makes_of_them():
    script = Script()
    script.on(user="hello").reply("hi", delay=3600, tokens_per_second=0.001)

    async def body(host):
        await host.console.send("hello")
        return host

    host = HostBuilder().with_script(script).with_app(asks).run(body)
    assert host.console.lines == ["hi"]


def test_timers_that_only_repeat_do_not_count():
    async def with_heart(app):
        async def beat():
            while True:
                await app.clock.sleep(30)
                app.journal.append(DaemonChanged(daemon="heart", status="beats"), source="heart")

        beating = asyncio.create_task(beat())
        await asks(app)
        await beating

    script = Script()
    script.on(user="hello").reply("hi", delay=3000)

    async def body(host):
        await host.console.send("hello")
        return host

    host = HostBuilder().with_script(script).with_app(with_heart).run(body)
    assert host.console.lines == ["hi"]
    assert host.clock.now() < 10_000


def test_a_deadline_of_the_test_is_not_brought_about_by_waiting_for_the_app():
    async def main():
        async with asyncio.timeout(50):
            async with HostBuilder().with_app(asks).build() as host:
                pass
        return host.clock.now()

    assert run(main()) < 50


def test_a_reply_that_never_ends_is_cut_off_and_named():
    async def never(request):
        await asyncio.get_running_loop().create_future()

    script = Script(strict=True)
    script.on(user="hello").reply(never)

    async def body(host):
        await host.console.send("hello")

    with pytest.raises(
        ExpectationError, match=r"cut off work that was under way[\s\S]*ModelRequested.*hello[\s\S]*asks"
    ):
        HostBuilder().with_script(script).with_app(asks).run(body)
    HostBuilder().with_script(script).with_app(asks).allow_unfinished().run(body)


def test_a_dropped_reply_is_a_finding_unless_the_app_goes_on():
    async def gives_up(app):
        line = await app.console.read_line()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await complete(app.model, ModelRequest(model="m", messages=(user(line),)))
        if line == "say so":
            app.console.write_line("no answer")

    def run_with(line):
        script = Script(strict=True)
        script.on(user=line).reply("late", delay=60)

        async def body(host):
            await host.console.send(line)
            await host.clock.sleep(30)

        HostBuilder().with_script(script).with_app(gives_up).run(body)

    run_with("say so")
    with pytest.raises(ExpectationError, match=r"a reply was dropped[\s\S]*be silent"):
        run_with("be silent")


def test_a_run_whose_body_fails_does_not_wait_for_what_is_under_way():
    script = Script()
    script.on(user="hello").reply("hi", delay=3600)

    async def main():
        with pytest.raises(ValueError, match="of the body"):
            async with HostBuilder().with_script(script).with_app(asks).build() as host:
                await host.console.send("hello")
                raise ValueError("of the body")
        return host.clock.now()

    assert run(main()) <= 1


# What a run says when nobody has said how strict it is.


@pytest.mark.parametrize(
    ("script", "line", "finding"),
    [
        (Script(), "hello", "no rule answers this request"),
        (Script.from_data({"rules": [{"when": {"user": "bye"}, "reply": "x"}]}), None, "never used"),
    ],
)
def test_a_run_is_strict_unless_its_script_says_otherwise(script, line, finding):
    async def swallows(app):
        with contextlib.suppress(Exception):
            await asks(app)

    async def body(host):
        if line is not None:
            await host.console.send(line)

    with pytest.raises(ScriptError, match=finding):
        HostBuilder().with_script(script).with_app(swallows).run(body)
    lenient = Script(strict=False)
    lenient.rules = script.rules
    HostBuilder().with_script(lenient).with_app(swallows).run(body)
    with_default = Script()
    with_default.otherwise("whatever")
    HostBuilder().with_script(with_default).with_app(swallows).run(body)


def test_the_end_of_an_app_ends_every_wait_for_it_and_is_told():
    async def says_one_thing(app):
        app.console.write_line("one")
        app.console.write_error_line("bad")

    async def body(host):
        assert await host.console.collect_all(within=600) == ["one"]
        assert await host.console.errors.collect_all(within=600) == ["bad"]
        await host.console.expect_nothing(within=600)
        with pytest.raises(ExpectationError, match="then the app ended by itself"):
            await host.console.expect("two", within=600)
        with pytest.raises(ExpectationError, match=r"1 line\(s\); 0 came[\s\S]*then the app ended by itself"):
            await host.console.collect(1, within=600)
        with pytest.raises(ExpectationError, match="then the app ended by itself"):
            await discord_of(host).expect("two", within=600)
        await discord_of(host).expect_nothing(within=600)
        assert host.clock.now() == 0

    HostBuilder().add(VirtualDiscordGateway).with_app(says_one_thing).run(body)


def test_every_time_out_counts_the_input_that_was_not_read():
    async def reads_one(app):
        app.console.write_line(f"got {await app.console.read_line()}")
        await asyncio.get_running_loop().create_future()

    async def body(host):
        for line in ("one", "two", "three"):
            await host.console.send(line)
        with pytest.raises(WaitTimeout, match=r"got one[\s\S]*2 line\(s\) of input unread"):
            await host.console.expect("two")
        with pytest.raises(WaitTimeout, match=r"got one[\s\S]*2 line\(s\) of input unread"):
            await host.console.collect(5)
        for bad in (0, -1, float("nan")):
            with pytest.raises(ValueError, match="more than 0"):
                await host.console.expect("one", within=bad)
        with pytest.raises(ValueError, match="finite"):
            await host.console.expect_nothing(within=float("inf"))
        assert await host.console.expect("one", within=float("inf")) == "got one"

    HostBuilder().with_app(reads_one).run(body)
