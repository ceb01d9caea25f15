"""Parsed scripts of any form: rules that are ready to be added, or problems."""

from __future__ import annotations

from typing import NamedTuple

from soundstage.errors import Problem, SoundstageError
from soundstage.models._conditions import When
from soundstage.models._reply import Reply
from soundstage.models._rule import AgentSpec
from soundstage.models._source import SourceNode, SourceReport


class ParsedRule(NamedTuple):
    """A rule as it was written."""

    when: When
    reply: Reply
    priority: int = 0
    times: int | None = None
    name: str = ""
    where: str = ""


class ParsedScript(NamedTuple):
    """The contents of a script file. With problems there is nothing else."""

    problems: tuple[Problem, ...] = ()
    agents: tuple[AgentSpec, ...] = ()
    rules: tuple[ParsedRule, ...] = ()
    default: Reply | None = None
    strict: bool | None = None
    name: str = ""


def where(report: SourceReport, node: SourceNode) -> str:
    """`file:line` of a rule; empty for data that has no lines."""
    return f"{report.source}:{node.line}" if node.line else ""


def in_one_line(error: SoundstageError) -> str:
    """An error's message as one line of a list of problems."""
    parts = [
        error.summary,
        f"expected {error.expected}" if error.expected else "",
        f"got {error.seen}" if error.seen else "",
        error.hint,
    ]
    return "; ".join(part.replace("\n", " ") for part in parts if part)
