"""One test, two ways: an app in process and the same app as a program, and what a host has for both."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from soundstage.agents import ChatEntry, ChatReceived, ChatReply, configured_app
from soundstage.agents.testing import journals_of
from soundstage.clock import SystemClock, VirtualClock
from soundstage.discord import Discord, VirtualDiscordGateway, discord_of
from soundstage.errors import (
    AppError,
    ExpectationError,
    InvalidStateError,
    NoMatchError,
    ScriptError,
    WaitTimeout,
)
from soundstage.host import HostBuilder
from soundstage.journal import Noted, ProcessExited
from soundstage.messages import ModelRequest, user
from soundstage.models import Script, complete

ECHO = "import sys\nfor line in sys.stdin: print(f'[bot]: {line.strip()}', flush=True)\n"
DIES = "input()\nprint('partly done', flush=True)\nraise SystemExit(3)\n"
DEAF = "import time\nprint('here', flush=True)\ntime.sleep(600)\n"


def configure(app):
    chat = app.use_console()
    echo = lambda said: ChatReply(text=said.text, sender="bot")  # noqa: E731
    app.covenant().connect(chat).routes(lambda to: to.route(ChatReceived, ChatReply, echo))


BOT = """
import atexit, os, warnings
warnings.simplefilter("ignore")
import discord
client = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.01)

@client.event
async def on_message(message):
    DO
    if message.author != client.user:
        await message.channel.send(f"hi {message.author.name}")

FIRST
client.run(os.environ["DISCORD_TOKEN"], log_handler=None)
"""


def bot_program(do, *, first=""):
    source = BOT.replace("DO", do).replace("FIRST", first)
    run = "import os; from soundstage.discord._discordpy import point_at as p; p(os.environ['DISCORD_API_BASE'])"
    return program(run + source).add(Discord)


def program(source, **options):
    return HostBuilder().with_program([sys.executable, "-c", source], **options)


@pytest.fixture(params=["in process", "program"])
def echo(request):
    return (
        HostBuilder().with_app(configured_app(configure)) if request.param == "in process" else program(ECHO)
    )


def test_the_same_body_drives_an_app_in_process_and_as_a_program(echo):
    async def body(host):
        await host.console.send("hello")
        assert await host.console.expect("hello", because="it echoes") == "[bot]: hello"
        await host.console.send("and ä🎭")
        assert await host.console.expect("and") == "[bot]: and ä🎭"
        await host.console.expect_nothing(within=0.05)
        return host.console.lines

    assert echo.run(body) == ["[bot]: hello", "[bot]: and ä🎭"]


def test_a_missed_line_says_why_it_was_expected_and_what_came_instead(echo):
    async def body(host):
        await host.console.send("good morning")
        await host.console.expect("morning")  # it runs
        await host.console.send("hello")
        await host.console.expect("bye", within=1, because="the user said hello")

    with pytest.raises(WaitTimeout, match=r"'bye', because the user said hello[\s\S]*\[bot\]: hello"):
        echo.run(body)


def test_lines_are_collected_in_both_ways(echo):
    async def body(host):
        for number in range(3):
            await host.console.send(f"line {number}")
        first = await host.console.collect(2)
        await host.console.collect(1)
        return first, host.console.drain(), len(host.console.lines)

    first, left, count = echo.run(body)
    assert (["line 0" in first[0], "line 1" in first[1]], left, count) == ([True, True], [], 3)


def test_a_terminal_cannot_tell_errors_from_output_and_says_so():
    async def body(host):
        with pytest.raises(InvalidStateError, match="errors and output as one"):
            host.console.errors.drain()
        await host.console.expect("to stderr")

    program("import sys; print('to stderr', file=sys.stderr)").run(body)


def test_a_program_has_its_console_where_the_test_asked_for_one():
    async def body(host):
        await host.console.send("hello")
        return await host.console.expect("hello"), [daemon.name for daemon in host.daemons]

    line, names = program(ECHO).with_console().run(body)
    assert ("hello" in line, names.count("console")) == (True, 1)


def test_a_run_has_one_console_however_often_it_is_asked_for():
    host = HostBuilder().with_console().with_console().build()
    assert [daemon.name for daemon in host.daemons] == ["console"]


def test_a_program_that_dies_ends_the_wait_with_its_last_screen_and_exit_code():
    async def body(host):
        await host.console.send("go")
        await host.console.expect("done at last", within=60)

    with pytest.raises(ExpectationError, match=r"exited with code 3[\s\S]*partly done") as caught:
        program(DIES).run(body)
    assert any("exit code 3" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("read", [True, False])
def test_the_last_screen_of_a_program_that_dies_is_shown_once(read):
    async def body(host):
        if read:
            await host.console.expect("Oh no", within=60)
        await host.console.expect("never", within=60)

    with pytest.raises(ExpectationError, match="exited with code 3") as caught:
        program("print('Oh no'); raise SystemExit(3)").run(body)
    report = "\n".join([str(caught.value), *caught.value.__notes__])
    assert (report.count("|Oh no"), report.count("exit code 3")) == (1, 1)


def test_a_program_that_fails_after_the_body_fails_the_run():
    async def body(host):
        await host.console.send("go")
        await host.console.expect("partly")

    with pytest.raises(AppError, match="exit code 3"):
        program(DIES).run(body)


def test_a_program_that_ignores_the_end_of_its_input_is_ended():
    async def body(host):
        await host.console.expect("here")
        return host.console.terminal

    terminal = program(DEAF, grace=0.1).run(body)
    assert terminal.exit_code is not None


def test_an_app_that_fails_ends_the_wait_with_its_error():
    async def broken(app):
        app.console.write_line("so far")
        await app.clock.sleep(1)
        raise RuntimeError("the app is broken")

    async def body(host):
        with pytest.raises(ExpectationError, match=r"so far[\s\S]*RuntimeError: the app is broken") as caught:
            await host.console.expect("more", within=600)
        assert not isinstance(caught.value, WaitTimeout)
        return host.clock.now()

    with pytest.raises(RuntimeError, match="the app is broken"):
        HostBuilder().with_app(broken).run(body)


def test_a_program_asks_the_scripted_model_on_its_port():
    source = (
        "import os, sys, urllib.request as r\n"
        "sys.stdin.readline()\n"
        'body = b\'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}\'\n'
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "opener = r.build_opener(r.ProxyHandler({}))\n"
        "print(opener.open(r.Request(url, body, {'content-type': 'application/json'})).read().decode())\n"
    )

    async def body(host):
        host.llm.on(user="hi").reply("hello from the script")
        await host.console.send("go")
        await host.console.expect("hello from the script")
        return host.llm.prompts

    assert program(source).run(body) == ["hi"]


def test_the_journals_of_the_app_hold_its_entries_in_order():
    async def body(host):
        await host.console.send("hello")
        await host.console.expect("hello")
        kinds = [type(entry).__name__ for entry in journals_of(host).get(ChatEntry).events()]
        with pytest.raises(LookupError, match="no journal of ModelRequested"):
            journals_of(host).get(__import__("soundstage.journal").journal.ModelRequested)
        return kinds

    assert HostBuilder().with_app(configured_app(configure)).run(body)[:2] == ["ChatReceived", "ChatReply"]


def test_a_run_has_one_app():
    both = HostBuilder().with_app(configured_app(configure)).with_program(["x"])
    with pytest.raises(InvalidStateError, match="one app under test") as caught:
        both.build()
    assert "with_app and with_program" in str(caught.value)
    assert "keep one of them" in str(caught.value)


def test_a_virtual_discord_is_at_hand_for_the_app_and_for_the_test():
    async def app(context):
        await context.discord.connect()
        async for message in context.discord.inbound_messages:
            await context.discord.send_message(message.channel_id, f"hi {message.author}")

    async def body(host):
        await discord_of(host).wait_for_ready()
        await discord_of(host).user("ann").says("hello", channel="general")
        answer = await discord_of(host).expect("hi ann", channel="general")
        await discord_of(host).expect_nothing(within=600)
        return answer.content, type(host.clock)

    assert HostBuilder().add(VirtualDiscordGateway).with_app(app).run(body) == ("hi ann", VirtualClock)


def test_a_bot_that_never_connects_is_named_with_its_screen():
    builder = HostBuilder().add(Discord).with_program([sys.executable, "-c", "print('no bot here')"])

    async def body(host):
        raise AssertionError("the body must not run")

    with pytest.raises(AppError, match=r"ended before it was ready[\s\S]*no bot here"):
        builder.run(body)


def test_a_bot_that_dies_ends_the_wait_for_its_message():
    async def app(context):
        await context.discord.connect()
        await context.discord.send_message(1001, "so far")
        raise RuntimeError("the bot is broken")

    async def body(host):
        with pytest.raises(ExpectationError, match=r"so far[\s\S]*RuntimeError: the bot is broken") as caught:
            await discord_of(host).expect("more", within=600)
        assert not isinstance(caught.value, WaitTimeout)
        assert host.clock.now() < 600

    with pytest.raises(RuntimeError, match="the bot is broken"):
        HostBuilder().add(VirtualDiscordGateway).with_app(app).run(body)


def test_a_bot_as_a_program_that_dies_ends_the_wait_for_its_message():
    async def body(host):
        await discord_of(host).user("ann").says("die")
        await discord_of(host).expect("more", within=600)

    with pytest.raises(ExpectationError, match="exited with code 3") as caught:
        bot_program("if message.content == 'die': os._exit(3)").run(body)
    assert any("exit code 3" in note for note in caught.value.__notes__)


def test_a_bot_is_ended_as_a_person_ends_it():
    async def body(host):
        await discord_of(host).user("ann").says("hi")
        await discord_of(host).expect("hi ann", channel="general")
        assert [message.text for message in discord_of(host).sent_messages] == ["hi ann"]
        return host.journal

    journal = bot_program("pass").run(body)
    assert [event.code for event in journal.events(ProcessExited)] == [0]


@pytest.mark.parametrize("code", [0, 130])
def test_a_bot_may_exit_after_ctrl_c_with_the_code_for_it(code):
    async def body(host):
        return host.journal

    own = f"atexit.register(os._exit, {code})"
    journal = bot_program("pass", first=own).run(body)
    assert [event.code for event in journal.events(ProcessExited)] == [code]


@pytest.mark.parametrize("discord", [VirtualDiscordGateway, Discord])
def test_the_timeout_of_the_host_is_that_of_what_is_expected_on_discord(discord):
    async def body(host):
        with pytest.raises(WaitTimeout, match=r"within 0\.07 s"):
            await discord_of(host).expect("never")

    HostBuilder().with_timeout(0.07).add(discord).run(body)


def test_what_is_not_configured_is_named_with_the_call_that_makes_it():
    async def body(host):
        with pytest.raises(InvalidStateError, match="not configured") as caught:
            _ = discord_of(host)
        assert "add(VirtualDiscordGateway)" in caught.value.hint
        with pytest.raises(InvalidStateError, match="not configured"):
            _ = host.workspace

    HostBuilder().run(body)


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_limits_that_are_no_time_are_refused(seconds):
    with pytest.raises(ValueError, match="more than 0"):
        HostBuilder().with_timeout(seconds)
    with pytest.raises(ValueError, match="more than 0"):
        HostBuilder().with_limits(stop_within=seconds)


def test_the_timeout_of_the_host_is_that_of_its_expectations():
    async def body(host):
        with pytest.raises(WaitTimeout, match="within 77 s"):
            await host.console.expect("never")
        return host.clock.now()

    assert HostBuilder().with_timeout(77).with_console().run(body) == 77


def test_the_data_folder_of_a_run_is_its_own_and_gone_after_it():
    async def app(context):
        (context.data_dir / "notes").write_text("kept")
        context.console.write_line("done")

    async def body(host):
        await host.console.expect("done")
        return host.data_dir, (host.data_dir / "notes").read_text()

    one, two = (HostBuilder().with_app(app).run(body) for _ in range(2))
    assert one[1] == two[1] == "kept"
    assert one[0] != two[0]
    assert not Path(one[0]).exists()


def test_an_app_may_finish_its_work_when_the_body_is_over():
    async def app(context):
        while (line := await context.console.read_line()) is not None:
            await context.clock.sleep(0.5)
            await complete(context.model, ModelRequest(model="m", messages=(user(line),)))

    async def body(host):
        host.llm.on(user="hello").reply("hi")
        await host.console.send("hello")
        return host

    host = HostBuilder().with_app(app).run(body)
    assert host.llm.prompts == ["hello"]


def test_an_app_that_does_not_stop_is_named_with_the_states_and_the_waits_of_all():
    async def stubborn(context):
        for _ in range(200):
            try:
                await context.clock.sleep(3600)
            except BaseException:
                continue

    async def body(host):
        await host.clock.sleep(1)

    with pytest.raises(WaitTimeout, match=r"'app' did not stop within 2 s[\s\S]*app: running") as caught:
        HostBuilder().with_limits(stop_within=2).with_app(stubborn).run(body)
    assert "stubborn" in str(caught.value)


def test_a_run_with_a_program_is_on_the_time_of_the_machine():
    async def body(host):
        return type(host.clock)

    assert program(ECHO).run(body) is SystemClock


def test_a_run_that_continues_a_file_looks_at_its_own_part_of_it(tmp_path):
    async def app(context):
        while (line := await context.console.read_line()) is not None:
            with contextlib.suppress(NoMatchError):
                answer = await complete(context.model, ModelRequest(model="m", messages=(user(line),)))
                context.console.write_line(answer.text)
            context.console.write_line("done")

    def host(**rules):
        script = Script(strict=True)
        for prompt, answer in rules.items():
            script.on(user=prompt).reply(answer)
        return HostBuilder().with_script(script).with_app(app).with_journal(tmp_path / "journal.jsonl")

    async def body(host):
        await host.console.send("hello")
        await host.console.expect("done")
        return host.llm.prompts, host.console.lines, len(host.trace.steps)

    with pytest.raises(ScriptError, match=r"^no rule answers this request"):
        host().run(body)
    assert host(hello="hi").run(body) == (["hello"], ["hi", "done"], 1)


def test_a_flood_of_lines_fills_neither_the_journal_nor_the_memory():
    flood = (
        "import sys\nsys.stdin.readline()\n"
        "for _ in range(50): sys.stdout.write('y\\n' * 20_000)\n"
        "print('the end', flush=True)\nsys.stdin.read()\n"
    )

    async def body(host):
        await host.console.send("go")
        await host.console.terminal.expect("the end", within=30)
        await host.console.send("enough")
        return host.journal

    journal = program(flood).run(body)
    assert len(journal) < 11_000
    (note,) = [event.text for event in journal.events(Noted) if "flood" in event.text]
    assert note == "990001 lines of a flood were not kept"


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import os, sys; os.write(1, b'\\xff\\xfe binary\\n'); sys.stdin.read()", "\\xff\\xfe binary"),
        ("import os, sys; os.write(1, b'no end of line'); sys.stdin.read()", None),
        (
            "import sys; print('\\x1b[31mred\\x1b[0m and \\x1b]0;title\\x07plain', flush=True); sys.stdin.read()",
            "red and plain",
        ),
        ("import sys, tty; tty.setraw(0); print('raw', flush=True); sys.stdin.read()", "raw"),
    ],
    ids=["binary", "no newline", "escapes", "raw mode"],
)
def test_what_a_program_writes_is_read_whatever_it_is(source, seen):
    async def body(host):
        if seen is None:
            await host.console.terminal.expect("no end of line")
            return host.console.lines
        return await host.console.expect(seen)

    assert program(source, grace=0.2).run(body) == (seen if seen is not None else [])
