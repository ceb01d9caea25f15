"""Rules: what is answered, and when. Plain records.

Rules go by priority, then by registration; a rule serves `times` and then steps aside. An answer that is queued is a
rule without a condition that serves once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from soundstage.match import Matcher

SHOWN: Final = 300  # characters of conditions, in each answer of a journal

Conditions = tuple[tuple[str, Matcher], ...]


class Rule(NamedTuple):
    """One rule, ready to use.

    Args:
        number: which one of its script it is, from 1.
        conditions: what is looked at, by name, and what must hold of it.
        reply: the answer, or the function that makes it.
        priority: higher ones are asked first; equal ones in the order of registration.
        times: how often it serves; without limit unless given.
        name: how messages call it.
        where: `file:line`, if it has one.
    """

    number: int
    conditions: Conditions
    reply: Any
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
        """The source of an answer in traces: the rule, and the conditions that were met."""
        words = self.describe()
        return f"{self.label} [{words if len(words) <= SHOWN else words[: SHOWN - 1] + '…'}]"

    def describe(self) -> str:
        """Its conditions in words."""
        return described(self.conditions) or ("always" if self.times != 1 else "queued reply")

    def __str__(self) -> str:
        return f"{self.label} [{self.describe()}]"


def described(conditions: Conditions) -> str:
    """Conditions in words."""
    return ", ".join(f"{name} {condition.describe()}" for name, condition in conditions)


def in_order(rules: Iterable[Rule]) -> list[Rule]:
    """The rules in the order in which they are asked: by priority, then by registration."""
    return sorted(rules, key=lambda rule: (-rule.priority, rule.number))
