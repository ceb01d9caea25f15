"""Verdicts: why a run is not the recorded one, in one line, and what stands below it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from soundstage.differences import Cause, Difference, page_difference, unified
from soundstage.errors import ReplayMismatchError, TapeError

if TYPE_CHECKING:
    from soundstage.report import SectionVerdict

NO_PLACE: Final = frozenset(
    {"extra call", "missing call", "already played", "order swapped", "other agent's call"}
)
"""Causes of requests that stand in the place of no recorded one."""
OLD: Final = "tape older than its format"
_ACCEPT: Final = "soundstage tape accept {tape}"
_AGAIN: Final = "soundstage record --tape {tape} --mode all -- COMMAND"


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason why a run is not the recorded one. As JSON: `msgspec.json.encode(verdict)`.

    Args:
        cause: why, in one of the fixed words.
        about: what of, in a few words.
        request: which request of the run it was, from 1; 0 if it is one that did not come.
        agent: who asked; empty for the main agent.
        server: the MCP server that was asked; empty for a model.
        nearest: number of the recorded exchange, or line of an MCP server, that comes nearest; 0 if there is none.
        of: how many there are on the tape.
        differences: all that differs from that one.
        tape: the name of the tape.
        again: the command that records it anew; that of the command line unless given.
    """

    cause: Cause
    about: str = ""
    request: int = 0
    agent: str = ""
    server: str = ""
    nearest: int = 0
    of: int = 0
    differences: tuple[Difference, ...] = ()
    tape: str = ""
    again: str = ""

    @property
    def line(self) -> str:
        """The verdict in one line: `divergence: prompt edited: ...`."""
        return " ".join(f"divergence: {self.cause}: {self.about}".split())

    @property
    def position(self) -> str:
        """Where in the run it was, and where on the tape."""
        who = f"of the agent {self.agent}" if self.agent else "of the run"
        who = f"to the MCP server {self.server}" if self.server else who
        asked = f"request {self.request} {who}" if self.request else "the end of the run"
        kind = "MCP line" if self.server else "exchange"
        near = (
            f"; nearest: {kind} {self.nearest} of {self.of}" if self.nearest else f"; {self.of} on the tape"
        )
        return f"{asked}{near} ({self.tape})"

    @property
    def commands(self) -> tuple[str, ...]:
        """Two commands: accept what was seen, empty for an MCP server's call or an old tape, or record again."""
        accept = "" if self.server or self.cause == OLD else _ACCEPT.format(tape=self.tape)
        return accept, self.again or _AGAIN.format(tape=self.tape)

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """The commands that there are, each with what it is for."""
        labelled = zip(("accept", "record again"), self.commands, strict=True)
        return tuple((label, command) for label, command in labelled if command)

    def text(self, *, colour: bool = False) -> str:
        """The line, the differences, the position and the commands."""
        parts = [self.line]
        if self.differences:
            parts.append(_indented(unified(self.differences, colour=colour)))
        steps = (f"  {label}: {command}" for label, command in self.steps)
        return "\n".join([*parts, f"  at: {self.position}", *steps])


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def verdict_on_old(error: TapeError, tape: str, *, again: str = "") -> Verdict:
    """The verdict on a run whose tape is of an older format."""
    about = f"{error.seen}, and {error.expected} is read"
    return Verdict(cause=OLD, about=about, tape=tape, again=again)


class DivergenceError(ReplayMismatchError):
    """Raised when a run is not the recorded one.

    Args:
        verdict: why.
    """

    def __init__(self, verdict: Verdict) -> None:
        accept, again = verdict.commands
        super().__init__(
            verdict.line,
            seen="\n".join([*unified(verdict.differences).splitlines(), verdict.position]),
            hint=f"if that is right: {accept}\nelse record again: {again}"
            if accept
            else f"record again: {again}",
        )
        self.verdict = verdict

    def section_verdict(self) -> SectionVerdict:
        """The verdict as the page of a test shows it."""
        from soundstage.report import SectionVerdict

        verdict = self.verdict
        found = [page_difference(one) for one in verdict.differences]
        return SectionVerdict(verdict.line, found, verdict.position, verdict.steps)
