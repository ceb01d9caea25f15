"""The guarantees of every world: those of a daemon, and that its events are its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from soundstage.journal import DaemonChanged, Journal, Noted
from soundstage.lifecycle import Daemon, Status, Supervisor
from soundstage.testing._daemon import DAEMON_GUARANTEES, MakeDaemon, changes, fresh
from soundstage.testing._guarantee import Guarantee, NotKept, keep_all, same
from soundstage.testing._inbox import InboxProbe, verify_inbox

W = TypeVar("W", bound=Daemon)


class _World(NamedTuple):
    make: Callable[[Journal], Any]
    use: Callable[[Any], Awaitable[object]]


async def verify_world(
    make_world: Callable[[Journal], W],
    use: Callable[[W], Awaitable[object]],
    inbox: InboxProbe | None = None,
) -> None:
    """Verify that a world keeps what hosts, traces and tests rely on.

    Args:
        make_world: makes a new world on a journal each time it is called.
        use: lets something happen in a running world, from the test's side or the app's, that the world must
            put on record.
        inbox: how the app says something there, and how a test waits for it. A `World` with a method `expect` needs it.

    Raises:
        ExpectationError: for the first guarantee that is not kept.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.worlds import Console
        >>> async def says(console, text, source):
        ...     console.io.write_line(text)
        >>> async def expects(console, text, source, within):
        ...     await console.expect(text, within=within)
        >>> probe = InboxProbe(says=says, expects=expects, sources=1)
        >>> run(verify_world(Console, lambda console: console.send("hello"), probe))
    """
    make: MakeDaemon = make_world
    await keep_all("world", DAEMON_GUARANTEES, make)
    await keep_all("world", WORLD_GUARANTEES, _World(make_world, use))
    await verify_inbox(make_world, inbox)


def _own(world: Daemon) -> list[Any]:
    """The events of a world, besides its status."""
    return [record for record in world.journal.read() if not isinstance(record.event, DaemonChanged)]


async def _tells(subject: _World) -> None:
    async with fresh(subject.make) as world:
        await world.start()
        before = len(_own(world))
        await subject.use(world)
        if len(_own(world)) == before:
            raise NotKept("at least one event in the journal", "none")
        await world.stop()
        foreign = [record.source for record in world.journal.read() if record.source != world.name]
        same(f"sources other than {world.name!r}", [], foreign)


async def _causes(subject: _World) -> None:
    async with fresh(subject.make) as world:
        await world.start()
        await subject.use(world)
        await world.stop()
        for record in world.journal.read():
            if record.cause is not None and not 0 < record.cause < record.position:
                raise NotKept(f"an earlier event as the cause of the one at {record.position}", record.cause)


async def _in_order(subject: _World) -> None:
    async with fresh(subject.make) as world:
        beside = _Beside("beside the world", world.journal)
        supervisor = Supervisor([beside, world], clock=world.journal.clock)
        await supervisor.start()
        await subject.use(world)
        await supervisor.stop()
        statuses = [(event.daemon, event.status) for event in world.journal.events(DaemonChanged)]
        wanted = [(beside.name, "running"), (world.name, "running")]
        wanted += [(world.name, "completed"), (beside.name, "completed")]
        same("starts in order, stops in reverse", wanted, statuses)


class _Beside(Daemon):
    """A part of the run that starts before the world and stops after it."""

    async def _start(self) -> None:
        self.journal.append(Noted(text="beside"), source=self.name)

    async def _stop(self) -> None:
        self.journal.append(Noted(text="beside"), source=self.name)


async def _two(subject: _World) -> None:
    async with fresh(subject.make) as one, fresh(subject.make) as other:
        await one.start()
        await other.start()
        quiet = len(_own(other))
        await subject.use(one)
        same("what the other world told meanwhile", quiet, len(_own(other)))
        await one.stop()
        same("the status of the other world", Status.RUNNING, other.status)
        await subject.use(other)
        await other.stop()
        same("status changes of the other world", ["running", "completed"], changes(other))


WORLD_GUARANTEES: Final[Sequence[Guarantee[_World]]] = (
    Guarantee("what happens in it is in the journal, under its name", _tells),
    Guarantee("causes are earlier events", _causes),
    Guarantee("it starts and stops in its turn", _in_order),
    Guarantee("two of them at once share nothing", _two),
)
