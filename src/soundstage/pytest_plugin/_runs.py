"""The runs of a test, whoever made them: its fixtures or its builders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from soundstage.journal import Journal
from soundstage.models import ScriptedModel
from soundstage.pytest_plugin._source import AnswerSource

if TYPE_CHECKING:
    from soundstage.host import Host
    from soundstage.pytest_plugin._stage import RunSetup


class Ran(NamedTuple):
    """A run of a test, whoever made it.

    Args:
        journal: what happened in it.
        scripted: its model.
        after: the position of the journal where it begins.
        closed: whether a try to leave fails it.
        host: the run, if a builder made it.
        others: the sources of events about runs of builders: those runs are shown themselves.
        source: who answers in the place of its script.
    """

    journal: Journal
    scripted: ScriptedModel
    after: int = 0
    closed: bool = True
    host: Host | None = None
    others: frozenset[str] = frozenset()
    source: AnswerSource | None = None

    @property
    def busy(self) -> bool:
        """Whether something happened in it, besides its own begin and other runs that it has started."""
        return any(record.source not in self.others for record in self.journal.read(self.after + 1))

    def led_to(self, errors: Sequence[BaseException]) -> bool:
        """Whether the errors of a failed test come from this run: one that the test got over has not led to them."""
        return self.host is None or any(self.host.outcome is error for error in errors)


def runs_of(stage: RunSetup | None, hosts: Iterable[Host]) -> list[Ran]:
    """The runs of a test: that of its fixtures, and those of its builders."""
    made = []
    hosts = [host for host in hosts if stage is None or host.journal is not stage.journal]
    if stage is not None:
        closed = stage.options.egress != "allow"
        made.append(Ran(stage.journal, stage.scripted, 0, closed, others=stage.runs, source=stage.source))
    made += [
        Ran(host.journal, host.scripted, host.begun, host.settings.egress != "allow", host) for host in hosts
    ]
    return made
