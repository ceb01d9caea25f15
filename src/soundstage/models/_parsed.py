"""Parsed scripts of any form: rules that are ready to be added, or problems."""

from __future__ import annotations

from typing import NamedTuple

from soundstage.errors import ScriptProblem
from soundstage.models._conditions import When
from soundstage.models._identify import AgentSpec
from soundstage.models._reply import Reply


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

    problems: tuple[ScriptProblem, ...] = ()
    agents: tuple[AgentSpec, ...] = ()
    rules: tuple[ParsedRule, ...] = ()
    default: Reply | None = None
    strict: bool | None = None
    name: str = ""
    check_signatures: bool | None = None
