"""The suite for inboxes: it passes a world that keeps every guarantee, and names the one that is broken."""

from __future__ import annotations

import pytest

from soundstage.clock import run
from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import Journal, MessageSent
from soundstage.match import matcher
from soundstage.testing import InboxProbe, verify_inbox
from soundstage.testing._inbox import INBOX_GUARANTEES
from soundstage.worlds import World


class Rooms(World):
    """A world that is right; each broken one below differs in one thing."""

    def __init__(self, journal, *, name="rooms"):
        super().__init__(name, journal)
        self.unread = 0
        self._inbox = self.inbox(MessageSent, source=self.source_of, noun="message", show=str)

    def source_of(self, record):
        return record.event.channel

    async def _start(self): ...

    async def _stop(self): ...

    def pending(self):
        return f"{self.unread} unread"

    async def expect(self, text, source, within):
        await self._inbox.expect(
            matcher(text), only=lambda event: event.channel == str(source), within=within
        )

    async def expect_nothing(self, *, within):
        await self._inbox.expect_nothing(within=within)

    async def collect(self, count, *, within):
        return await self._inbox.collect(count, within=within)


async def says(world, text, source):
    world.journal.append(MessageSent(text=text, channel=str(source)), source=world.name)


async def sends(world):
    world.unread += 1


PROBE = InboxProbe(says, lambda *given: given[0].expect(*given[1:]), sends)


class AnyOrder(Rooms):
    """Finds every message once, whatever the order."""

    def source_of(self, record):
        return record.position


class OneCursor(Rooms):
    """Reads all rooms as one: the drift of Discord in process."""

    def source_of(self, record):
        return None


class CollectsAgain(Rooms):
    """Collects what was found before, too."""

    async def collect(self, count, *, within):
        return await self.inbox(MessageSent, show=str).collect(count, within=within)


class WholeFile(Rooms):
    """Looks at the whole journal: the drift of Nostr and MCP."""

    def __init__(self, journal):
        super().__init__(journal)
        self._inbox._begun = self._inbox._passed = 0


class Waits(Rooms):
    """Does not notice the end of the app: the drift of Nostr and MCP."""

    def ends_at(self, record):
        return False


class SaysNothing(Rooms):
    """Does not tell what is unread."""

    async def expect(self, text, source, within):
        try:
            await super().expect(text, source, within)
        except WaitTimeout as error:
            raise WaitTimeout(error.summary, seen=error.seen.replace("unread", "")) from None


def test_a_world_that_keeps_every_guarantee_passes():
    run(verify_inbox(Rooms, PROBE))


@pytest.mark.parametrize(
    ("make", "number"),
    [(AnyOrder, 0), (OneCursor, 1), (CollectsAgain, 2), (WholeFile, 3), (Waits, 4), (SaysNothing, 5)],
)
def test_each_way_in_which_an_inbox_can_be_wrong_is_named(make, number):
    with pytest.raises(ExpectationError, match="this world does not keep a guarantee") as caught:
        run(verify_inbox(make, PROBE))
    assert caught.value.summary.endswith(INBOX_GUARANTEES[number].promise)


def test_a_journal_that_goes_on_in_a_new_run_keeps_both_apart():
    async def main():
        journal = Journal()
        first = Rooms(journal)
        await says(first, "hello", 0)
        second = Rooms(journal)
        return len(first._inbox.items), len(second._inbox.items)

    assert run(main()) == (1, 0)
