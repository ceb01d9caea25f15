"""Finding the rules that may match, so that ten thousand rules cost about as much as ten.

Every rule is filed under at most one anchor: the condition that the fewest other rules share. Literal text is
found by one pass of an Aho-Corasick automaton over the text, names and numbers by a dictionary. A rule whose
conditions offer no anchor (regular expressions, functions) is always a candidate.

Rules without a condition are a queue apart. The first of them that can still serve takes every request that
gets so far, so it is the last candidate, and a queue of thousands costs as much as one of two.

Candidates are asked in rule order, so the index changes the cost and never the answer.
"""

from __future__ import annotations

import bisect
import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from soundstage.match import AllOf, AnyOf, Contains, Equals, Matcher, OneMatches, Same
from soundstage.scripts._rule import Conditions, Rule

FEW: Final = 4  # up to this many rules are simply asked one after the other
_SHORT: Final = 64  # lists up to this length are sorted at once, longer ones are merged as far as needed

Key = str | int
Kinds = Mapping[str, Literal["text", "name", "number"]]
"""The values of conditions that may be anchors: a text, a name or names, a number."""


class Facts(Protocol):
    """The values that conditions look at, each worked out when it is first asked for."""

    @property
    def known(self) -> Mapping[str, Any]:
        """The values so far, by the name of the condition."""

    def get(self, name: str, /) -> Any:
        """The value that the condition `name` looks at."""


def holds(conditions: Conditions, facts: Facts) -> bool:
    """Whether all conditions hold."""
    return all(condition.matches(facts.get(name)) for name, condition in conditions)


class _Anchor(NamedTuple):
    """A condition that names what to look up: one key, or several of which one must be there."""

    field: str
    keys: tuple[Key, ...]


def _anchors(rule: Rule, kinds: Kinds) -> Iterator[_Anchor]:
    for name, condition in rule.conditions:
        keys = _keys(kinds[name], condition) if name in kinds else ()
        if keys:
            yield _Anchor(name, keys)


def _keys(kind: str, condition: Matcher) -> tuple[Key, ...]:
    """Texts of which a value must contain or equal one for `condition` to hold; none if that cannot be said."""
    if isinstance(condition, AnyOf):
        parts = [_keys(kind, part) for part in condition.parts]
        return tuple(key for keys in parts for key in keys) if all(parts) else ()
    if isinstance(condition, AllOf):
        return next((keys for part in condition.parts if (keys := _keys(kind, part))), ())
    if isinstance(condition, OneMatches):
        return _keys(kind, condition.part)
    key = _key(kind, condition)
    return () if key is None else (key,)


def _key(kind: str, condition: Matcher) -> Key | None:
    value = condition.value if isinstance(condition, Equals) else None
    if kind == "text":
        return _literal(condition)
    if kind == "name":
        return condition.folded if isinstance(condition, Same) else _folded(value)
    return value if type(value) is int else None


def _folded(name: Any) -> str | None:
    return name.casefold() if isinstance(name, str) else None


def _literal(condition: Matcher) -> str | None:
    """Text that a value must contain. The automaton takes UTF-8, so half a surrogate pair is no anchor."""
    text = condition.text if isinstance(condition, Contains) else None
    if isinstance(condition, Equals):
        text = condition.value
    return text if isinstance(text, str) and text and _encodable(text) else None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _TextIndex:
    """Literal texts of one condition, and the ranks of the rules that need them."""

    def __init__(self, ranks_by_text: dict[Any, list[int]]) -> None:
        import ahocorasick_rs

        self._ranks = list(ranks_by_text.values())
        self._automaton = ahocorasick_rs.AhoCorasick(list(ranks_by_text))

    def find(self, text: str | None) -> Iterable[list[int]]:
        if not text:
            return ()
        try:
            found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # half a surrogate pair in the request
            return self._ranks
        if len(found) == 1:
            return (self._ranks[found[0][0]],)
        seen = {match[0] for match in found}
        return [self._ranks[number] for number in seen]


class _KeyIndex:
    """Names or numbers of one condition, and the ranks of the rules that need them."""

    def __init__(self, ranks_by_key: dict[Any, list[int]]) -> None:
        self._ranks = dict(ranks_by_key)

    def find(self, value: Any) -> Iterable[list[int]]:
        keys = value if isinstance(value, list) else (value,)
        found = (self._ranks.get(key.casefold() if isinstance(key, str) else key) for key in keys)
        return [ranks for ranks in found if ranks]


class RuleIndex:
    """The rules in order, with a way to the few that a request may concern.

    Args:
        rules: in the order in which they are asked; a rule's rank is its place here.
        kinds: which conditions can be anchors, and of which kind.
        few: up to this many rules need no index.
    """

    def __init__(self, rules: Sequence[Rule], kinds: Kinds, *, few: int = FEW) -> None:
        self.rules = rules
        self._kinds = kinds
        self._all = list(range(len(rules))) if len(rules) <= few else []
        self._queue: deque[int] = deque()
        self._always: list[int] = []
        self._indexes: list[tuple[str, _TextIndex | _KeyIndex]] = []
        self._homes: dict[int, list[list[int]]] = {}  # rank -> the lists that hold it
        if not self._all:
            self._build(rules)

    def _build(self, rules: Sequence[Rule]) -> None:
        shared = Counter(
            (anchor.field, key)
            for rule in rules
            for anchor in _anchors(rule, self._kinds)
            for key in anchor.keys
        )
        filed: dict[str, dict[Key, list[int]]] = defaultdict(lambda: defaultdict(list))
        for rank, rule in enumerate(rules):
            if not rule.conditions:
                self._queue.append(rank)
                continue
            anchor = min(
                _anchors(rule, self._kinds),
                key=lambda it: sum(shared[it.field, key] for key in it.keys),
                default=None,
            )
            if anchor is None:
                homes = [self._always]
            else:
                homes = [filed[anchor.field][key] for key in dict.fromkeys(anchor.keys)]
            self._homes[rank] = homes
            for home in homes:
                home.append(rank)
        for field, ranks_by_key in filed.items():
            make = _TextIndex if self._kinds[field] == "text" else _KeyIndex
            self._indexes.append((field, make(ranks_by_key)))

    def candidates(self, facts: Facts, *, queue: bool = True) -> Iterable[int]:
        """Ranks of the rules that may match, in order. Every rule that does match is among them.

        Args:
            facts: what the request answers.
            queue: whether the request may be served by a rule without a condition. The first one that is
                left is then the last candidate, because it takes whatever comes to it.
        """
        if self._all:
            return self._all
        lists = [ranks for field, index in self._indexes for ranks in index.find(facts.get(field))]
        if self._always:
            lists.append(self._always)
        last = self._queue[0] if queue and self._queue else None
        if last is None and len(lists) == 1:
            return lists[0]
        if sum(map(len, lists)) > _SHORT:
            return _until(heapq.merge(*lists), last)
        found = sorted(rank for ranks in lists for rank in ranks)
        return found if last is None else [*found[: bisect.bisect_left(found, last)], last]

    def retire(self, rank: int) -> None:
        """A rule has served all its times: it is no candidate any more."""
        if self._queue and self._queue[0] == rank:
            self._queue.popleft()
        for home in self._homes.pop(rank, ()):
            place = bisect.bisect_left(home, rank)
            del home[place]


def _until(ranks: Iterable[int], last: int | None) -> Iterator[int]:
    """Ranks before `last`, then `last`; all of them if there is none."""
    for rank in ranks:
        if last is not None and rank > last:
            break
        yield rank
    if last is not None:
        yield last
