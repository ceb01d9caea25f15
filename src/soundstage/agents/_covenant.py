"""The covenant: which entries become which, declared once and checked as a whole before anything runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from soundstage.agents._errors import CovenantError, CovenantProblem
from soundstage.agents._manifest import BranchManifest, EntryRoute
from soundstage.agents._validate import CovenantDeclaration, find_problems
from soundstage.errors import InvalidStateError
from soundstage.journal import Event

S = TypeVar("S", bound=Event)
T = TypeVar("T", bound=Event)


class RouteBuilder:
    """Collects routes and terminals; the function given to `Covenant.routes` gets one."""

    def __init__(self) -> None:
        self.declared: list[EntryRoute] = []
        self.terminals: list[type[Event]] = []

    def route(self, source: type[S], target: type[T], transform: Callable[[S], T | Awaitable[T]], /) -> None:
        """Every entry of exactly `source` becomes one of exactly `target`.

        Args:
            source: a leaf type; entries of its subclasses are left alone.
            target: the leaf type that `transform` returns.
            transform: makes the one of the other; it may be asynchronous.
        """
        self.declared.append(EntryRoute(source, target, transform))

    def terminal(self, kind: type[Event], /) -> None:
        """Entries of this type go nowhere, on purpose. Harmless for a type that nobody produces."""
        self.terminals.append(kind)


class Covenant:
    """Connects branches by routes.

    | rule                  | what must hold                                                             |
    |-----------------------|----------------------------------------------------------------------------|
    | `unrouted`            | a produced type has a route or is terminal                                 |
    | `routed and terminal` | and not both                                                               |
    | `several routes`      | and not more than one route                                                |
    | `unfed`               | a consumed type, or one accepted in its place, is the target of a route    |
    | `unknown type`        | a route names types that connected branches list                           |
    | `two families`        | a type is listed under one family                                          |
    | `wrong family`        | which is its base class                                                    |
    | `circle`              | routes do not lead round in a circle                                       |
    | `no function`         | a route has a function                                                     |
    | `not an entry`        | manifests list classes of events                                           |
    | `same branch`         | each branch is connected once                                              |
    | `empty`               | there is a branch                                                          |
    | `unconnected`         | every branch of the app is connected (asked by `AppBuilder.build`)         |
    | `unread`              | what comes in has a reader (asked when the app starts)                     |

    Example:
        >>> from soundstage.agents import ChatEntry, ChatReceived, ChatReply
        >>> chat = BranchManifest("chat", ChatEntry, produces=(ChatReceived,), consumes=(ChatReply,))
        >>> echo = lambda said: ChatReply(text=said.text, sender="bot")
        >>> covenant = Covenant().connect(chat).routes(lambda to: to.route(ChatReceived, ChatReply, echo))
        >>> [route.name for route in covenant.build()]
        ['route ChatReceived -> ChatReply']
    """

    def __init__(self) -> None:
        self._manifests: list[BranchManifest] = []
        self._routes: RouteBuilder | None = None

    @property
    def terminals(self) -> tuple[type[Event], ...]:
        """Entries that go nowhere, on purpose."""
        return () if self._routes is None else tuple(self._routes.terminals)

    @property
    def manifests(self) -> tuple[BranchManifest, ...]:
        """The manifests of the connected branches."""
        return tuple(self._manifests)

    def connect(self, manifest: BranchManifest) -> Self:
        """Connect a branch.

        Raises:
            InvalidStateError: after `routes`.
        """
        if self._routes is not None:
            raise InvalidStateError(
                f"the branch {manifest.branch!r} is connected after the routes were declared",
                hint="connect all branches first, then call routes(...) once",
            )
        self._manifests.append(manifest)
        return self

    def routes(self, declare: Callable[[RouteBuilder], object]) -> Self:
        """Declare all routes and terminals: `declare` is called with an object that takes them.

        Raises:
            InvalidStateError: when called twice.
        """
        if self._routes is not None:
            raise InvalidStateError(
                "the routes of this covenant were declared before",
                hint="declare all of them in one function",
            )
        self._routes = RouteBuilder()
        declare(self._routes)
        return self

    def problems(self) -> tuple[CovenantProblem, ...]:
        """All that is wrong with it."""
        routes = self._routes if self._routes is not None else RouteBuilder()
        return find_problems(
            CovenantDeclaration(self.manifests, tuple(routes.declared), tuple(routes.terminals))
        )

    def build(self) -> tuple[EntryRoute, ...]:
        """The routes.

        Raises:
            CovenantError: with everything that is wrong.
        """
        problems = self.problems()
        if problems:
            raise CovenantError(problems)
        return tuple(self._routes.declared) if self._routes is not None else ()
