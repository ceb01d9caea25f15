"""The rules of a covenant. Pure: manifests, routes and terminals in, problems out.

Each rule is a function that yields every problem of its kind, and all rules are always asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from soundstage.agents._errors import CovenantProblem
from soundstage.agents._manifest import BranchManifest, EntryRoute, type_name
from soundstage.journal import Event


class CovenantDeclaration(NamedTuple):
    """Everything that a covenant declares."""

    manifests: tuple[BranchManifest, ...]
    routes: tuple[EntryRoute, ...]
    terminals: tuple[type[Event], ...]

    @property
    def listed(self) -> list[tuple[BranchManifest, Any]]:
        """Every type that a manifest names, each once for a manifest."""
        return [(manifest, kind) for manifest in self.manifests for kind in dict.fromkeys(manifest.listed)]

    @property
    def known(self) -> frozenset[Any]:
        return frozenset(kind for _, kind in self.listed)

    @property
    def produced(self) -> list[Any]:
        """In the order of the manifests."""
        return list(dict.fromkeys(kind for manifest in self.manifests for kind in manifest.produces))


def find_problems(declared: CovenantDeclaration) -> tuple[CovenantProblem, ...]:
    """All that is wrong, in the order of the rules."""
    return tuple(
        CovenantProblem(rule, subject, message)
        for rule, check in RULES.items()
        for subject, message in check(declared)
    )


Found = Iterator[tuple[str, str]]


def _empty(declared: CovenantDeclaration) -> Found:
    if not declared.manifests:
        yield "covenant", "no branch is connected: call connect(manifest) for each before routes(...)"


def _same_branch(declared: CovenantDeclaration) -> Found:
    names = [manifest.branch for manifest in declared.manifests]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield name, f"the branch {name!r} is connected {names.count(name)} times: give each its own name"


def _not_an_entry(declared: CovenantDeclaration) -> Found:
    for manifest, kind in declared.listed:
        if not _is_entry(kind):
            yield type_name(kind), f"{manifest.branch!r} lists {type_name(kind)}, which is no class of events"


def _wrong_family(declared: CovenantDeclaration) -> Found:
    for manifest, kind in declared.listed:
        if _is_entry(kind) and not issubclass(kind, manifest.entries):
            yield (
                kind.__name__,
                f"{manifest.branch!r} lists {kind.__name__}, which is no {type_name(manifest.entries)}",
            )


def _two_families(declared: CovenantDeclaration) -> Found:
    homes: dict[Any, dict[Any, str]] = {}
    for manifest, kind in declared.listed:
        homes.setdefault(kind, {}).setdefault(manifest.entries, manifest.branch)
    for kind, families in homes.items():
        if len(families) > 1:
            where = " and ".join(f"{type_name(home)} by {branch!r}" for home, branch in families.items())
            yield type_name(kind), f"{type_name(kind)} is listed as an entry of {where}: it has one family"


def _unknown(declared: CovenantDeclaration) -> Found:
    ends = (
        (route, end, kind)
        for route in declared.routes
        for end, kind in (("begins at", route.source), ("leads to", route.target))
    )
    for route, end, kind in ends:
        if kind not in declared.known:
            yield (
                type_name(kind),
                f"{route.name} {end} {type_name(kind)}, which no connected branch lists",
            )


def _no_function(declared: CovenantDeclaration) -> Found:
    for route in declared.routes:
        function: Any = route.transform
        if not callable(function):
            yield (
                type_name(route.source),
                f"{route.name} needs a function from one to the other, got {function!r}",
            )


def _several_routes(declared: CovenantDeclaration) -> Found:
    targets: dict[Any, list[str]] = {}
    for route in declared.routes:
        targets.setdefault(route.source, []).append(type_name(route.target))
    for kind, names in targets.items():
        if len(names) > 1:
            yield (
                type_name(kind),
                f"{type_name(kind)} has {len(names)} routes, to {', '.join(names)}: keep one",
            )


def _unrouted(declared: CovenantDeclaration) -> Found:
    routed = {route.source for route in declared.routes}
    for kind in declared.produced:
        if kind not in routed and kind not in declared.terminals:
            name = type_name(kind)
            yield name, f"{name} is produced and goes nowhere: add route({name}, ...) or terminal({name})"


def _routed_and_terminal(declared: CovenantDeclaration) -> Found:
    for kind in dict.fromkeys(route.source for route in declared.routes):
        if kind in declared.terminals:
            yield type_name(kind), f"{type_name(kind)} has a route and is terminal too: keep one of them"


def _unfed(declared: CovenantDeclaration) -> Found:
    targets = {route.target for route in declared.routes}
    for manifest in declared.manifests:
        for kind in dict.fromkeys(manifest.consumes):
            if not targets.intersection((kind, *manifest.accepts)):
                instead = ", ".join(map(type_name, manifest.accepts))
                yield (
                    type_name(kind),
                    f"{manifest.branch!r} consumes {type_name(kind)} and no route leads to it"
                    + (f" (or to one of {instead})" if instead else ""),
                )


def _circle(declared: CovenantDeclaration) -> Found:
    """Entries that turn into each other for ever would fill the journal and never let time move on."""
    steps: dict[Any, list[Any]] = {}
    for route in declared.routes:
        steps.setdefault(route.source, []).append(route.target)
    for manifest in declared.manifests:
        for kind in manifest.accepts:  # the branch itself turns them into what it consumes
            steps.setdefault(kind, []).extend(manifest.consumes)
    told: set[frozenset[Any]] = set()
    for start in dict.fromkeys(route.source for route in declared.routes):
        path = _way_back(start, steps)
        if path and frozenset(path) not in told:
            told.add(frozenset(path))
            names = " -> ".join(map(type_name, (*path, start)))
            yield type_name(start), f"these entries turn into each other for ever: {names}"


def _way_back(start: Any, steps: dict[Any, list[Any]]) -> list[Any]:
    """The shortest way from `start` to itself, without its end; empty if there is none."""
    ways: list[list[Any]] = [[start]]
    seen: set[Any] = set()
    for way in ways:
        for kind in steps.get(way[-1], ()):
            if kind is start:
                return way
            if kind not in seen:
                seen.add(kind)
                ways.append([*way, kind])
    return []


def _is_entry(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Event)


# the name of a rule -> what finds where it is broken
RULES: Final[dict[str, Callable[[CovenantDeclaration], Found]]] = {
    "empty": _empty,
    "same branch": _same_branch,
    "not an entry": _not_an_entry,
    "wrong family": _wrong_family,
    "two families": _two_families,
    "unknown type": _unknown,
    "no function": _no_function,
    "several routes": _several_routes,
    "unrouted": _unrouted,
    "routed and terminal": _routed_and_terminal,
    "unfed": _unfed,
    "circle": _circle,
}
