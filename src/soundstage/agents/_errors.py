"""Errors of apps that are composed of branches. All are the author's fault, none the app's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from soundstage.errors import ScriptError


class CovenantProblem(NamedTuple):
    """One thing wrong with a covenant.

    Args:
        rule: which rule is broken; the names are the keys of the table in `soundstage.agents.Covenant`.
        subject: the entry type or the branch that it is about.
        message: the problem in one sentence, with what to do.
    """

    rule: str
    subject: str
    message: str

    def __str__(self) -> str:
        return self.message


class CovenantError(ScriptError):
    """Raised when a covenant is refused. `problems` lists all that is wrong, not only the first."""

    def __init__(self, problems: Sequence[CovenantProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} error{'s' if len(self.problems) != 1 else ''}"
        super().__init__(
            f"the covenant failed with {count}",
            expected="every produced type has one route or is terminal, and every consumed type is routed to",
            seen="\n".join(str(problem) for problem in self.problems),
            hint="correct the routes in the function given to routes(), or connect the branch that is missing",
        )


class SettingError(ScriptError, ValueError):
    """Raised when a policy or a branch is given a value that it cannot work with. Also a `ValueError`."""


class UnknownEntryError(ScriptError, LookupError):
    """Raised when a journal of entries is asked for that this run does not have. Also a `LookupError`."""
