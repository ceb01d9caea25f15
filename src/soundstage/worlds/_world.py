"""A world: what surrounds the app on one side, with a test side and an app side.

The test side sends to the app and waits for what it says (`_inbox`). The app side is what the real app talks to: a
socket, a process, or an object that an app in process gets. Between them is the journal.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar, overload

from soundstage.errors import ExpectationError
from soundstage.journal import DaemonChanged, Event, ProcessExited, Record, one_line
from soundstage.lifecycle import ENDED, Daemon
from soundstage.worlds._inbox import WITHIN, Ends, Fits, Inbox, first_record, summary_of

APP: Final = "app"
_SHOWN: Final = 160  # characters of a fact in messages
E = TypeVar("E", bound=Event)
T = TypeVar("T")


class World(Daemon):
    """Base of worlds. Besides `_start` and `_stop`, override the hooks that say what it has for the app.

    Attributes:
        app_name: the daemon of the app, or what the journal calls its program: nobody waits for what it says after its
            end. A host sets it.
        within: seconds that waits take, unless they are told otherwise.

    Example:
        ::

            class Mailbox(World):
                def __init__(self, journal: Journal, *, within: float = 5.0, name: str = "mailbox") -> None:
                    super().__init__(name, journal)
                    self.within = within
                    self._mails = self.inbox(MailReceived, noun="mail", source=lambda record: record.event.sender)

                async def expect(self, match: Any, *, within: float | None = None) -> MailReceived:
                    return await self._mails.expect(matcher(match), within=within)
    """

    app_name: str = APP
    within: float = WITHIN

    def app_sides(self) -> Mapping[str, object]:
        """The sides that an app in process gets, by attribute of the app context; none, unless overridden."""
        return {}

    def readiness(self) -> Callable[..., Awaitable[None]] | None:
        """A wait that takes `within=`: a program has started when it is over. At once, unless overridden."""
        return None

    def pending(self) -> str:
        """Describe the input that the app has not read yet; empty if nothing is known of that."""
        return ""

    def ends_at(self, record: Record) -> bool:
        """Whether nothing can come from the app after a record: it has failed or ended, or its program has exited."""
        event = record.event
        if isinstance(event, DaemonChanged):
            return event.daemon == self.app_name and (bool(event.error) or event.status == ENDED)
        return isinstance(event, ProcessExited) and record.source == self.app_name

    def describe_end(self, end: Record) -> str:
        """How the app has ended, as the last line of what was seen."""
        if isinstance(end.event, ProcessExited):
            return f"then the program exited with code {end.event.code}"
        error = getattr(end.event, "error", "")
        return f"then the app failed: {error}" if error else "then the app ended by itself"

    @overload
    def inbox(self, kind: type[Event], *, item: Callable[[Any], T], **options: Any) -> Inbox[T]: ...
    @overload
    def inbox(self, kind: type[E], **options: Any) -> Inbox[E]: ...

    def inbox(self, kind: type[Event], **options: Any) -> Inbox[Any]:
        """Make the inbox for what the app says with events of one kind.

        Args:
            kind: the class of the events.
            **options: those of `Inbox`: `source`, `read`, `show`, `noun`, `missed`...
        """
        own: dict[str, Any] = {
            "name": self.name,
            "within": self.within,
            "begun": self.begun,
            "ends": Ends(self.ends_at, self.describe_end),
            "item": lambda record: record.event,
            "pending": self.pending,
        }
        return Inbox(self.journal, kind=kind, **{**own, **options})

    async def first(self, fits: Fits, *, within: float, after: int | None = None) -> Record | None:
        """Wait for a record of its own that fits; `None` if none comes in time.

        Args:
            fits: which one.
            within: seconds on the run's clock.
            after: position in the journal; the beginning of this run, unless given.

        Raises:
            ExpectationError: if the app ends first.
        """

        def stops(record: Record) -> bool:
            return self.ends_at(record) or (record.source == self.name and fits(record))

        start = self.begun if after is None else after
        record = await first_record(self.journal, stops, after=start, within=within)
        if record is not None and self.ends_at(record):
            how = self.describe_end(record)
            raise ExpectationError(
                f"{summary_of(how)}; it did not come so far on {self.name}",
                seen="\n".join([*self.facts(), how]),
                hint="look at why the app ended",
            )
        return record

    def facts(self, last: int = 8) -> list[str]:
        """The last facts that it has told in this run, line by line, for messages."""
        own = [record for record in self.journal.read(self.begun) if record.source == self.name][-last:]
        return [f"{record.position} {_in_words(record.event)}" for record in own]


def _in_words(event: Event) -> str:
    return f"{type(event).__name__}: {one_line(str(event), _SHOWN)}"
