"""Apps as a whole: how they start, end and fail, declared or written by hand."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents import (
    AgentEntry,
    AgentPrompt,
    AppBuilder,
    BranchDaemons,
    BranchManifest,
    ChatAck,
    ChatChunk,
    ChatEntry,
    ChatReceived,
    ChatReceivedDraft,
    ChatReply,
    ChatReplyDraft,
    CompletionWindow,
    DraftType,
    EntryFamily,
    ImmediateWindow,
    LengthSplitter,
    ParagraphSplitter,
    Pump,
    SettingError,
    StandaloneContext,
    Windowing,
)
from soundstage.clock import run
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged, Event, Journal, MessageReceived, MessageSent, RunStarted, event
from soundstage.lifecycle import Daemon, Status, TaskDaemon


def echo(app, target=ChatReplyDraft):
    """A console that repeats what is said."""
    app.covenant().connect(app.use_console()).routes(
        lambda to: to.route(ChatReceived, target, lambda said: target(text=said.text, sender="bot"))
    )


def failures(journal):
    return [(event.daemon, event.error) for event in journal.events(DaemonChanged) if event.error]


@pytest.mark.parametrize("target", [ChatReply, ChatReplyDraft])
def test_an_app_ends_when_its_input_has_ended_and_everything_is_said(run_app, target):
    around = run_app(lambda app: echo(app, target), lines=["one", "two"])
    assert around.console.written == ["[bot]: one", "[bot]: two"]


def test_it_runs_on_a_host_like_any_other_app():
    async def body(host):
        await host.console.send("Hello, world!")
        assert await host.console.expect("Hello") == "[bot]: Hello, world!"
        return host.journal

    journal = HostBuilder().with_app(AppBuilder().apply(echo).build()).run(body)
    chain = [journal.read(type=MessageSent)[0]]
    while chain[-1].cause is not None:
        chain.append(journal.read()[chain[-1].cause - 1])
    assert [type(record.event) for record in reversed(chain)] == [
        MessageReceived,
        ChatReceived,
        ChatReplyDraft,
        ChatReply,
        MessageSent,
    ]


def test_two_runs_with_one_seed_write_the_same_journal(tmp_path):
    app = AppBuilder().apply(echo).build()

    def once(path):
        async def body(host):
            for line in ("a", " ", "b"):
                await host.console.send(line)
            await host.console.expect("b")

        HostBuilder().with_journal(path).with_app(app).run(body)
        return path.read_bytes()

    assert once(tmp_path / "one") == once(tmp_path / "two")


def test_many_runs_of_one_app_at_once_share_nothing(around):
    async def main():
        runs = [around(echo, lines=[f"line {number}"]) for number in range(5)]
        await asyncio.gather(*(one.run() for one in runs))
        return [one.console.written for one in runs]

    assert run(main()) == [[f"[bot]: line {number}"] for number in range(5)]


def test_inputs_are_started_last_and_stopped_first(run_app):
    around = run_app(echo)
    changes = [(event.daemon, event.status) for event in around.journal.events(DaemonChanged)]
    started = [daemon for daemon, status in changes if status == "running"]
    assert started[-1] == "console.in"
    assert [daemon for daemon, status in changes if status == "completed"] == started[::-1]


def test_an_app_without_inputs_runs_until_it_is_stopped(around):
    async def main():
        app = around(lambda app: app.use_agent("m"))
        running = asyncio.create_task(app.run())
        await asyncio.sleep(3600)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return [event.status for event in app.journal.events(DaemonChanged) if event.daemon == "agent"]

    assert run(main()) == ["running", "completed"]


# -- failures --


def broken(message):
    def transform(said):
        raise RuntimeError(message)

    return transform


async def broken_later(said):
    await asyncio.sleep(1)
    raise RuntimeError("too bad")


@pytest.mark.parametrize("transform", [broken("too bad"), broken_later])
def test_a_transform_that_fails_ends_the_app_with_that_error_and_its_daemon_is_named(around, transform):
    async def main():
        app = around(
            lambda app: (
                app.covenant()
                .connect(app.use_console())
                .routes(lambda to: to.route(ChatReceived, ChatReply, transform))
            ),
            lines=["hello"],
            end=False,
        )
        with pytest.raises(RuntimeError, match="too bad") as caught:
            await app.run()
        return caught.value, app.journal

    error, journal = run(main())
    assert failures(journal) == [("route ChatReceived -> ChatReply", "RuntimeError: too bad")]
    assert any("'route ChatReceived -> ChatReply', at ChatReceived" in note for note in error.__notes__)
    last = {event.daemon: event.status for event in journal.events(DaemonChanged)}
    assert set(last.values()) == {"completed"}


@pytest.mark.parametrize(
    ("made", "seen"),
    [(None, "NoneType"), ("text", "str"), (ChatReplyDraft(text="x"), "ChatReplyDraft")],
)
def test_a_transform_that_returns_something_else_is_an_error(run_app, made, seen):
    def configure(app):
        app.covenant().connect(app.use_console()).routes(
            lambda to: to.route(ChatReceived, ChatReply, lambda said: made)
        )

    with pytest.raises(ScriptError, match="returned something else") as caught:
        run_app(configure, lines=["hello"])
    assert (caught.value.expected, caught.value.seen) == ("exactly ChatReply", seen)


def test_a_host_raises_what_a_part_of_its_app_has_raised():
    def configure(app):
        app.covenant().connect(app.use_console()).routes(
            lambda to: to.route(ChatReceived, ChatReply, broken("of the route"))
        )

    async def body(host):
        await host.console.send("hello")
        failed = event(DaemonChanged, daemon="route ChatReceived -> ChatReply", error="of the route")
        await host.journal.wait_for(failed, within=5)
        await host.clock.sleep(1)

    with pytest.raises(RuntimeError, match="of the route"):
        HostBuilder().with_app(AppBuilder().apply(configure).build()).run(body)


def test_several_failures_at_once_are_all_raised(run_app):
    def configure(app):
        app.use_console()
        for name in ("one", "two"):
            app.with_daemon(
                lambda scope, name=name: Pump(name, scope.followers, (ChatReceived,), broken(f"of {name}"))
            )

    with pytest.raises(ExceptionGroup) as caught:
        run_app(configure, lines=["hello"])
    assert [str(error) for error in caught.value.exceptions] == ["of one", "of two"]


class FailsToStop(Daemon):
    async def _start(self):
        return None

    async def _stop(self):
        raise RuntimeError("cannot stop")


def with_bad_end(app):
    app.use_console()
    app.with_daemon(lambda scope: FailsToStop("bad end", scope.journal))


def test_what_goes_wrong_at_the_end_is_raised(run_app):
    with pytest.raises(RuntimeError, match=r"^cannot stop$"):
        run_app(with_bad_end)


def test_what_goes_wrong_at_the_end_is_raised_even_if_the_app_was_only_stopped(around):
    async def main():
        running = asyncio.create_task(around(with_bad_end, end=False).run())
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises(RuntimeError, match=r"^cannot stop$"):
            await running

    run(main())


def test_a_failure_carries_what_went_wrong_at_the_end_as_a_note(run_app):
    def configure(app):
        with_bad_end(app)
        app.with_daemon(lambda scope: Pump("first", scope.followers, (ChatReceived,), broken("comes first")))

    with pytest.raises(RuntimeError, match="comes first") as caught:
        run_app(configure, lines=["hello"])
    assert any("cannot stop" in note for note in caught.value.__notes__)


def test_a_failure_in_the_moment_in_which_the_app_is_stopped_is_not_lost(around):
    async def main():
        async def body():
            await asyncio.sleep(1)
            raise RuntimeError("just now")

        def configure(app):
            app.use_console()
            app.with_daemon(lambda scope: TaskDaemon("late", scope.journal, body))

        running = asyncio.create_task(around(configure, end=False).run())
        await asyncio.sleep(1)
        running.cancel()
        with pytest.raises((RuntimeError, ExceptionGroup)) as caught:
            await running
        return repr(caught.value)

    assert "just now" in run(main())


def test_a_part_that_cannot_start_stops_those_before_it(run_app):
    class FailsToStart(FailsToStop):
        async def _start(self):
            raise RuntimeError("cannot start")

    def configure(app):
        app.use_console()
        app.with_daemon(lambda scope: FailsToStart("bad start", scope.journal))

    with pytest.raises(RuntimeError, match="cannot start") as caught:
        run_app(configure)
    assert any("console.out" in note for note in caught.value.__notes__)


# -- by hand --


def test_an_app_may_be_written_by_hand(run_app):
    def configure(app):
        app.use_console()
        app.with_daemon(by_hand)

    def by_hand(scope):
        chat = scope.journals.get(ChatEntry)

        async def answer(record):
            await scope.clock.sleep(5)
            chat.append(
                ChatReply(text=record.event.text.upper(), sender="bot"), source="shout", cause=record.position
            )

        return Pump("shout", scope.followers, (ChatReceived,), answer)

    around = run_app(configure, lines=["one", "two"])
    assert around.console.written == [
        "[bot]: ONE",
        "[bot]: TWO",
    ]  # it was waited for, although input had ended
    assert around.journal.clock.now() == 10


def test_a_loop_of_ones_own_is_waited_for_too(run_app):
    def configure(app):
        app.use_console()
        app.with_daemon(lambda scope: TaskDaemon("loop", scope.journal, lambda: loop(scope)))

    async def loop(scope):
        async for record in scope.followers.follow(ChatReceived).records():
            await scope.clock.sleep(5)
            scope.journal.append(ChatReply(text=record.event.text), source="loop")
            return  # whoever leaves does not hold up the end

    assert run_app(configure, lines=["one", "two"]).console.written == ["[]: one"]


def test_routes_and_parts_by_hand_go_together(run_app):
    def configure(app):
        echo(app)
        app.use_agent("m")  # not connected: the part by hand is to talk to it
        app.with_daemon(
            lambda scope: Pump(
                "counter", scope.followers, (ChatReply,), lambda record: seen.append(record.event.text)
            )
        )

    seen = []
    run_app(configure, lines=["one"])
    assert seen == ["one"]


class Sung(ChatReceived, frozen=True, kw_only=True): ...


def test_routes_take_exactly_their_type_and_no_subclass(around):
    async def main():
        app = around(echo, end=False)
        running = asyncio.create_task(app.run())
        await asyncio.sleep(1)
        app.journal.append(Sung(text="la"))
        app.journal.append(ChatReceived(text="said"))
        app.console.end()
        await running
        return app.console.written

    assert run(main()) == ["[bot]: said"]


# -- the start of the run, and acks --


def test_what_was_said_in_this_run_before_the_app_started_counts_and_what_was_said_in_an_earlier_run_does_not(
    around,
):
    async def main():
        app = around(echo)
        app.journal.append(ChatReceived(text="in an earlier run"))
        app.journal.append(RunStarted(name="this run"))
        app.journal.append(ChatReceived(text="before the app"))
        await app.run()
        return app.console.written

    assert run(main()) == ["[bot]: before the app"]


@pytest.mark.parametrize("target", [ChatReply, ChatReplyDraft])
def test_an_app_that_is_started_again_in_the_same_run_says_nothing_twice(around, target):
    async def main():
        app = around(lambda builder: echo(builder, target), lines=["one"])
        await app.run()
        app.console.type("two")
        await app.run()
        return app.console.written, [ack.position for ack in app.journal.events(ChatAck)]

    written, acks = run(main())
    assert written == ["[bot]: one", "[bot]: two"]
    assert len(set(acks)) == len(acks) == 2


# -- drafts and policies --


def drafting(text, *policies):
    """The texts of all replies that become of a reply draft."""

    def configure(app):
        app.covenant().connect(app.use_console(line_format="{text}")).routes(
            lambda to: to.route(
                ChatReceived, ChatReplyDraft, lambda _: ChatReplyDraft(text=text, sender="bot")
            )
        )
        for setting, *arguments in policies:
            getattr(app, setting)(*arguments)

    return configure


def test_a_draft_without_a_policy_becomes_final_as_it_is(run_app):
    around = run_app(drafting("One.\n\nTwo."), lines=["go"])
    assert around.told(ChatReply) == ["One.\n\nTwo."]
    assert around.told(ChatChunk) == []


def test_the_pieces_of_a_draft_are_chunks_that_windows_put_together(run_app):
    around = run_app(
        drafting("One.\n\nTwo.", ("with_splitter", ChatReplyDraft, ParagraphSplitter())), lines=["go"]
    )
    assert around.told(ChatChunk) == around.told(ChatReply) == ["One.\n\n", "Two."]
    assert around.console.written == ["One.", "Two."]
    assert {reply.sender for reply in around.journal.events(ChatReply)} == {"bot"}


def test_policies_can_be_changed_after_the_configuration(run_app):
    configure = drafting(
        "abcdef",
        ("with_splitter", ChatReplyDraft, LengthSplitter(1)),
        ("with_window", ChatChunk, ImmediateWindow()),
        ("with_splitter", ChatReplyDraft, LengthSplitter(2)),
        ("with_window", ChatChunk, CompletionWindow()),
        ("with_splitter", ChatReply, LengthSplitter(4)),
    )
    around = run_app(configure, lines=["go"])
    assert around.told(ChatChunk) == ["ab", "cd", "ef"]
    assert around.told(ChatReply) == ["abcd", "ef"]


def test_drafts_of_what_was_received_are_cut_too(around):
    async def main():
        app = around(lambda app: app.use_console())

        def configure(app):
            app.use_console()
            app.with_splitter(ChatReceivedDraft, LengthSplitter(3))
            app.with_daemon(
                lambda scope: Pump("reader", scope.followers, (ChatReceived,), lambda record: None)
            )

        app.configure = configure
        app.journal.append(ChatReceivedDraft(text="abcdef", sender="user"))
        await app.run()
        return app.journal.events(ChatReceived)

    assert run(main()) == [ChatReceived(text="abc", sender="user"), ChatReceived(text="def", sender="user")]


@pytest.mark.parametrize(
    ("setting", "kind", "policy"),
    [
        ("with_window", ChatReply, ImmediateWindow()),
        ("with_splitter", ChatChunk, LengthSplitter(1)),
        ("with_splitter", AgentPrompt, LengthSplitter(1)),
    ],
)
def test_a_policy_that_nothing_would_use_is_refused(setting, kind, policy):
    builder = AppBuilder().apply(echo)
    getattr(builder, setting)(kind, policy)
    with pytest.raises(SettingError, match=f"policy for {kind.__name__}") as caught:
        builder.build()
    assert "Chat" in caught.value.expected


# -- branches and families of an app's own --


class Ticked(Event, frozen=True, kw_only=True):
    text: str
    sender: str = ""


class TickedDraft(Event, frozen=True, kw_only=True):
    text: str
    sender: str = ""


class Ticker:
    """A branch of an app's own: it ticks a few times, and needs none of our families."""

    name = "ticker"
    manifest = BranchManifest("ticker", Event, produces=(Ticked,), accepts=(TickedDraft,))

    def daemons(self, scope):
        async def tick():
            for number in range(3):
                await scope.clock.sleep(1)
                scope.journal.append(TickedDraft(text=f"tick {number}"), source=self.name)

        return BranchDaemons(inputs=(TaskDaemon("ticker.in", scope.journal, tick),))


def test_an_app_may_have_branches_and_families_of_its_own(around):
    async def main():
        def configure(app):
            app.use(Ticker())
            app.covenant().connect(Ticker.manifest).routes(lambda to: to.terminal(Ticked))
            app.with_family(EntryFamily(Event, drafts=(DraftType(TickedDraft, Ticked),)))
            app.with_splitter(TickedDraft, LengthSplitter(5))

        app = around(configure)
        await app.run()
        return app.told(Ticked), app.journal.clock.now()

    assert run(main()) == (["tick ", "0", "tick ", "1", "tick ", "2"], 3.0)


def test_a_family_of_ours_can_be_replaced(run_app):
    def configure(app):
        echo(app, ChatChunk)
        app.with_family(EntryFamily(ChatEntry, (Windowing(ChatChunk, ChatReply, ImmediateWindow()),)))

    assert run_app(configure, lines=["a", "b"]).console.written == ["[bot]: a", "[bot]: b"]


def test_names_of_branches_are_unique():
    with pytest.raises(SettingError, match="two branches named 'console'"):
        AppBuilder().apply(lambda app: (app.use_console(), app.use_console()))


def test_an_app_has_one_covenant():
    with pytest.raises(InvalidStateError, match="has a covenant"):
        AppBuilder().apply(lambda app: (app.covenant(), app.covenant()))


@pytest.mark.parametrize(
    ("configure", "missing"),
    [
        (lambda app: app.use_console(), "console"),
        (lambda app: app.use_agent("m"), "model"),
        (lambda app: app.use_discord(7), "discord"),
    ],
)
def test_what_a_branch_needs_and_is_not_there_is_named(configure, missing):
    async def main():
        journal = Journal()
        await AppBuilder().apply(configure).build()(StandaloneContext(journal, journal.clock))

    with pytest.raises(InvalidStateError, match=f"needs a {missing}, and there is none"):
        run(main())


def test_a_run_has_journals_of_the_families_of_its_branches(around):
    async def main():
        found = {}

        def look(scope):
            found["chat"] = scope.journals.get(ChatEntry)
            with pytest.raises(LookupError):
                scope.journals.get(AgentEntry)
            return FailsToStop("none", scope.journal)

        app = around(lambda app: (app.use_console(), app.with_daemon(look)))
        with pytest.raises(RuntimeError, match="cannot stop"):
            await app.run()
        return found["chat"].entries

    assert run(main()) is ChatEntry


# -- as a daemon --


def test_as_a_daemon_it_is_ready_when_all_its_parts_are(around):
    async def main():
        app = around(echo, end=False)
        daemon = app.app().daemon(app.surroundings)
        app.journal.append(RunStarted())  # between building and starting, as hosts do
        await daemon.start()
        ready = [event.daemon for event in app.journal.events(DaemonChanged)]
        app.console.type("hello")
        app.console.end()
        await daemon.wait()
        await daemon.stop()
        return ready[-2:], app.console.written, daemon.status

    assert run(main()) == (["console.in", "app"], ["[bot]: hello"], Status.COMPLETED)


def test_as_a_daemon_it_stops_its_parts_even_if_it_is_stopped_at_once(around):
    async def main():
        app = around(echo, end=False)
        daemon = app.app().daemon(app.surroundings)
        await daemon.start()
        await daemon.stop()
        return {event.daemon: event.status for event in app.journal.events(DaemonChanged)}

    assert set(run(main()).values()) == {"completed"}
