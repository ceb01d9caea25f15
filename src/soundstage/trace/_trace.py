"""The trace: a read-only view over the records of a journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from re import Pattern
from typing import Any, TypeVar

from soundstage.errors import ScriptError
from soundstage.journal import (
    DaemonChanged,
    EgressTried,
    Event,
    FileChanged,
    FlowEnded,
    HostReached,
    Journal,
    Noted,
    PhaseChanged,
    Record,
    Routed,
)
from soundstage.messages import Usage
from soundstage.trace._build import fields_of
from soundstage.trace._cost import PRICES, Cost, Prices, cost_of
from soundstage.trace._format import format_trace
from soundstage.trace._normalise import normalise
from soundstage.trace._routes import handovers_of, routes_of
from soundstage.trace._select import select
from soundstage.trace._types import HandOver, Step, TraceFields

E = TypeVar("E", bound=Event)


class Trace(TraceFields, frozen=True, kw_only=True, dict=True):
    """The trace of a run: all that happened. Build it with `build_trace(records)` or `Trace.of(journal)`.

    An agent without a name is called `main`. Positions are those of the journal, times are seconds on the
    run's clock.

    Args:
        records: the records that it is a view of.
        steps: exchanges with models, side requests included, in the order of their requests.
        runs: turns of agents, each with its steps, in the order of their first request.
        tools: tool calls, in the order in which they were asked for.
        agents: names, in the order of their first appearance.
        messages: what went between the app and its worlds.
        failures: what went wrong.
        orphans: results of tools whose call the journal does not have.

    Example:
        >>> from soundstage.journal import Journal, MessageSent
        >>> journal = Journal()
        >>> _ = journal.append(MessageSent(text="hello"), source="console")
        >>> Trace.of(journal).messages[0].text
        'hello'
    """

    @classmethod
    def of(cls, journal: Journal) -> Trace:
        """The trace of what is in a journal now."""
        return build_trace(journal.read())

    def __repr__(self) -> str:
        return f"<Trace of {len(self.records)} records: {len(self.steps)} steps by {', '.join(self.agents)}>"

    def _events(self, kind: type[E]) -> tuple[E, ...]:
        return tuple(record.event for record in self.records if isinstance(record.event, kind))

    @property
    def main_steps(self) -> tuple[Step, ...]:
        """The agents' own steps, without side requests such as titles and probes."""
        return tuple(step for step in self.steps if step.purpose == "main")

    @cached_property
    def conversations(self) -> tuple[str, ...]:
        """Ids of the conversations, in the order of their first request."""
        return tuple(dict.fromkeys(step.conversation for step in self.steps))

    @cached_property
    def routes(self) -> tuple[Routed, ...]:
        """The decisions of routers: those in the journal, else those that agents' replies are.

        An orchestrator of your own appends no `Routed`; a JSON object in its reply or in the arguments of a tool
        that names agents of the trace (`agents`, `agent`, `next_agent` or `next`) is its decision.
        """
        return tuple(route.event for route in routes_of(self))

    @cached_property
    def phases(self) -> tuple[PhaseChanged, ...]:
        """The changes of phase."""
        return self._events(PhaseChanged)

    @property
    def stop_reason(self) -> str:
        """The reason why the agents stopped taking turns, of the last conversation; empty while they go on.

        A team says `end`, `complete`, `max_iterations` or `error`.
        """
        ends = self._events(FlowEnded)
        return ends[-1].reason if ends else ""

    @cached_property
    def files(self) -> tuple[FileChanged, ...]:
        """The changes of files."""
        return self._events(FileChanged)

    @cached_property
    def egress(self) -> tuple[EgressTried, ...]:
        """The attempts to reach a host outside."""
        return self._events(EgressTried)

    @cached_property
    def hosts(self) -> tuple[HostReached, ...]:
        """The hosts outside of the run that the test's process has reached: on this machine, or listed."""
        return self._events(HostReached)

    @cached_property
    def notes(self) -> tuple[Noted, ...]:
        """The remarks."""
        return self._events(Noted)

    @cached_property
    def daemons(self) -> tuple[DaemonChanged, ...]:
        """The changes of daemons, their errors included."""
        return self._events(DaemonChanged)

    @cached_property
    def handovers(self) -> tuple[HandOver, ...]:
        """Hand-overs: an agent took over from another."""
        return handovers_of(self)

    @property
    def started(self) -> float | None:
        """Seconds, of the first record; `None` when there is none."""
        return self.records[0].time if self.records else None

    @property
    def ended(self) -> float | None:
        """Seconds, of the last record; `None` when there is none."""
        return self.records[-1].time if self.records else None

    @property
    def duration(self) -> float:
        """Seconds between the first and the last record."""
        return self.records[-1].time - self.records[0].time if self.records else 0.0

    @cached_property
    def usage_by_model(self) -> dict[str, Usage]:
        """Tokens by the model that answered, side requests included."""
        found: defaultdict[str, Usage] = defaultdict(Usage)
        for step in self.steps:
            if step.response is not None:
                found[step.model] += step.usage
        return dict(found)

    @property
    def usage(self) -> Usage:
        """All tokens."""
        return sum(self.usage_by_model.values(), Usage())

    def cost(self, prices: Prices = PRICES) -> Cost:
        """The cost of all replies. With an unknown model it has no amount, and the reason.

        Args:
            prices: the price table; `PRICES.extended({...})` adds your own.
        """
        return cost_of(self.steps, prices)

    @cached_property
    def _effects(self) -> dict[int | None, tuple[Record, ...]]:
        known = self._by_position
        found: defaultdict[int | None, list[Record]] = defaultdict(list)
        for record in self.records:
            found[record.cause if record.cause in known else None].append(record)
        return {cause: tuple(records) for cause, records in found.items()}

    def children(self, position: int | None = None) -> tuple[Record, ...]:
        """The records that the record at `position` caused; without a position, those without a known cause.

        Raises:
            ScriptError: if no record of the trace has this position.
        """
        if position is not None:
            self._at(position)
        return self._effects.get(position, ())

    def causes(self, position: int) -> tuple[Record, ...]:
        """The chain of causes of the record at `position`, from the first known cause to the record itself.

        Raises:
            ScriptError: if no record of the trace has this position.
        """
        record = self._at(position)
        chain = [record]
        while (
            record.cause is not None and record.cause < record.position and record.cause in self._by_position
        ):
            record = self._by_position[record.cause]
            chain.append(record)
        return tuple(reversed(chain))

    @cached_property
    def _by_position(self) -> dict[int, Record]:
        return {record.position: record for record in self.records}

    def _at(self, position: int) -> Record:
        found = self._by_position.get(position)
        if found is None:
            raise ScriptError(
                f"no record of the trace has the position {position}",
                expected=f"a position out of the {len(self.records)} records",
                hint="trace.records lists them",
            )
        return found

    def only(self, *, agent: Any = None, conversation: str | None = None) -> Trace:
        """The part that belongs to an agent, a conversation, or both.

        What belongs to nobody stays if it concerns the whole run: daemons, attempts to reach the network.
        Messages, files and notes stay if they were caused by what stays, or caused it.

        Args:
            agent: a name, `/regex/`, or another condition on names.
            conversation: an id.

        Raises:
            ScriptError: for an agent or a conversation that is not in the trace.
        """
        return Trace(**select(self, agent, conversation))

    def format(
        self, *, width: int = 100, colour: bool = False, fold: bool = True, mark: int | None = None
    ) -> str:
        """The trace as text to read: width, colour, whether loops are folded, the position of a line to mark."""
        return format_trace(self, width=width, colour=colour, fold=fold, mark=mark)

    def normalised(
        self, *, mask: Mapping[str | Pattern[str], str] | None = None, models: bool = False
    ) -> dict[str, Any]:
        """The trace as plain JSON values without what differs between runs; see `soundstage.trace.normalise`."""
        return normalise(self, mask=mask, models=models)


def build_trace(records: Sequence[Record]) -> Trace:
    """The trace of the records of a journal. Pure, and linear in their number.

    Args:
        records: in the order of the journal; a part of a journal is fine.

    Example:
        >>> build_trace([]).steps
        ()
    """
    return Trace(**fields_of(records))
