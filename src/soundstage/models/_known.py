"""Names in rules, held against the names that somebody knows: a team its agents, phases and tools. Pure.

A rule for an agent that there is not can never fire, and says nothing. So whoever knows the names tells the script
(`Script.bind`), and a rule with another one is refused, at once or when it is added. A script may serve several teams:
a name is known if one of them has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from soundstage.errors import UnknownNameError, did_you_mean
from soundstage.match import Contains, Equals, Fields, Matcher, OneMatches, Regex, Same
from soundstage.models._conditions import leaves
from soundstage.models._identify import ROUTERS, AgentSpec
from soundstage.models._reply import Reply
from soundstage.scripts import Rule

Kind = Literal["agent", "phase", "tool", "header"]

# condition -> the kind of name that it asks for
_ASKED: Final[dict[str, Kind]] = {
    "agent": "agent",
    "previous_agent": "agent",
    "after_agent": "agent",
    "phase": "phase",
    "continue_to_phase": "phase",
    "tool": "tool",
    "after_tool": "tool",
    "previous_tool_calls": "tool",
    "header": "header",
}


class UnknownName(NamedTuple):
    """A name in a rule that nobody has."""

    rule: Rule
    condition: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


class KnownNames:
    """The names that there are, by kind; a kind that nobody has told of is not looked at."""

    def __init__(self) -> None:
        self.owners: list[str] = []
        self._names: dict[Kind, dict[str, None]] = {}

    def add(self, owner: str, names: Mapping[Kind, Iterable[str] | None]) -> None:
        """Take up the names that `owner` knows; None: it knows nothing of that kind."""
        if owner not in self.owners:
            self.owners.append(owner)
        for kind, found in names.items():
            if found is not None:
                self._names.setdefault(kind, {}).update(dict.fromkeys(found))

    def unknown(self, rules: Sequence[Rule], agents: Sequence[AgentSpec] = ()) -> list[UnknownName]:
        """The names in `rules` that nobody has.

        Args:
            rules: all of the script, because their calls have ids that `after_tool` may name.
            agents: those that the script itself declares.
        """
        ids = [call_id for rule in rules for call_id in _call_ids(rule)]
        routers = ROUTERS | {spec.name.casefold() for spec in agents if spec.router}
        declared = [spec.name for spec in agents]
        found = []
        for rule in rules:
            for condition, matcher in rule.conditions:
                kind = _ASKED.get(condition)
                known = self._names.get(kind) if kind is not None else None
                if kind is None or known is None:
                    continue
                names = [*known, *declared] if kind == "agent" else list(known)
                if condition == "previous_agent":
                    names = [name for name in names if name.casefold() not in routers]
                accepted = [*names, *ids] if condition == "after_tool" else names
                for asked in _strangers(matcher, accepted):
                    found.append(UnknownName(rule, condition, _told(condition, kind, asked, names, routers)))
        return found

    def check(
        self, rules: Sequence[Rule], agents: Sequence[AgentSpec] = (), *, only: Collection[Rule] | None = None
    ) -> None:
        """Refuse names that nobody has.

        Args:
            rules: all of the script.
            agents: those that it declares.
            only: the rules to look at; all, unless given.

        Raises:
            UnknownNameError: with every one of them, and the nearest that there is.
        """
        found = [one for one in self.unknown(rules, agents) if only is None or one.rule in only]
        if not found:
            return
        rule = found[0].rule
        one = f"{rule} names what there is not: {found[0].message}"
        raise UnknownNameError(
            one if len(found) == 1 else f"{len(found)} names in rules are those of nobody",
            expected=f"names that {', '.join(self.owners)} know" + ("s" if len(self.owners) == 1 else ""),
            seen="" if len(found) == 1 else "\n".join(map(str, found)),
            hint="correct the names; an agent that is not of the team is declared: script.agent(name, system=...)",
        )


def _told(condition: str, kind: Kind, asked: str, names: Sequence[str], routers: Iterable[str]) -> str:
    if condition == "previous_agent" and asked.casefold() in routers:
        return f"previous_agent is never {asked!r}, because a router does not count"
    if not names:
        return f"{condition} {asked!r}: there are no {kind}s at all"
    near = did_you_mean(asked, names)
    there = f"there is no {kind} {asked!r}; there are {', '.join(names)}"
    return f"{there}; {near}" if near else there


def _strangers(matcher: Matcher, names: Sequence[str]) -> Iterator[str]:
    """The names that a condition asks for, also under a `not`, without those in `names`."""
    if isinstance(matcher, OneMatches):
        yield from _strangers(matcher.part, names)
    elif isinstance(matcher, Fields):
        held = {name.casefold() for name in names}
        yield from (name for name in matcher.fields if name.casefold() not in held)
    else:
        for leaf in leaves(matcher):
            if isinstance(leaf, OneMatches):
                yield from _strangers(leaf.part, names)
                continue
            text = _WRITTEN.get(type(leaf), _nothing)(leaf)
            if text is not None and not any(map(leaf.matches, names)):
                yield text


def _nothing(_: Matcher) -> None:
    return None


_WRITTEN: Final[dict[type[Matcher], Callable[[Matcher], str | None]]] = {
    Same: lambda leaf: leaf.text,  # type: ignore[attr-defined]
    Contains: lambda leaf: leaf.text,  # type: ignore[attr-defined]
    Regex: lambda leaf: leaf.describe(),
    Equals: lambda leaf: leaf.value,  # type: ignore[attr-defined]
}


def _call_ids(rule: Rule) -> Iterator[str]:
    """The ids that a rule's calls are given; what a function will call nobody knows."""
    if isinstance(rule.reply, Reply):
        for block in rule.reply.ordered_blocks:
            if block.tool_call is not None and block.tool_call.id:
                yield block.tool_call.id
