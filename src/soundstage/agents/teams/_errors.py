"""Errors of teams. Replies of a model are the app's affair, wrong calls are the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from soundstage.errors import AppError, EnvironmentProblem, ScriptError


class RoutingError(AppError):
    """Raised when the orchestrator's reply is no routing decision. `raw` is the reply as it was."""

    def __init__(self, summary: str, *, raw: str, expected: str = "", seen: str = "", hint: str = "") -> None:
        self.raw = raw
        super().__init__(summary, expected=expected, seen=seen, hint=hint)


class AgentNotFoundError(AppError, LookupError):
    """Raised when an agent is named that the team does not have. `known` are the slugs. Also a `LookupError`."""

    def __init__(self, summary: str, *, known: Sequence[str], seen: str = "", hint: str = "") -> None:
        self.known = tuple(known)
        super().__init__(summary, expected="one of " + ", ".join(known), seen=seen, hint=hint)


class UnknownPhaseError(AppError, ValueError):
    """Raised for a phase that conversations do not have. `known` are those they have. Also a `ValueError`."""

    def __init__(self, phase: object, known: Sequence[str]) -> None:
        self.known = tuple(known)
        super().__init__(
            f"there is no phase {phase!r}",
            expected="one of " + ", ".join(known),
            hint="Phases((...), start=...) gives the coordinator other phases",
        )


class ConversationNotFoundError(ScriptError, LookupError):
    """Raised for the id of a conversation that the coordinator does not have. Also a `LookupError`."""


class EmptyMessageError(ScriptError, ValueError):
    """Raised when a conversation is to begin with nothing. Also a `ValueError`."""


class StateFileError(EnvironmentProblem):
    """Raised when saved conversations cannot be read. The file stays as it is."""


class PlanProblem(NamedTuple):
    """One thing wrong with a plan: the index of the task, and what is wrong with it."""

    task: int
    message: str

    def __str__(self) -> str:
        return f"task {self.task}: {self.message}"


class PlanError(AppError):
    """Raised when a plan cannot be carried out. `problems` lists all that is wrong, not only the first."""

    def __init__(self, problems: Sequence[PlanProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(
            f"the plan cannot be carried out: {count}",
            expected="tasks of agents that exist, each depending on other tasks by index from 0, without a circle",
            seen="\n".join(str(problem) for problem in self.problems),
            hint="the plan is the orchestrator's reply: correct its prompt, or the script that plays it",
        )


class ReplyError(AppError):
    """Raised when a reply that has to be JSON of a certain form is not. `raw` is the reply as it was."""

    def __init__(self, summary: str, *, raw: str, expected: str = "", seen: str = "", hint: str = "") -> None:
        self.raw = raw
        super().__init__(summary, expected=expected, seen=seen, hint=hint)
