"""The builder of an app: collects branches, a covenant, policies and daemons, and checks them as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from soundstage.agents._agent import AgentBranch
from soundstage.agents._app import AppDefinition, JournalApp, MakeDaemon
from soundstage.agents._console import LINE_FORMAT, ConsoleBranch
from soundstage.agents._covenant import Covenant
from soundstage.agents._discord import ChatGateway, DiscordBranch
from soundstage.agents._errors import CovenantError, CovenantProblem, SettingError
from soundstage.agents._manifest import BranchManifest, EntryRoute, type_name
from soundstage.agents._scope import Branch
from soundstage.agents._splitters import SplitPolicy
from soundstage.agents._transcript import TranscriptBuilder, build_transcript
from soundstage.agents._windowing import AGENT, CHAT, EntryFamily
from soundstage.agents._windows import WindowPolicy
from soundstage.errors import InvalidStateError
from soundstage.journal import Event

_BUILT_IN: Final = (CHAT, AGENT)


class AppBuilder:
    """Says what an app consists of. A sample exposes a function of it, which its tests call too.

    Of two settings for one thing the later one counts, so a test can change policies after the configuration.

    Example:
        >>> from soundstage.agents import ChatReceived, ChatReply
        >>> def configure(app):
        ...     echo = lambda said: ChatReply(text=said.text, sender="bot")
        ...     app.covenant().connect(app.use_console()).routes(lambda to: to.route(ChatReceived, ChatReply, echo))
        >>> app = AppBuilder().apply(configure).build()
    """

    def __init__(self) -> None:
        self._branches: dict[str, Branch] = {}
        self._families: list[EntryFamily] = []
        self._windows: dict[type[Event], WindowPolicy] = {}
        self._splitters: dict[type[Event], SplitPolicy] = {}
        self._makers: list[MakeDaemon] = []
        self._transcript: TranscriptBuilder = build_transcript
        self._covenant: Covenant | None = None

    def apply(self, configure: Callable[[AppBuilder], object]) -> Self:
        """Let a function configure this builder."""
        configure(self)
        return self

    def use_console(
        self, *, name: str = "console", sender: str = "user", line_format: str = LINE_FORMAT
    ) -> BranchManifest:
        """A console; see `ConsoleBranch`."""
        return self.use(ConsoleBranch(name=name, sender=sender, line_format=line_format))

    def use_agent(
        self,
        model: str,
        *,
        name: str = "agent",
        system: str = "",
        streaming: bool = False,
        history: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> BranchManifest:
        """An agent that answers prompts with a model; see `AgentBranch`."""
        branch = AgentBranch(
            model=model,
            name=name,
            system=system,
            streaming=streaming,
            history=history,
            settings=dict(settings or {}),
        )
        return self.use(branch)

    def use_discord(
        self,
        channel_id: int,
        *,
        name: str = "discord",
        gateway: ChatGateway | None = None,
        include_bots: bool | None = None,
    ) -> BranchManifest:
        """One channel of Discord; see `DiscordBranch`."""
        return self.use(
            DiscordBranch(channel_id=channel_id, name=name, gateway=gateway, include_bots=include_bots)
        )

    def use(self, branch: Branch) -> BranchManifest:
        """Any branch. Returns its manifest, for the covenant.

        Raises:
            SettingError: if the app has a branch of this name.
        """
        if branch.name in self._branches:
            raise SettingError(
                f"the app has two branches named {branch.name!r}", hint="give one of them another name="
            )
        self._branches[branch.name] = branch
        return branch.manifest

    def covenant(self) -> Covenant:
        """The covenant between the branches; connect them and declare the routes on it.

        Raises:
            InvalidStateError: when called twice; an app has one.
        """
        if self._covenant is not None:
            raise InvalidStateError(
                "this app has a covenant", hint="connect all branches to the one covenant"
            )
        self._covenant = Covenant()
        return self._covenant

    def with_daemon(self, make: MakeDaemon) -> Self:
        """A part written by hand, in the place of routes or beside them.

        Args:
            make: gets the `AppScope` of a run and makes the daemon, often a `Pump`.
        """
        self._makers.append(make)
        return self

    def with_family(self, family: EntryFamily) -> Self:
        """Windowing and drafts for entries of the app's own."""
        self._families.append(family)
        return self

    def with_window(self, chunk: type[Event], policy: WindowPolicy) -> Self:
        """When chunks of this type become an output: `with_window(AgentResponseChunk, ImmediateWindow())`."""
        self._windows[chunk] = policy
        return self

    def with_splitter(self, kind: type[Event], policy: SplitPolicy) -> Self:
        """How drafts of this type are cut, or the outputs that are made of chunks."""
        self._splitters[kind] = policy
        return self

    def with_transcript(self, build: TranscriptBuilder) -> Self:
        """Set the function that tells models about the conversation so far, in the place of `build_transcript`."""
        self._transcript = build
        return self

    def build(self) -> JournalApp:
        """The app, checked. It can be run any number of times.

        Raises:
            CovenantError: with everything that is wrong with the covenant.
            SettingError: if there is a policy for a type that has no use for one.
        """
        return JournalApp(
            AppDefinition(
                branches=tuple(self._branches.values()),
                families=self._with_policies(self._used_families()),
                splitters=dict(self._splitters),
                routes=self._routes(),
                makers=tuple(self._makers),
                transcript=self._transcript,
                terminals=() if self._covenant is None else self._covenant.terminals,
            )
        )

    def _used_families(self) -> list[EntryFamily]:
        """The families of the app's own, and those of ours that a branch has."""
        used = {branch.manifest.entries for branch in self._branches.values()}
        own = {family.entries for family in self._families}
        ours = [family for family in _BUILT_IN if family.entries in used - own]
        return [*ours, *self._families]

    def _with_policies(self, families: list[EntryFamily]) -> tuple[EntryFamily, ...]:
        windowings = [windowing for family in families for windowing in family.windowings]
        outputs = [windowing.output for windowing in windowings]
        drafts = [draft.draft for family in families for draft in family.drafts]
        _check_types("window", self._windows, [windowing.chunk for windowing in windowings])
        _check_types("split", self._splitters, [*drafts, *outputs])
        return tuple(self._set(family) for family in families)

    def _set(self, family: EntryFamily) -> EntryFamily:
        return family._replace(
            windowings=tuple(
                windowing._replace(
                    window=self._windows.get(windowing.chunk, windowing.window),
                    splitter=self._splitters.get(windowing.output, windowing.splitter),
                )
                for windowing in family.windowings
            )
        )

    def _routes(self) -> tuple[EntryRoute, ...]:
        if self._covenant is None:  # whether somebody reads what comes in is asked when the app starts
            return ()
        problems = (*self._covenant.problems(), *self._unconnected(self._covenant))
        if problems:
            raise CovenantError(problems)
        return self._covenant.build()

    def _unconnected(self, covenant: Covenant) -> list[CovenantProblem]:
        """Branches that nobody speaks to. Daemons written by hand may: that is asked when the app starts."""
        connected = {manifest.branch for manifest in covenant.manifests}
        left = [name for name in self._branches if name not in connected and not self._makers]
        return [
            CovenantProblem("unconnected", name, f"the branch {name!r} is used and not connected: connect it")
            for name in left
        ]


def _check_types(what: str, policies: Mapping[type[Event], object], known: list[type[Event]]) -> None:
    for kind in policies:
        if kind not in known:
            raise SettingError(
                f"there is a {what} policy for {type_name(kind)}, and nothing in this app uses it",
                expected="one of " + (", ".join(map(type_name, known)) or "none: no branch has such entries"),
                hint="use the branch that has these entries, or with_family() for your own",
            )


def configured_app(*functions: Callable[[AppBuilder], object]) -> JournalApp:
    """The app that its own `configure` functions describe, applied in order: later ones win.

    So a test takes the app's real configuration and swaps what it must.

    Raises:
        CovenantError: with everything that is wrong with the app's covenant.
        SettingError: if there is a policy for a type that has no use for one.

    Example:
        ::

            app = configured_app(my_app.configure, lambda app: app.with_window(ChatChunk, ImmediateWindow()))
            HostBuilder().with_console().with_app(app).run(body)
    """
    builder = AppBuilder()
    for configure in functions:
        builder.apply(configure)
    return builder.build()
