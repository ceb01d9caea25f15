"""Rules: when a reply is given, and how callers are recognised. Plain records.

Rules go by priority, then by registration; a rule serves `times` and then steps aside. A queued reply is a
rule without a condition that serves once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import MatchError
from soundstage.match import Matcher, Regex, matcher
from soundstage.messages import ModelRequest
from soundstage.models._conditions import When
from soundstage.models._reply import Reply

Answer = Reply | Callable[[ModelRequest], Any]
SHOWN: Final = 300  # characters of conditions, in each reply of a journal


class AgentSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A rule that recognises an agent where the protocol does not name the caller.

    Args:
        name: the agent's name in conditions and in the trace.
        when: conditions of the request; all must hold.
        router: a router hands work out; it never counts as `previous_agent`. `orchestrator` is one anyway.
        phase: an expression whose first group, found in the system prompt, is the phase: `/Phase: (\\w+)/`.
    """

    name: str
    when: When
    router: bool = False
    phase: str = ""


class Rule(NamedTuple):
    """One rule, ready to use. `number` counts registrations from 1; `where` is `file:line` if it has one."""

    number: int
    conditions: tuple[tuple[str, Matcher], ...]
    reply: Answer
    priority: int = 0
    times: int | None = None
    name: str = ""
    where: str = ""

    @property
    def label(self) -> str:
        """The name of the rule in messages."""
        title = f"rule {self.number}" + (f" {self.name!r}" if self.name else "")
        return f"{title} ({self.where})" if self.where else title

    @property
    def served_by(self) -> str:
        """The source of an answer in traces: the rule, and the conditions that the request met."""
        words = self.describe()
        return f"{self.label} [{words if len(words) <= SHOWN else words[: SHOWN - 1] + '…'}]"

    @property
    def names_purpose(self) -> bool:
        """Whether it says what requests are for: only such a rule answers a side request."""
        return any(name == "purpose" for name, _ in self.conditions)

    def describe(self) -> str:
        """Its conditions in words."""
        if not self.conditions:
            return "always" if self.times != 1 else "queued reply"
        return ", ".join(f"{name} {condition.describe()}" for name, condition in self.conditions)


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """The rules in the order in which they are asked: by priority, then by registration."""
    return sorted(rules, key=lambda rule: (-rule.priority, rule.number))


def phase_matcher(spec: str) -> Regex | None:
    """The expression that finds a phase in a system prompt; its first group is the phase.

    Raises:
        MatchError: if it is not `/regex/` with a group.
    """
    if not spec:
        return None
    found = matcher(spec)
    if not isinstance(found, Regex) or found.groups == 0:
        raise MatchError(
            "a phase is found by an expression with a group", seen=spec, hint="write it like /Phase: (\\w+)/"
        )
    return found
