"""Rules that can never fire, found before the script is used. Pure.

A rule is shadowed when an earlier rule without a limit matches everything that it matches: every condition of
the earlier rule is implied by one of the later rule's. Implication is decided where it is certain (the same
condition, or literal text that contains the other's), so a report is never wrong, though some shadows are
not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from soundstage.match import Anything, Contains, Matcher, OnPart, Same
from soundstage.scripts._rule import Rule

MANY: Final = 6  # conditions; beyond this, combinations are not tried
PAIRWISE: Final = 400  # rules; up to this many, text within text is looked for too


class Shadowed(NamedTuple):
    """A rule that can never fire, and the rule that always comes first."""

    rule: Rule
    by: Rule

    @property
    def message(self) -> str:
        """One sentence that names both."""
        mine, its = self.rule.priority, self.by.priority
        why = f", because its priority {its} is above {mine}" if its > mine else ""
        return f"{self.rule.label} can never fire: {self.by} comes first{why}"


def shadowed(rules: Sequence[Rule]) -> list[Shadowed]:
    """The rules that can never fire.

    Args:
        rules: in the order in which they are asked.
    """
    hiding: dict[frozenset[tuple[str, Matcher]], Rule] = {}
    found = []
    for place, rule in enumerate(rules):
        hider = _by_same_conditions(rule, hiding)
        if hider is None and len(rules) <= PAIRWISE:
            hider = next((earlier for earlier in rules[:place] if _implies(rule, earlier)), None)
        if hider is not None:
            found.append(Shadowed(rule, hider))
        elif rule.times is None:
            hiding.setdefault(frozenset(_restrictions(rule)), rule)
    return found


def _restrictions(rule: Rule) -> list[tuple[str, Matcher]]:
    """The conditions that a request can fail."""
    return [condition for condition in rule.conditions if not isinstance(condition[1], Anything)]


def _by_same_conditions(rule: Rule, hiding: dict[frozenset[tuple[str, Matcher]], Rule]) -> Rule | None:
    return next((hiding[subset] for subset in _subsets(rule) if subset in hiding), None)


def _subsets(rule: Rule) -> Iterator[frozenset[tuple[str, Matcher]]]:
    if len(rule.conditions) > MANY:
        yield frozenset(rule.conditions)
        return
    for size in range(len(rule.conditions) + 1):
        for chosen in combinations(rule.conditions, size):
            yield frozenset(chosen)


def _implies(later: Rule, earlier: Rule) -> bool:
    """Whether `earlier` serves for ever and matches whatever `later` matches."""
    if earlier.times is not None:
        return False
    return all(
        any(name == other and _covers(condition, stricter) for other, stricter in later.conditions)
        for name, condition in _restrictions(earlier)
    )


def _covers(wide: Matcher, narrow: Matcher) -> bool:
    if isinstance(wide, OnPart) and type(wide) is type(narrow):
        return _covers(wide.part, narrow.part)
    if isinstance(wide, Contains) and isinstance(narrow, Contains):
        return wide.text in narrow.text
    if isinstance(wide, Same) and isinstance(narrow, Same):
        return wide.folded == narrow.folded
    return wide == narrow
