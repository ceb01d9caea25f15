"""The guarantees of a world's inbox: order, this run alone, the end of the app, and what a time-out tells."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from soundstage.clock import running_clock
from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import DaemonChanged, Journal
from soundstage.testing._guarantee import Guarantee, NotKept, keep_all
from soundstage.worlds import World

WITHIN: Final = 5.0  # seconds for what comes
SHORT: Final = 0.05  # seconds for what does not
CRASH: Final = "KeyError: 'the app has crashed'"


class InboxProbe(NamedTuple):
    """How `verify_world` plays the app in a world, and waits for it as a test does.

    Besides `expects`, the suite calls the world's `expect_nothing(within=)` and `collect(count, within=)`.

    Args:
        says: lets the app say a text in a running world: the world, the text, the number of the source.
        expects: waits for a text: the world, the text, the number of the source, the seconds.
        sends: sends something to the app that it does not read; the world's `pending` tells of it.
        sources: how many sources there are to say something in: 2, or 1 for a world that has no more.
        ordered: whether two texts that differ can be of one source.
    """

    says: Callable[[Any, str, int], Awaitable[object]]
    expects: Callable[[Any, str, int, float], Awaitable[object]]
    sends: Callable[[Any], Awaitable[object]] | None = None
    sources: int = 2
    ordered: bool = True


class _Subject(NamedTuple):
    make: Callable[[Journal], Any]
    probe: InboxProbe


async def verify_inbox(make: Callable[[Journal], Any], probe: InboxProbe | None) -> None:
    """Verify the inbox of a world, if it has one; `verify_world` does it too.

    Args:
        make: makes a new world on a journal each time it is called.
        probe: how the app says something there, and how a test waits for it.

    Raises:
        ExpectationError: for the first guarantee that is not kept, or without a probe where one is needed.
    """
    if probe is not None:
        await keep_all("world", INBOX_GUARANTEES, _Subject(make, probe))
    elif isinstance(world := make(Journal(clock=running_clock())), World) and hasattr(world, "expect"):
        raise ExpectationError(
            "this world has an inbox, and the suite was not told how to use it",
            expected="verify_world(make_world, use, InboxProbe(says=..., expects=...))",
            seen="verify_world(make_world, use)",
        )


@asynccontextmanager
async def _running(subject: _Subject, journal: Journal | None = None) -> AsyncIterator[Any]:
    world = subject.make(journal if journal is not None else Journal(clock=running_clock()))
    await world.start()
    try:
        yield world
    finally:
        await world.stop()


async def _missed(what: str, wait: Awaitable[object]) -> ExpectationError:
    """The error of a wait that must not find anything."""
    try:
        found = await wait
    except ExpectationError as error:
        return error
    raise NotKept(f"{what} is not found", f"it was: {found!r}")


async def _in_order(subject: _Subject) -> None:
    says, expects = subject.probe.says, subject.probe.expects
    async with _running(subject) as world:
        for text in ("first", "second"):
            await says(world, text, 0)
        await expects(world, "second", 0, WITHIN)
        await _missed("what was found before", expects(world, "second", 0, SHORT))
        if subject.probe.ordered:
            error = await _missed(
                "what came before the one that was found", expects(world, "first", 0, SHORT)
            )
            _tells(error, "came before")


async def _sources(subject: _Subject) -> None:
    says, expects = subject.probe.says, subject.probe.expects
    if subject.probe.sources == 1:
        return
    async with _running(subject) as world:
        await says(world, "in the first source", 0)
        await says(world, "in the second source", 1)
        await expects(world, "in the second source", 1, WITHIN)
        await expects(world, "in the first source", 0, WITHIN)
        await world.expect_nothing(within=SHORT)


async def _collects(subject: _Subject) -> None:
    says = subject.probe.says
    async with _running(subject) as world:
        await says(world, "one", 0)
        await says(world, "two", subject.probe.sources - 1)
        surprise = await _missed("silence", world.expect_nothing(within=SHORT))
        _tells(surprise, "one")
        found = await world.collect(2, within=WITHIN)
        if [word in str(item) for word, item in zip(("one", "two"), found, strict=True)] != [True, True]:
            raise NotKept("collect(2) returns what came, in the order of the journal", repr(found))
        await world.expect_nothing(within=SHORT)
        _tells(await _missed("a third", world.collect(1, within=SHORT)), "0 came")


async def _this_run(subject: _Subject) -> None:
    says, expects = subject.probe.says, subject.probe.expects
    journal = Journal(clock=running_clock())
    async with _running(subject, journal) as world:
        await says(world, "of yesterday", 0)
        await expects(world, "of yesterday", 0, WITHIN)
        _crash(world)
    async with _running(subject, journal) as world:
        await world.expect_nothing(within=SHORT)
        error = await _missed("what an earlier run said", expects(world, "of yesterday", 0, SHORT))
        if not isinstance(error, WaitTimeout) or "of yesterday" in error.seen:
            raise NotKept("nothing of the earlier run is told, neither its messages nor its end", str(error))
        await says(world, "of today", 0)
        await expects(world, "of today", 0, WITHIN)


async def _end(subject: _Subject) -> None:
    says, expects = subject.probe.says, subject.probe.expects
    async with _running(subject) as world:
        await says(world, "the last words", 0)
        await expects(world, "the last words", 0, WITHIN)
        _crash(world)
        for wait in (lambda: expects(world, "more", 0, WITHIN), lambda: world.collect(1, within=WITHIN)):
            error = await _missed("more", wait())
            if isinstance(error, WaitTimeout):
                raise NotKept("the wait ends at once", str(error))
            _tells(error, CRASH)
        before = world.journal.clock.now()
        await world.expect_nothing(within=WITHIN)
        if world.journal.clock.now() - before >= WITHIN:
            raise NotKept("silence after the end of the app is sure at once", f"{WITHIN:g} s")


async def _pending(subject: _Subject) -> None:
    says, expects, sends = subject.probe.says, subject.probe.expects, subject.probe.sends
    async with _running(subject) as world:
        await says(world, "something else", 0)
        if sends is not None:
            await sends(world)
            if not world.pending():
                raise NotKept("pending() tells of what the app has not read", "nothing")
        error = await _missed("what was never said", expects(world, "what was never said", 0, SHORT))
        _tells(error, "something else")
        _tells(error, world.pending().partition("\n")[0])


def _crash(world: Any) -> None:
    failed = DaemonChanged(daemon=world.app_name, status="running", error=CRASH)
    world.journal.append(failed, source=world.app_name)


def _tells(error: ExpectationError, words: str) -> None:
    if words not in str(error):
        raise NotKept(f"the error tells {words!r}", str(error))


INBOX_GUARANTEES: Final[Sequence[Guarantee[_Subject]]] = (
    Guarantee("what the app says in one source is found in order, and once", _in_order),
    Guarantee("order between sources does not count", _sources),
    Guarantee("collect and expect_nothing go on where expect has stopped", _collects),
    Guarantee("what an earlier run has left in a continued journal is not found", _this_run),
    Guarantee("the end of the app ends every wait at once, with its cause", _end),
    Guarantee("a time-out names what came instead, and what the app has not read", _pending),
)
