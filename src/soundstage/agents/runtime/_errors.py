"""Errors in tools and agents as they are written. All are the author's fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from soundstage.errors import ScriptError


class ToolError(Exception):
    """Raised by a tool that cannot do what it was asked. The model reads the message; nothing else happens."""


class _UnknownNameError(ScriptError, KeyError):
    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it


class UnknownToolError(_UnknownNameError):
    """Raised when a registry is asked for a tool that it does not have. Also a `KeyError`."""


class UnknownAgentError(_UnknownNameError):
    """Raised when there is no agent of that name. Also a `KeyError`."""


class TaskError(ScriptError, ValueError):
    """Raised when a task cannot be done as it is written. Also a `ValueError`."""


class AgentProblem(NamedTuple):
    """One thing wrong with the definition of an agent.

    Args:
        agent: its slug.
        field: the field of `AgentDefinition`.
        message: the problem in one sentence, with what to do.
    """

    agent: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.agent}: {self.field}: {self.message}"


class AgentDefinitionError(ScriptError, ValueError):
    """Raised when definitions of agents are refused. `problems` lists all that is wrong."""

    def __init__(self, problems: Sequence[AgentProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(
            f"these agents cannot work: {count}",
            expected="tools that exist, and exactly the permissions that they need",
            seen="\n".join(str(problem) for problem in self.problems),
            hint="correct the definitions above",
        )
