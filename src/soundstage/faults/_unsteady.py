"""The parts of an outcome that differ between two good runs: times, process ids, ports. They are not compared. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from soundstage.faults._calls import ToolAction
from soundstage.faults._outcome import Files, Outcome

VARIES: Final = "<varies>"


class Unsteady(NamedTuple):
    """The parts of an outcome that vary from run to run.

    Args:
        lines: of the output, from 0; `None` if even their number varies.
        files: by path.
        results: whether results of tools do.
        tools: whether the tools that run do.
    """

    lines: frozenset[int] | None = frozenset()
    files: frozenset[str] = frozenset()
    results: bool = False
    tools: bool = False

    def __str__(self) -> str:
        lines = "the output" if self.lines is None else ""
        numbers = ", ".join(f"line {line + 1} of the output" for line in sorted(self.lines or ()))
        tools = "the tools" if self.tools else "results of tools" if self.results else ""
        return ", ".join(filter(None, (lines, numbers, *sorted(self.files), tools)))


def unsteady_in(one: Outcome, other: Outcome) -> Unsteady:
    """The parts in which two good runs differ."""
    ours, theirs = _lines(one), _lines(other)
    differing = frozenset(
        number for number, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]
    )
    files = {path for path in {*one.files, *other.files} if one.files.get(path) != other.files.get(path)}
    named = [_without_results(outcome.tools) for outcome in (one, other)]
    return Unsteady(
        differing if len(ours) == len(theirs) else None,
        frozenset(files),
        results=one.tools != other.tools,
        tools=named[0] != named[1],
    )


def without(outcome: Outcome, unsteady: Unsteady) -> Outcome:
    """An outcome without what varies."""
    masked = unsteady.lines or ()
    lines = [VARIES if number in masked else line for number, line in enumerate(_lines(outcome))]
    tools = _without_results(outcome.tools) if unsteady.results else outcome.tools
    return outcome._replace(
        result=VARIES if unsteady.lines is None else "\n".join(lines),
        tools=() if unsteady.tools else tools,
        files=_left(outcome.files, unsteady),
        states=[_left(state, unsteady) for state in outcome.states],
    )


def _lines(outcome: Outcome) -> list[str]:
    return str(outcome.result).split("\n")


def _left(files: Files, unsteady: Unsteady) -> Files:
    return {path: state for path, state in files.items() if path not in unsteady.files}


def _without_results(tools: Sequence[ToolAction]) -> list[ToolAction]:
    return [tool._replace(result=VARIES) for tool in tools]
