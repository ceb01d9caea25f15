"""The stage of a test in process: what apps get, how they end, and runs of a builder in a test."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import ExpectationError, ScriptError
from soundstage.host import HostBuilder
from soundstage.messages import ModelRequest, user
from soundstage.models import complete
from soundstage.pytest_plugin._stage import Options, RunSetup


async def keeps_notes(app):
    await app.discord.connect()
    async for message in app.discord.inbound_messages:
        (app.data_dir / "notes").write_text(message.content)
        await app.discord.send_message(message.channel_id, f"kept {message.content}")


async def test_an_app_has_a_discord_in_process_and_a_folder(run_app, virtual_discord, stage):
    await run_app(keeps_notes)
    await virtual_discord.user("ann").says("hello")
    await virtual_discord.expect("kept hello")
    assert (stage.data_dir / "notes").read_text() == "hello"


async def test_a_run_of_a_builder_is_started_in_a_test_and_ends_with_it(start_host):
    async def echo(app):
        while (line := await app.console.read_line()) is not None:
            app.console.write_line(line)

    host = await start_host(HostBuilder().with_app(echo))
    await host.console.send("hello")
    assert await host.console.expect("hello") == "hello"


def on_a_stage(body, **options):
    """Run a test's body on a stage of its own and check it, as the plugin does."""
    stage = RunSetup("a test", Options(**options), VirtualClock())
    stage.console()
    try:
        run(stage._drive(body(stage)), clock=stage.journal.clock)
        stage.check()
    finally:
        stage.close()
    return stage


async def asks(app):
    while (line := await app.console.read_line()) is not None:
        answer = await complete(app.model, ModelRequest(model="m", messages=(user(line),)))
        app.console.write_line(answer.text)


def test_the_end_of_a_test_waits_for_what_its_app_has_begun():
    async def body(stage):
        stage.script.on(user="hello").reply("hi", delay=3600)
        await stage.run_app(asks)
        await stage.console().send("hello")

    stage = on_a_stage(body)
    assert stage.console().lines == ["hi"]


def test_what_the_end_of_a_test_cuts_off_fails_it_unless_the_mark_allows_it():
    async def body(stage):
        async def never(request):
            await asyncio.get_running_loop().create_future()

        stage.script.on(user="hello").reply(never)
        await stage.run_app(asks)
        await stage.console().send("hello")

    with pytest.raises(ExpectationError, match="cut off work that was under way"):
        on_a_stage(body)
    on_a_stage(body, unfinished="allow")


def test_a_failure_of_an_app_is_raised_as_itself_and_what_fails_in_a_run_of_a_builder_too():
    async def broken(app):
        raise ValueError("the app is broken")

    async def with_app(stage):
        await stage.run_app(broken)

    async def with_host(stage):
        await stage.start_host(HostBuilder().with_app(broken))

    for body in (with_app, with_host):
        with pytest.raises(ValueError, match="the app is broken"):
            on_a_stage(body)


def test_a_cleanup_step_that_fails_is_told_and_the_others_are_taken():
    failing = [OSError("the server hangs"), OSError("the folder is in use")]
    stage = RunSetup("a test", Options(), VirtualClock())
    folder = stage.data_dir

    def fail(error):
        raise error

    for error in failing:
        stage._cleanup.append(lambda error=error: fail(error))
    workspace = stage.workspace().root
    with pytest.raises(BaseExceptionGroup) as caught:
        stage.close()
    assert list(caught.value.exceptions) == failing[::-1]
    assert not folder.exists()
    assert not workspace.exists()
    assert stage.journal.closed
    stage.close()  # nothing is left to do


def test_tests_share_neither_folder_nor_journal_nor_what_a_model_has_served():
    one, other = (RunSetup("a test", Options(), VirtualClock()) for _ in range(2))
    try:
        assert one.data_dir != other.data_dir
        assert one.journal is not other.journal
        assert one.script is not other.script
        assert one.scripted is not other.scripted
    finally:
        one.close()
        other.close()


def test_a_rule_that_a_run_of_a_builder_does_not_use_is_not_said_to_be_out_of_reach():
    async def silent(app):
        await app.console.read_line()

    async def body(stage):
        stage.script.on(user="hello").reply("hi")
        await stage.start_host(HostBuilder().with_app(silent))

    async def without_app(stage):
        stage.script.on(user="hello").reply("hi")

    for test, notes in ((body, 0), (without_app, 1)):
        with pytest.raises(ScriptError) as caught:
            on_a_stage(test)
        assert len(getattr(caught.value, "__notes__", [])) == notes
