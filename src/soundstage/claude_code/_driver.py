"""The Claude Code driver: a throw-away home, the real CLI in it, and its sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from soundstage.claude_code._binary import find_cli
from soundstage.claude_code._cli import Cli
from soundstage.claude_code._environment import (
    claude_environment,
    configuration,
    refuse_stray_memories,
)
from soundstage.claude_code._hook_runs import Hooks
from soundstage.claude_code._options import SessionOptions, files_of, session_options
from soundstage.claude_code._plugins import Plugins
from soundstage.claude_code._session import CONTROL_WITHIN, WITHIN, ClaudeSession
from soundstage.claude_code._turn import ClaudeTurn
from soundstage.clock import IdSource
from soundstage.drivers import PROCESS, AnyIsolation, Sandbox, as_isolation
from soundstage.errors import InvalidStateError
from soundstage.journal import Journal
from soundstage.lifecycle import GRACE, Daemon
from soundstage.net import EgressProxy
from soundstage.worlds import Workspace


@runtime_checkable
class MessagesServer(Protocol):
    """The address of a Messages server, such as `soundstage.wire.ModelServer` has it."""

    @property
    def anthropic_url(self) -> str:
        """Its base URL."""
        ...


class ClaudeCode(Daemon):
    """The real Claude Code CLI, with its model scripted and everything else real.

    It runs in a home that is thrown away, with an environment built from nothing, and with every way out
    refused and recorded. `start` opens a session, unless told otherwise; `open` opens more of them in the same home.

    Args:
        journal: where its events go.
        server: a Messages server, or its base URL.
        workspace: the folder that it works in.
        cli: path of the CLI; looked for unless given.
        ids: where session ids come from. Sessions that share a server need one source, or ids of their own.
        proxy: a proxy that runs already; one of its own unless given.
        environment: variables that it gets besides the hermetic ones; they win.
        allow: names of our variables that it gets too.
        isolation: how far it is kept apart.
        grace: seconds that it gets after its input has ended, and again after SIGTERM.
        transcripts: a folder that gets a copy of each session's transcript at its end.
        opens: whether `start` opens a session. Without it plugins can be installed first, and the first `open` has
            them from its beginning.
        name: how messages and the journal call it.
        options: of the session; see `SessionOptions`.

    Raises:
        EnvironmentProblem: from `start`, if the CLI is not installed.
        ScriptError: for an option that does not exist.

    Example:
        ::

            claude = ClaudeCode(journal, server, workspace, permission_mode="acceptEdits")
            await claude.start()
            turn = await claude.prompt("fix the bug", within=60)
            assert not turn.is_error
            await claude.stop()
    """

    def __init__(
        self,
        journal: Journal,
        server: MessagesServer | str,
        workspace: Workspace | Path,
        *,
        cli: Path | str | None = None,
        ids: IdSource | None = None,
        proxy: EgressProxy | None = None,
        environment: Mapping[str, str] | None = None,
        allow: Iterable[str] = (),
        isolation: AnyIsolation = PROCESS,
        grace: float = GRACE,
        transcripts: Path | str | None = None,
        opens: bool = True,
        name: str = "claude-code",
        **options: Any,
    ) -> None:
        super().__init__(name, journal)
        self.isolation = as_isolation(isolation)
        self.options = session_options(SessionOptions(), options)
        self.sessions: list[ClaudeSession] = []
        self._sandbox = Sandbox(
            journal, proxy=proxy, extra=environment, allow=allow, isolation=self.isolation
        )
        self.plugins = Plugins(self._one_command, self._sandbox.needs)
        self.hooks = Hooks(self._one_command, self.plugins, self.options, lambda: self.home)
        self._server = server
        self._workspace = workspace
        self._wanted_cli = cli
        self._cli: Path | None = None
        self._ids = ids if ids is not None else IdSource()
        self._grace = grace
        self._transcripts = Path(transcripts) if transcripts is not None else None
        self._opens = opens

    @property
    def home(self) -> Path:
        """The throw-away home; the CLI's transcripts and settings are in `.claude` there."""
        return self._sandbox.home

    @property
    def session(self) -> ClaudeSession:
        """The first session; `start` has opened it."""
        if not self.sessions:
            hint = "start it first" if self._opens else "open() one first"
            raise InvalidStateError(f"{self.name} has no session", hint=hint)
        return self.sessions[0]

    async def _start(self) -> None:
        self._cli = find_cli(self._wanted_cli, isolation=self.isolation)
        refuse_stray_memories(self._folder())
        self._sandbox.needs(self._cli)
        await self._sandbox.open()
        try:
            (self._sandbox.home / ".claude.json").write_text(configuration())
            if self._opens:
                await self.open()
        except BaseException:
            await self._sandbox.close()
            raise

    async def _stop(self) -> None:
        async with AsyncExitStack() as last:  # runs all of it, in reverse, whatever one of them raises
            last.push_async_callback(self._sandbox.close)
            for session in self.sessions:
                last.push_async_callback(session.end)

    async def open(self, *, cwd: Path | None = None, **changes: Any) -> ClaudeSession:
        """Open a session in the same home, with some options changed: `resume=`, `model=`...

        Args:
            cwd: the folder that it works in; the workspace unless given.
            changes: options that are not those of the driver.

        Raises:
            ScriptError: for an option that does not exist.
        """
        if self._cli is None:
            raise InvalidStateError(f"{self.name} is {self.status.value}", hint="start it first")
        first = not self.sessions
        base = self.options if first else session_options(self.options, {"session_id": ""})
        options = session_options(base, changes)
        folder = self._folder(cwd)
        refuse_stray_memories(folder)
        self._sandbox.needs(*files_of(options))
        earlier = options.resume if not options.fork else ""
        session = ClaudeSession(
            self.journal,
            self._cli,
            options,
            session_id=earlier or options.session_id or self._ids.uuid(),
            cwd=folder,
            environment=self._environment(options),
            source=self.name if first else f"{self.name}-{len(self.sessions) + 1}",
            scratch=self._sandbox.root,
            isolator=self._sandbox.isolator,
            grace=self._grace,
            home=self.home,
            unseen=self._sandbox.unseen(),
            keep=self._transcripts,
        )
        self.sessions.append(session)
        await session.start()
        return session

    def environment(self) -> dict[str, str]:
        """All variables that the CLI gets in this home: for a client of its own, such as the Agent SDK.

        Raises:
            InvalidStateError: before `start`.
        """
        return self._environment(self.options)

    def _one_command(self, cwd: Path | None = None) -> Cli:
        """The CLI for commands such as `claude plugin list`, in the workspace or another folder."""
        if self._cli is None:
            raise InvalidStateError(f"{self.name} is {self.status.value}", hint="start it first")
        return Cli(
            self._cli,
            self.journal,
            source=self.name,
            cwd=self._folder(cwd),
            environment=self._environment(self.options),
            isolator=self._sandbox.isolator,
        )

    def _folder(self, cwd: Path | None = None) -> Path:
        """Where it works: a folder, or the workspace."""
        workspace = self._workspace if isinstance(self._workspace, Path) else self._workspace.root
        return (cwd or workspace).resolve()

    def _environment(self, options: SessionOptions) -> dict[str, str]:
        url = self._server if isinstance(self._server, str) else self._server.anthropic_url
        own = claude_environment(
            url,
            self._sandbox.temporary,
            permission_mode=options.permission_mode,
            root=os.geteuid() == 0,
            mcp_timeout=options.mcp_timeout,
        )
        git = {} if isinstance(self._workspace, Path) else self._workspace.environment(own_home=True)
        return self._sandbox.environment({**git, **own})

    async def prompt(self, text: str, *, within: float = WITHIN) -> ClaudeTurn:
        """Send a prompt to the first session; see `ClaudeSession.prompt`."""
        return await self.session.prompt(text, within=within)

    async def run_command(self, command: str, arguments: str = "", *, within: float = WITHIN) -> ClaudeTurn:
        """Run a slash command in the first session; see `ClaudeSession.run_command`."""
        return await self.session.run_command(command, arguments, within=within)

    async def interrupt(self, *, within: float = CONTROL_WITHIN) -> None:
        """Break off the turn of the first session; see `ClaudeSession.interrupt`."""
        await self.session.interrupt(within=within)

    async def end(self) -> int:
        """End the first session; its home stays until `stop`. Returns the exit code."""
        return await self.session.end()
