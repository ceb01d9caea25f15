"""Assertions on the events of a journal: in an order, in time, or not at all.

They take the journal of a run, or one of its typed views such as `journals_of(host).get(ChatEntry)`: whatever reads,
waits and knows its conditions. Waiting is for events. On virtual time two quiet seconds cost none of yours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from soundstage.errors import ExpectationError, InvalidStateError, ScriptError, WaitTimeout
from soundstage.journal import Event, Record, Wanted
from soundstage.match import Matcher
from soundstage.trace._around import around
from soundstage.trace._finding import Finding
from soundstage.trace._nearest import nearest, reason_of

WITHIN: Final = 5.0  # seconds; as long as a console waits for a line
_WHOLE: Final = "`soundstage show JOURNAL` prints all events"


class EventSource(Protocol):
    """The side of a journal that assertions use: `Journal` and `soundstage.agents.TypedJournal` have it."""

    @property
    def closed(self) -> bool:
        """Whether nothing can be appended any more."""
        ...

    def read(self, after: int = 0, /) -> list[Record]:
        """The records after a position."""
        ...

    def matcher(self, wanted: Wanted, /) -> Matcher:
        """The condition on events for what a person wrote."""
        ...

    async def wait_for(self, wanted: Wanted, /, *, within: float, after: int = 0) -> Record:
        """The first record that matches."""
        ...


def check_ordered(journal: EventSource, *matchers: Wanted, after: int = 0) -> Finding:
    """These events are in the journal in this order; others may come between.

    Args:
        journal: the journal of a run, or a typed view of it.
        matchers: for each event a class, `event(Class, field=...)`, a text in the words of the event, a function
            of the event, or what `soundstage.match` combines of them. No event counts twice.
        after: position from which to look.

    Raises:
        ScriptError: if no event is expected.
        MatchError: if a condition cannot be evaluated, or can never match in this journal.
    """
    if not matchers:
        raise ScriptError("no event is expected", hint="name the events; assert_quiet for none")
    wanted = [journal.matcher(one) for one in matchers]
    records = journal.read(after)
    found = _subsequence(wanted, records)
    described = [one.describe() for one in wanted]
    if len(found) == len(wanted):
        return Finding(
            passed=True,
            message=f"{len(wanted)} events, in the expected order",
            expected=", ".join(described),
            seen=around(records, found[0].position, {record.position: "=" for record in found}),
            at=found[0].position,
        )
    miss = _diagnose(wanted[len(found)], records, found)
    signs = {record.position: "=" for record in found}
    if miss.near is not None:
        signs[miss.near.position] = ">"
    place = miss.near or (found[-1] if found else None)
    return Finding(
        passed=False,
        message=f"expected {len(wanted)} ordered, found {len(found)}: {described[len(found)]} "
        + (f"came before {described[len(found) - 1]}" if miss.early else "is missing"),
        expected="\n".join(_numbered(described, found)),
        seen=f"{miss.reason}\n{around(records, place.position if place is not None else None, signs)}",
        hint=_WHOLE,
        at=place.position if place is not None else None,
    )


def _subsequence(wanted: Sequence[Matcher], records: Sequence[Record]) -> list[Record]:
    """The first records that match one after the other; as many as there are."""
    found: list[Record] = []
    rest = iter(records)
    for condition in wanted:
        record = next((one for one in rest if condition.matches(one.event)), None)
        if record is None:
            break
        found.append(record)
    return found


class _Miss(NamedTuple):
    """The record nearest to the missing event, why it does not match, and whether it only came too early."""

    near: Record | None
    reason: str
    early: bool = False


def _diagnose(missing: Matcher, records: Sequence[Record], found: Sequence[Record]) -> _Miss:
    """An event that came too early explains a miss best, then the nearest one after the last that was found."""
    last = found[-1].position if found else 0
    later = [record for record in records if record.position > last]
    before = [record for record in records if record.position <= last]
    taken = {record.position for record in found}
    for record in before:
        if reason_of(missing, record.event) is None:
            why = (
                f"counts for {_number(found, record)} already"
                if record.position in taken
                else "comes earlier"
            )
            early = record.position not in taken
            return _Miss(record, f"@{record.position} would match, but {why}", early)
    near = nearest(missing, later)
    if near is not None:
        return _Miss(near, f"the nearest is @{near.position}: {reason_of(missing, near.event)}")
    return _Miss(
        None, f"nothing like it comes after @{last}" if found else "nothing like it is in the journal"
    )


def _number(found: Sequence[Record], record: Record) -> str:
    place = next(n for n, one in enumerate(found, start=1) if one.position == record.position)
    return f"event {place}"


def _numbered(described: Sequence[str], found: Sequence[Record]) -> list[str]:
    lines = [f"= {n + 1} {text} @{found[n].position}" for n, text in enumerate(described[: len(found)])]
    lines += [f"- {n + 1} {text}" for n, text in enumerate(described[len(found) :], start=len(found))]
    return lines


def assert_ordered(journal: EventSource, *matchers: Wanted, after: int = 0) -> None:
    """Assert: these events are in the journal in this order; others may come between.

    See `check_ordered`.

    Raises:
        ExpectationError: if one is missing; the message shows the journal around the nearest one.
        ScriptError: if no event is expected.
        MatchError: if a condition cannot be evaluated, or can never match in this journal.

    Example:
        >>> from soundstage.journal import Journal, MessageReceived, MessageSent
        >>> journal = Journal()
        >>> _ = journal.append(MessageReceived(text="hello"))
        >>> _ = journal.append(MessageSent(text="hello yourself"))
        >>> assert_ordered(journal, MessageReceived, "yourself")
    """
    __tracebackhide__ = True
    _demand(check_ordered(journal, *matchers, after=after))


async def check_quiet(
    journal: EventSource, within: float, match: Wanted = Event, *, because: str = ""
) -> Finding:
    """Nothing comes from now on, for some seconds of the run's clock.

    Args:
        journal: the journal of a run, or a typed view of it.
        within: seconds, more than zero.
        match: what must not come, as in `assert_ordered`; any event unless given.
        because: why it must not; the message shows it.

    Raises:
        InvalidStateError: if the journal is closed, so that it could not come.
        MatchError: if a condition cannot be evaluated, or can never match in this journal.
    """
    if journal.closed:
        raise InvalidStateError(
            "the journal is closed, so it is quiet whatever the app does",
            hint="await assert_quiet(...) while the run goes on",
        )
    wanted = journal.matcher(match)
    expected = _reasoned(f"no {'event' if match is Event else wanted.describe()}", because)
    records = journal.read()
    now = records[-1].position if records else 0
    try:
        came = await journal.wait_for(match, within=within, after=now)
    except WaitTimeout:
        return Finding(passed=True, message=f"{within:g} quiet seconds", expected=expected, seen="nothing")
    kind = type(came.event).__name__
    return Finding(
        passed=False,
        message=f"expected {within:g} quiet seconds, but there came {kind}: {came.event}",
        expected=expected,
        seen=around(journal.read(), came.position, {came.position: ">"}),
        hint="`match=` narrows what has to be quiet" if match is Event else _WHOLE,
        at=came.position,
    )


async def assert_quiet(
    journal: EventSource, within: float, match: Wanted = Event, *, because: str = ""
) -> None:
    """Assert that nothing comes from now on, for some seconds of the run's clock. See `check_quiet`.

    Raises:
        ExpectationError: if something comes; the message quotes it.
        InvalidStateError: if the journal is closed, so that it could not come.
        MatchError: if a condition cannot be evaluated, or can never match in this journal.
    """
    __tracebackhide__ = True
    _demand(await check_quiet(journal, within, match, because=because))


def _demand(finding: Finding) -> None:
    __tracebackhide__ = True
    if not finding:
        raise ExpectationError(
            finding.message, expected=finding.expected, seen=finding.seen, hint=finding.hint
        )


async def check_eventually(
    journal: EventSource, match: Wanted, *, within: float = WITHIN, because: str = "", after: int = 0
) -> Finding:
    """An event is in the journal or comes in time. Arguments are those of `assert_eventually`.

    Raises:
        MatchError: if a condition cannot be evaluated, or can never match in this journal.
    """
    try:
        record = await assert_eventually(journal, match, within=within, because=because, after=after)
    except WaitTimeout as error:
        return Finding(
            passed=False, message=error.summary, expected=error.expected, seen=error.seen, hint=error.hint
        )
    return Finding(
        passed=True,
        message=f"it came at @{record.position}",
        expected=_reasoned(journal.matcher(match).describe(), because),
        seen=str(record.event),
        at=record.position,
    )


async def assert_eventually(
    journal: EventSource, match: Wanted, *, within: float = WITHIN, because: str = "", after: int = 0
) -> Record:
    """Assert that an event is in the journal or comes in time, and return its record.

    Args:
        journal: the journal of a run, or a typed view of it.
        match: what has to come, as in `assert_ordered`.
        within: seconds on the run's clock, more than zero.
        because: why it has to come; the message shows it.
        after: position from which to look.

    Raises:
        WaitTimeout: if none came in time; the message shows what was skipped, the nearest of it marked.
        MatchError: if a condition cannot be evaluated, or can never match in this journal.
    """
    __tracebackhide__ = True
    try:
        return await journal.wait_for(match, within=within, after=after)
    except WaitTimeout as error:
        summary = error.summary
    wanted, skipped = journal.matcher(match), journal.read(after)
    near = nearest(wanted, skipped)
    place = near.position if near is not None else None
    raise WaitTimeout(
        summary,
        expected=_reasoned(wanted.describe(), because),
        seen="\n".join(
            [*_skipped(skipped, near, wanted), around(skipped, place, {place: ">"} if place else {})]
        ),
        hint="a longer `within=` waits longer; " + _WHOLE,
    )


def _reasoned(expected: str, because: str) -> str:
    return f"{expected}, because {because}" if because else expected


def _skipped(records: Sequence[Record], near: Record | None, wanted: Matcher) -> list[str]:
    lines = [f"{len(records)} event{'' if len(records) == 1 else 's'} skipped"]
    return (
        lines
        if near is None
        else [*lines, f"the nearest is @{near.position}: {reason_of(wanted, near.event)}"]
    )
