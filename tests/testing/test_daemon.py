"""The conformance suites for daemons and worlds: ours pass, and each way to be wrong is named."""

from __future__ import annotations

import asyncio
import threading

import pytest

from soundstage.agents import (
    CHAT,
    AppBuilder,
    ChatReceived,
    ChatReply,
    Followers,
    Pump,
    StandaloneContext,
    WindowingDaemon,
)
from soundstage.clock import run
from soundstage.errors import ExpectationError
from soundstage.journal import DaemonChanged, MessageReceived, Noted
from soundstage.lifecycle import Daemon, Status, TaskDaemon
from soundstage.models import Script, ScriptedModel
from soundstage.testing import InboxProbe, verify_daemon, verify_world
from soundstage.testing._daemon import DAEMON_GUARANTEES
from soundstage.testing._world import WORLD_GUARANTEES
from soundstage.wire import ModelServer
from soundstage.worlds import Console, Workspace


async def for_ever():
    await asyncio.get_running_loop().create_future()


def app(journal):
    def configure(builder):
        builder.covenant().connect(builder.use_console()).routes(
            lambda to: to.route(ChatReceived, ChatReply, lambda said: ChatReply(text=said.text))
        )

    around = StandaloneContext(journal, journal.clock, console=Console(journal).io)
    return AppBuilder().apply(configure).build().daemon(around)


@pytest.mark.parametrize(
    "make",
    [
        Console,
        app,
        lambda journal: TaskDaemon("task", journal, for_ever),
        lambda journal: Pump("pump", Followers(journal), (ChatReceived,), lambda record: None),
        lambda journal: WindowingDaemon(CHAT, Followers(journal)),
    ],
)
def test_our_daemons_pass(make):
    run(verify_daemon(make))


def test_daemons_on_the_machines_time_pass():
    asyncio.run(verify_daemon(Workspace))
    asyncio.run(verify_daemon(lambda journal: ModelServer(ScriptedModel(Script()), journal)))


class Part(Daemon):
    """A daemon that is right; each broken one below differs in one thing."""

    def __init__(self, journal):
        super().__init__("part", journal)

    async def _start(self):
        return None

    async def _stop(self):
        return None


class StartsItself(Part):
    def __init__(self, journal):
        super().__init__(journal)
        self._move(Status.RUNNING)


class NotReady(Part):
    async def start(self):
        self._starting = asyncio.get_running_loop().call_later(1, self._move, Status.RUNNING)


class Secretive(Part):
    def _move(self, status):
        self._status = status


class UnderAnotherName(Part):
    def _move(self, status):
        self._status = status
        self.journal.append(DaemonChanged(daemon="somebody", status=status), source=self.name)


class Restarts(Part):
    async def start(self):
        if self._status is Status.STOPPED:
            await super().start()


class StopsOnce(Part):
    async def stop(self):
        if self._status is Status.STOPPED:
            raise RuntimeError("not running")
        await super().stop()


class LeavesTask(Part):
    async def _start(self):
        self.task = asyncio.create_task(for_ever(), name="left")

    async def stop(self):
        running = self._status is Status.RUNNING
        await super().stop()
        if running:
            asyncio.get_running_loop().call_later(60, self.task.cancel)


class LeavesThread(Part):
    async def _start(self):
        self.over = threading.Event()
        threading.Thread(target=self.over.wait, name="left", args=(30,), daemon=True).start()

    async def stop(self):
        running = self._status is Status.RUNNING
        await super().stop()
        if running:
            asyncio.get_running_loop().call_later(60, self.over.set)


class OneTask(Part):
    async def _start(self):
        self.owner = asyncio.current_task()

    async def _stop(self):
        if asyncio.current_task() is not self.owner:
            raise RuntimeError("another task")


BEGINS, LIVES, ONCE, HARMLESS, NOTHING_LEFT, APART, ANY_TASK = (
    promise.promise for promise in DAEMON_GUARANTEES
)


@pytest.mark.parametrize(
    ("make", "promise"),
    [
        (StartsItself, BEGINS),
        (NotReady, LIVES),
        (Secretive, LIVES),
        (UnderAnotherName, LIVES),
        (Restarts, ONCE),
        (StopsOnce, BEGINS),
        (LeavesTask, NOTHING_LEFT),
        (LeavesThread, NOTHING_LEFT),
        (OneTask, ANY_TASK),
    ],
)
def test_each_way_in_which_a_daemon_can_be_wrong_is_named(make, promise):
    run(verify_daemon(Part))
    with pytest.raises(ExpectationError, match="this daemon does not keep a guarantee") as caught:
        run(verify_daemon(make))
    assert caught.value.summary.endswith(promise)


def test_a_daemon_that_is_stopped_twice_must_not_tell_it_twice():
    class TellsTwice(Part):
        async def stop(self):
            if self._status is Status.COMPLETED:
                self.journal.append(DaemonChanged(daemon=self.name, status="completed"))
            await super().stop()

    with pytest.raises(ExpectationError) as caught:
        run(verify_daemon(TellsTwice))
    assert caught.value.summary.endswith(HARMLESS)


def test_daemons_that_share_a_status_are_named():
    class Apart(Part):
        running = 0

        async def _start(self):
            type(self).running += 1

        async def _stop(self):
            type(self).running -= 1

        @property
        def status(self):
            own = super().status
            return Status.RUNNING if own is Status.STOPPED and self.running else own

    with pytest.raises(ExpectationError) as caught:
        run(verify_daemon(Apart))
    assert caught.value.summary.endswith(APART)


# -- worlds --


async def says(console, text, source):
    (console.io.write_error_line if source else console.io.write_line)(text)


async def expects(console, text, source, within):
    await (console.errors if source else console).expect(text, within=within)


CONSOLE = InboxProbe(says, expects, lambda console: console.send("unread"), sources=1)


def test_our_worlds_pass():
    run(verify_world(Console, lambda console: console.send("hello"), CONSOLE))
    run(verify_world(Console, writes, CONSOLE))


def test_a_world_with_an_inbox_is_not_verified_without_it():
    with pytest.raises(ExpectationError, match="was not told how to use it"):
        run(verify_world(Console, writes))


def test_a_world_on_the_machines_time_passes():
    async def change(workspace):
        (workspace.root / "a.txt").write_text("hello")
        workspace.record_changes()

    asyncio.run(verify_world(Workspace, change))


async def writes(console):
    console.io.write_line("hello")


class Bell(Part):
    """A world that is right; each broken one below differs in one thing."""

    async def ring(self):
        self.journal.append(Noted(text="ring"), source=self.name)


class Silent(Bell):
    async def ring(self):
        return None


class Anonymous(Bell):
    async def ring(self):
        self.journal.append(Noted(text="ring"))


class FromTheFuture(Bell):
    async def ring(self):
        self.journal.append(Noted(text="ring"), source=self.name, cause=len(self.journal) + 1)


class Echoes(Bell):
    """All bells ring when one does."""

    bells: list[Bell]

    def __init__(self, journal):
        super().__init__(journal)
        self.bells.append(self)

    async def ring(self):
        for bell in self.bells:
            if bell.status is Status.RUNNING:
                await Bell.ring(bell)


class Meddles(Bell):
    async def ring(self):
        await super().ring()
        if any(event.daemon != self.name for event in self.journal.events(DaemonChanged)):
            self.journal.append(DaemonChanged(daemon=self.name, status="running"), source=self.name)


TELLS, CAUSES, IN_ORDER, TWO = (guarantee.promise for guarantee in WORLD_GUARANTEES)


@pytest.mark.parametrize(
    ("make", "promise"),
    [
        (Silent, TELLS),
        (Anonymous, TELLS),
        (FromTheFuture, CAUSES),
        (Meddles, IN_ORDER),
        (type("EchoingBell", (Echoes,), {"bells": []}), TWO),
    ],
)
def test_each_way_in_which_a_world_can_be_wrong_is_named(make, promise):
    run(verify_world(Bell, Bell.ring))
    with pytest.raises(ExpectationError, match="this world does not keep a guarantee") as caught:
        run(verify_world(make, make.ring))
    assert caught.value.summary.endswith(promise)


def test_a_world_is_held_to_what_every_daemon_guarantees():
    class Late(NotReady):
        ring = Bell.ring

    with pytest.raises(ExpectationError, match="this world") as caught:
        run(verify_world(Late, Late.ring))
    assert caught.value.summary.endswith(LIVES)


def test_a_use_that_fails_is_told():
    async def breaks(world):
        raise RuntimeError("the use is broken")

    with pytest.raises(ExpectationError) as caught:
        run(verify_world(Bell, breaks))
    assert "the use is broken" in caught.value.seen


def test_what_a_world_has_on_record_may_have_causes():
    class Answers(Bell):
        async def ring(self):
            asked = self.journal.append(MessageReceived(text="?"), source=self.name)
            self.journal.append(Noted(text="!"), source=self.name, cause=asked)

    run(verify_world(Answers, Answers.ring))
