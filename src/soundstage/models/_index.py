"""Finding the rules that may match, so that ten thousand rules cost about as much as ten.

Every rule has at most one anchor: the condition that the fewest other rules share. Literal text is found by
one pass of an Aho-Corasick automaton over the text, names and numbers by a dictionary; a rule whose
conditions offer no anchor (regular expressions, functions, none at all) is always a candidate. Candidates
are then asked in rule order, so the index changes the cost and never the answer.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from soundstage.match import Contains, Equals, Matcher, Same
from soundstage.models._conditions import Facts
from soundstage.models._rule import Rule

FEW: Final = 16  # up to this many rules are simply asked one after the other
_TEXT: Final = frozenset({"user", "contains", "system"})
_NAMES: Final = frozenset({"agent", "previous_agent", "phase", "model"})
_NUMBERS: Final = frozenset({"iteration", "turn"})


class _Anchor(NamedTuple):
    field: str
    key: str | int


def _anchors(rule: Rule) -> Iterator[_Anchor]:
    for name, condition in rule.conditions:
        key = _key(name, condition)
        if key is not None:
            yield _Anchor(name, key)


def _key(name: str, condition: Matcher) -> str | int | None:
    if isinstance(condition, Contains) and name in _TEXT:
        return condition.text
    if isinstance(condition, Same) and name in _NAMES:
        return condition.folded
    if isinstance(condition, Equals) and name in _NUMBERS and isinstance(condition.value, int):
        return condition.value
    return None


class _TextIndex:
    """Literal texts of one condition, and the ranks of the rules that need them."""

    def __init__(self, ranks_by_text: dict[str, list[int]]) -> None:
        import ahocorasick_rs

        self._ranks = list(ranks_by_text.values())
        self._automaton = ahocorasick_rs.AhoCorasick(list(ranks_by_text))

    def find(self, text: str) -> Iterator[int]:
        seen = {match[0] for match in self._automaton.find_matches_as_indexes(text, overlapping=True)}
        for number in seen:
            yield from self._ranks[number]


class RuleIndex:
    """The rules in order, with a way to the few that a request may concern.

    Args:
        rules: in the order in which they are asked; a rule's rank is its place here.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._always: list[int] = []
        self._texts: dict[str, _TextIndex] = {}
        self._keys: dict[str, dict[str | int, list[int]]] = {}
        if len(rules) <= FEW:
            self._always = list(range(len(rules)))
        else:
            self._build(rules)

    def _build(self, rules: Sequence[Rule]) -> None:
        shared = Counter(anchor for rule in rules for anchor in _anchors(rule))
        grouped: dict[str, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        for rank, rule in enumerate(rules):
            anchor = min(_anchors(rule), key=lambda anchor: shared[anchor], default=None)
            if anchor is None:
                self._always.append(rank)
            else:
                grouped[anchor.field][anchor.key].append(rank)
        for field, ranks_by_key in grouped.items():
            if field in _TEXT:
                self._texts[field] = _TextIndex(ranks_by_key)
            else:
                self._keys[field] = dict(ranks_by_key)

    def candidates(self, facts: Facts) -> list[int]:
        """Ranks of the rules that may match, in order. Every rule that does match is among them."""
        if not self._texts and not self._keys:
            return self._always
        found = list(self._always)
        for field, index in self._texts.items():
            found.extend(index.find(facts.get(field) or ""))
        for field, ranks in self._keys.items():
            value = facts.get(field)
            found.extend(ranks.get(value.casefold() if isinstance(value, str) else value, ()))
        found.sort()
        return found

    def retire(self, rank: int) -> None:
        """A rule has served all its times; a queue of thousands stays fast when its head is taken off."""
        place = bisect.bisect_left(self._always, rank)
        if place < len(self._always) and self._always[place] == rank:
            self._always = self._always[:place] + self._always[place + 1 :] if place else self._always[1:]
