"""The state of one client of the harness, at three levels.

- Test: the projects that it has generated, the artifacts that it has captured.
- Session: its conversations, each with its own process, script, project and part of the journal.
- System: one throw-away home of Claude Code with the plugins in it, MCP servers and stubs. It outlives tests
  and sessions, and goes when that is asked for, or when the client goes.

Nothing is started before a tool needs it: a client that only asserts starts no process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from soundstage.claude_code import ClaudeCode, find_cli
from soundstage.claude_code._transcript import transcript_files
from soundstage.claude_code.harness._conversation import ConversationTurn, OpenConversation
from soundstage.claude_code.harness._models import ConversationModels
from soundstage.claude_code.harness._paths import Places, root_folder
from soundstage.claude_code.harness._stubs import ConfiguredServer, Stubs, declared_servers
from soundstage.claude_code.projects import reset_projects
from soundstage.clock import IdSource, SystemClock
from soundstage.drivers import PROCESS, AnyIsolation, as_isolation
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.host import Composition
from soundstage.journal import Journal, Noted
from soundstage.lifecycle import remove_tree
from soundstage.mcp import McpProcess
from soundstage.mcp.server import ToolUnavailable
from soundstage.worlds import Workspace

POLITE: Final = 0.5  # seconds for sessions to end by themselves; clients over stdio wait four for everything


class Harness:
    """The state of one client.

    Args:
        projects: where projects with a relative path go; it has to be there. Unless given, a folder that is
            made when it is needed.
        plugins: folders below which clients may name plugins, marketplaces and script files.
        artifacts: where artifacts go; as for `projects`.
        number: which client of this server it is; ids follow from it.
        cli: path of the CLI; looked for unless given.
        peers: all clients of this server that are connected.
        isolation: how far Claude Code and the MCP servers are kept apart.
    """

    def __init__(
        self,
        *,
        projects: Path | None = None,
        plugins: Sequence[Path] = (),
        artifacts: Path | None = None,
        number: int = 1,
        cli: Path | str | None = None,
        peers: set[Harness] | None = None,
        isolation: AnyIsolation = PROCESS,
    ) -> None:
        self.isolation = as_isolation(isolation)
        self._projects = projects
        self._artifacts = artifacts
        self._peers = peers if peers is not None else set()
        self._peers.add(self)
        self.places = Places(lambda: self.projects, plugins, self._worked_in)
        self.ids = IdSource(number)
        self.journal = Journal(clock=SystemClock(), run=f"mcp-{number}")
        self.models = ConversationModels()
        self.made: list[Path] = []
        self.gone: list[Path] = []  # projects that the last reset has removed
        self.began = 0  # the position of the journal at which the test began
        self.stubs = Stubs(self.journal)
        self.servers: dict[str, McpProcess] = {}
        self.conversations: dict[str, OpenConversation] = {}
        self.answers: dict[str, ConversationTurn] = {}
        self._cli = cli
        self._lock = asyncio.Lock()
        self._closing = asyncio.Lock()
        self._claude: ClaudeCode | None = None
        self._scratch_projects: Workspace | None = None
        self._system = AsyncExitStack()

    # --- test

    @property
    def projects(self) -> Path:
        """Where projects with a relative path go.

        Raises:
            ScriptError: if that folder was chosen, and is not there.
        """
        return root_folder("projects", self._projects)

    @property
    def artifacts(self) -> Path:
        """Where artifacts go. Raises what `projects` raises."""
        return root_folder("artifacts", self._artifacts)

    def _worked_in(self) -> list[Path]:
        """The projects of open conversations, of all clients."""
        return [one.project for peer in self._peers for one in peer.conversations.values()]

    def remove_projects(self) -> None:
        """Remove the projects that were generated: all below `projects`, but those of clients that are here."""
        mine = [project for project in self.made if project.is_dir()]
        others = [project for peer in self._peers - {self} for project in peer.made if project.is_dir()]
        for project in mine:
            remove_tree(project)
        self.gone, self.made = self.made, []
        root = self.projects
        if not any(project.is_relative_to(root) for project in others):
            reset_projects(root)

    async def reset(self, *, system: bool) -> None:
        """Begin the next test: end conversations, forget stubs, answers and what was put on record, remove projects.

        Args:
            system: throw the home away too, with its plugins, and the servers.
        """
        await self.end_all()
        await self.stubs.close()
        if system:
            await self.end_system()
        self.began = len(self.journal)
        await asyncio.to_thread(self.remove_projects)

    async def left(self) -> dict[str, list[str]]:
        """The projects of this client, its sessions and volumes that are there, by name."""
        projects = await asyncio.to_thread(lambda: [str(path) for path in self.gone if path.exists()])
        return {
            "projects": projects,
            "volumes": await self._volumes(),
            "sessions": list(self.conversations),
        }

    async def _volumes(self) -> list[str]:
        """The volumes of this server that the isolation level still has, after it was told to remove them."""
        return await self.isolation.remove_volumes()

    # --- session

    def conversation(self, session_id: str) -> OpenConversation:
        """An open conversation of this client.

        Raises:
            ScriptError: if there is none with this id.
        """
        found = self.conversations.get(session_id)
        if found is None:
            raise ScriptError(
                "there is no such conversation",
                expected="one of " + (", ".join(self.conversations) or "none: no conversation is open"),
                seen=repr(session_id),
                hint="start_conversation returns a session id; it is gone after end_conversation",
            )
        return found

    def answer(self, identity: str, kind: str) -> ConversationTurn:
        """Return the outcome of a prompt or a command.

        Raises:
            ScriptError: if there is none with this id.
        """
        found = self.answers.get(identity)
        if found is None or bool(found.command) != (kind == "command"):
            raise ScriptError(
                f"there is no such {kind}",
                expected=f"a {kind} id that this connection was given",
                seen=repr(identity),
                hint="execute_command returns command ids, send_prompt returns response ids",
            )
        return found

    def keep(self, answer: ConversationTurn) -> None:
        """Keep what a prompt or a command came to."""
        self.conversation(answer.session_id).answers.append(answer)
        self.answers[answer.id] = answer

    async def end(self, conversation: OpenConversation) -> int:
        """End a conversation. Returns the exit code of its process."""
        self.conversations.pop(conversation.id, None)
        self.models.remove(conversation.id)
        return await conversation.session.end()

    async def end_all(self) -> None:
        """End all conversations, at the same time, and forget what they have said."""
        ending = [self.end(conversation) for conversation in self.conversations.values()]
        ended = await asyncio.gather(*ending, return_exceptions=True)
        self.answers.clear()
        for problem in ended:
            if isinstance(problem, BaseException):
                raise problem

    def transcripts(self, session_id: str) -> dict[str, bytes]:
        """The CLI's own transcripts of a conversation, its subagents' too, by name."""
        return transcript_files(self._claude.home, session_id) if self._claude is not None else {}

    # --- system

    async def claude(self) -> ClaudeCode:
        """Claude Code in its throw-away home; started when it is needed for the first time.

        Raises:
            ToolUnavailable: if the CLI is not installed.
        """
        async with self._lock:
            if self._claude is None:
                self._claude = await self._start()
            return self._claude

    @property
    def started(self) -> bool:
        """Whether Claude Code has been needed so far."""
        return self._claude is not None

    @property
    def scratch_projects(self) -> Path:
        """Where sessions that bring no project get a folder each; it goes with the home."""
        if self._scratch_projects is None:
            raise ScriptError("Claude Code has not been started", hint="await harness.claude() first")
        return self._scratch_projects.root

    async def _start(self) -> ClaudeCode:
        try:
            cli = find_cli(self._cli, isolation=self.isolation)
        except EnvironmentProblem as error:
            raise ToolUnavailable(
                error.summary, expected=error.expected, seen=error.seen, hint=error.hint
            ) from None
        parts = Composition(self.journal, ids=self.ids)
        server, scratch = parts.serve(self.models), parts.add(Workspace, name="scratch-projects")
        options: dict[str, Any] = {"cli": cli, "ids": self.ids, "isolation": self.isolation, "opens": False}
        claude = parts.add(lambda journal: ClaudeCode(journal, server, scratch, **options))
        await parts.start()
        self._system.push_async_callback(parts.stop)
        self._scratch_projects = scratch
        return claude

    async def declared_servers(self, *folders: Path) -> list[ConfiguredServer]:
        """The MCP servers of the installed plugins, and of plugins in `folders`."""
        installed = await self._claude.plugins.list() if self._claude is not None else ()
        enabled = [Path(plugin.folder) for plugin in installed if plugin.enabled]
        return declared_servers([*enabled, *folders])

    def server(self, server_id: str) -> McpProcess:
        """An MCP server that this client has started.

        Raises:
            ScriptError: if there is none with this id.
        """
        found = self.servers.get(server_id)
        if found is None:
            raise ScriptError(
                "there is no such MCP server",
                expected="one of " + (", ".join(self.servers) or "none: no server has been started"),
                seen=repr(server_id),
                hint="start_mcp_server returns a server id; it is gone after stop_mcp_server",
            )
        return found

    async def end_system(self) -> None:
        """Throw the home away, with plugins, servers and stubs; the next tool that needs one gets a new one."""
        async with self._lock:
            self._claude, self._scratch_projects = None, None
            system, self._system = self._system, AsyncExitStack()
            servers, self.servers = self.servers, {}
            system.push_async_callback(self.stubs.close)
            for server in servers.values():
                system.push_async_callback(server.stop)
            await system.aclose()

    async def close(self) -> None:
        """End everything. What has been generated and captured stays. Who calls it again waits for the first."""
        async with self._closing:
            try:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLITE):
                        await self.end_all()
            finally:
                await self.end_system()
                self._peers.discard(self)

    def resolve(self, kind: type[Any], text: Any) -> Any:
        """The path that the client names; see `Places.resolve`."""
        return self.places.resolve(kind, text)

    def note_failure(self, tool: str, error: BaseException) -> None:
        """Put on record that a tool has failed."""
        data = {"tool": tool, "error": f"{type(error).__name__}: {error}"}
        self.journal.append(Noted(text="a tool failed", data=data), source="mcp-server")
