"""A run: what the builder says, what the host starts, ends and checks."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import ExpectationError, InvalidStateError, NoMatchError, ScriptError, WaitTimeout
from soundstage.host import HostBuilder
from soundstage.journal import EgressTried, Journal, RunFinished, RunStarted, read_journal
from soundstage.lifecycle import Daemon, Status
from soundstage.mcp import McpServer
from soundstage.messages import ModelRequest, user
from soundstage.models import ErrorSpec, FaultyModel, Script, complete
from soundstage.worlds import Console


class Part(Daemon):
    """A daemon that writes down what happens to it."""

    def __init__(self, name, journal, log, *, fails_at="", waits=0.0):
        super().__init__(name, journal)
        self.log, self.fails_at, self.waits = log, fails_at, waits

    async def _start(self):
        await self.journal.clock.sleep(self.waits)
        if self.fails_at == "start":
            raise RuntimeError(f"{self.name} cannot start")
        self.log.append(f"+{self.name}")

    async def _stop(self):
        self.log.append(f"-{self.name}")
        if self.fails_at == "stop":
            raise RuntimeError(f"{self.name} cannot stop")


def with_parts(builder, log, *parts):
    for name, options in parts:
        builder.with_daemon(lambda host, name=name, options=options: Part(name, host.journal, log, **options))
    return builder


async def echo(app):
    while (line := await app.console.read_line()) is not None:
        answer = await complete(app.model, ModelRequest(model="m", messages=(user(line),)))
        app.console.write_line(answer.text)


def test_an_app_in_process_answers_through_its_model_and_its_console():
    script = Script(strict=True)
    script.on(user="hello").reply("hi", delay=3)

    async def body(host):
        await host.console.send("hello")
        assert await host.console.expect("hi") == "hi"
        return host.clock.now(), type(host.clock)

    now, kind = HostBuilder().with_script(script).with_app(echo).run(body)
    assert (now, kind) == (3.0, VirtualClock)


def test_daemons_start_in_order_and_stop_in_reverse():
    log = []

    async def body(host):
        log.append("body")

    with_parts(HostBuilder(), log, ("a", {}), ("b", {})).run(body)
    assert log == ["+a", "+b", "body", "-b", "-a"]


def test_when_one_daemon_cannot_start_those_before_it_are_stopped_and_it_is_named():
    log = []

    async def body(host):
        log.append("body")

    with pytest.raises(RuntimeError, match="b cannot start") as caught:
        with_parts(HostBuilder(), log, ("a", {}), ("b", {"fails_at": "start"}), ("c", {})).run(body)
    assert log == ["+a", "-a"]
    assert any("while starting 'b'; stopped again: a" in note for note in caught.value.__notes__)


def test_a_daemon_that_is_not_ready_in_time_is_named_with_the_states_of_all():
    builder = with_parts(HostBuilder().with_limits(start_within=5), [], ("slow", {"waits": 60.0}))

    async def body(host):
        raise AssertionError("the body must not run")

    with pytest.raises(WaitTimeout, match=r"'slow' was not ready within 5 s[\s\S]*slow: stopped"):
        builder.run(body)


def test_every_exception_of_the_background_is_raised_at_the_end():
    builder = with_parts(HostBuilder(), [], ("a", {"fails_at": "stop"}), ("b", {"fails_at": "stop"}))

    async def body(host):
        return None

    with pytest.raises(ExceptionGroup) as caught:
        builder.run(body)
    assert [str(error) for error in caught.value.exceptions] == ["b cannot stop", "a cannot stop"]


def test_the_error_of_the_body_wins_and_carries_those_of_the_end_as_notes():
    builder = with_parts(HostBuilder(), [], ("a", {"fails_at": "stop"}))

    async def body(host):
        raise ValueError("of the body")

    with pytest.raises(ValueError, match="of the body") as caught:
        builder.run(body)
    assert any("a cannot stop" in note for note in caught.value.__notes__)


def test_an_app_that_fails_fails_the_run():
    async def broken(app):
        raise RuntimeError("the app is broken")

    async def body(host):
        await host.clock.sleep(1)

    with pytest.raises(RuntimeError, match=r"^the app is broken$"):
        HostBuilder().with_app(broken).run(body)


def test_a_strict_script_with_a_rule_left_over_fails_the_run_and_names_it():
    script = Script(strict=True)
    script.on(user="never asked").reply("x")

    async def body(host):
        return None

    with pytest.raises(
        ScriptError, match=r"1 rule\(s\) of a strict script were never used[\s\S]*never asked"
    ):
        HostBuilder().with_script(script).run(body)


def test_a_request_without_a_rule_fails_a_strict_run_even_if_the_app_swallows_the_error():
    script = Script(strict=True)
    script.on(user="hello").reply("hi")

    async def body(host):
        await complete(host.model, ModelRequest(model="m", messages=(user("hello"),)))
        with pytest.raises(NoMatchError):
            await complete(host.model, ModelRequest(model="m", messages=(user("other"),)))

    with pytest.raises(ScriptError, match=r"^no rule answers this request[\s\S]*'hello' is not in 'other'"):
        HostBuilder().with_script(script).run(body)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_try_to_leave_fails_the_run_unless_it_is_allowed(allowed):
    async def body(host):
        host.journal.append(EgressTried(host="example.com", port=443), source="egress")

    builder = HostBuilder().allow_egress() if allowed else HostBuilder()
    if allowed:
        builder.run(body)
    else:
        with pytest.raises(ExpectationError, match=r"example\.com:443"):
            builder.run(body)


def test_a_part_that_the_builder_did_not_make_is_an_error_that_says_how_to_get_it():
    async def body(host):
        with pytest.raises(InvalidStateError, match=r"\.with_console\(\)"):
            _ = host.console

    HostBuilder().run(body)


def test_a_builder_builds_once_and_a_run_runs_once():
    builder = HostBuilder()

    async def main():
        host = builder.build()
        async with host:
            pass
        with pytest.raises(InvalidStateError, match="this run is over"):
            async with host:
                pass

    run(main())
    with pytest.raises(InvalidStateError, match="has built its run"):
        builder.build()


def test_another_model_can_stand_around_the_scripted_one():
    script = Script(strict=False)
    script.queue("fine")

    async def body(host):
        with pytest.raises(Exception, match="broken on purpose"):
            await complete(host.model, ModelRequest(model="m", messages=(user("x"),)))

    faults = {1: ErrorSpec(status=500, message="broken on purpose")}
    HostBuilder().with_script(script).with_model(lambda inner: FaultyModel(inner, faults)).run(body)


def test_the_journal_begins_with_the_run_and_ends_with_its_outcome(tmp_path):
    path = tmp_path / "run.jsonl"

    async def body(host):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        HostBuilder("my run", seed=3).with_journal(path).run(body)
    records = read_journal(path)
    assert (type(records[0].event), records[0].event.name, records[0].event.seed) == (RunStarted, "my run", 3)
    assert (type(records[-1].event), records[-1].event.outcome) == (RunFinished, "failed")


def test_two_runs_of_one_scenario_write_byte_identical_journals(tmp_path):
    def once(path):
        script = Script(strict=True)
        script.on(user="hello").reply(
            text="hi", tool_calls=[{"name": "look"}], tokens_per_second=10, check_calls=False
        )

        async def body(host):
            await host.console.send("hello")
            await host.console.expect("hi")

        HostBuilder(seed=5).with_script(script).with_app(echo).with_journal(path).run(body)
        return path.read_bytes()

    first, second = once(tmp_path / "a.jsonl"), once(tmp_path / "b.jsonl")
    assert len(first) > 1000
    assert first == second


def test_two_hundred_runs_at_once_do_not_share_anything():
    async def one(number):
        script = Script(strict=True)
        script.on(user="who").reply(f"I am {number}")
        async with HostBuilder(seed=number).with_script(script).with_app(echo).build() as host:
            await host.console.send("who are you?")
            await host.console.expect(f"/^I am {number}$/")
            return len(host.journal)

    async def main():
        import asyncio

        return await asyncio.gather(*(one(number) for number in range(200)))

    assert len(set(run(main()))) == 1


def test_a_console_made_by_hand_and_one_of_the_builder_are_the_same_kind():
    async def body(host):
        return isinstance(host.get(Console), Console), host.get(Console).status

    assert HostBuilder().with_console().run(body) == (True, Status.RUNNING)
    assert Console(Journal()).status is Status.STOPPED


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda builder: builder.with_model(lambda inner: "no model"), "with_model takes .* a Model, .* str"),
        (
            lambda builder: builder.with_daemon(lambda host: object()),
            "with_daemon takes .* a Daemon, .* object",
        ),
        (lambda builder: builder.with_script("script.yaml"), "with_script takes a Script, and got str"),
        (lambda builder: builder.with_app(3), "with_app takes an asynchronous function .* int"),
    ],
)
def test_a_wrong_part_is_a_type_error_before_anything_starts(give, message):
    with pytest.raises(TypeError, match=message):
        give(HostBuilder()).build()


async def _cancelled_start(host):
    async def enter():
        async with host:
            pass

    entering = asyncio.create_task(enter())
    await asyncio.sleep(1)
    entering.cancel()
    await entering


async def _failed_start(host):
    async with host:
        pass


@pytest.mark.parametrize(
    ("enter", "start", "error"),
    [
        (_failed_start, {"fails_at": "start"}, RuntimeError),
        (_cancelled_start, {"waits": 20.0}, asyncio.CancelledError),
    ],
)
def test_a_run_that_cannot_start_leaves_no_folder_and_no_open_journal_and_its_end_is_on_record(
    tmp_path, enter, start, error
):
    async def main():
        builder = HostBuilder().with_journal(tmp_path / "journal.jsonl")
        host = builder.with_daemon(lambda host: Part("part", host.journal, [], **start)).build()
        folder = host.data_dir
        with pytest.raises(error):
            await enter(host)
        Journal(tmp_path / "journal.jsonl").close()  # nobody else has it open
        return folder.exists(), host.journal.read()[-1].event

    there, last = run(main())
    assert (there, last.outcome, last.reason.split(":")[0]) == (False, "failed", error.__name__)


def test_mcp_servers_of_a_run_are_found_by_their_names():
    async def body(host):
        assert host.get(McpServer).url != host.get(McpServer, "notes").url
        assert host.get(McpServer, "notes").name == "notes"
        with pytest.raises(InvalidStateError, match=r"no McpServer called 'gone'(.|\n)*add\(McpServer\)"):
            host.get(McpServer, "gone")

    HostBuilder().add(McpServer).add(McpServer, name="notes", strict=True).run(body)
