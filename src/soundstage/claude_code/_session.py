"""A session of Claude Code: prompts, slash commands, MCP servers, transcript; and the session used again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.claude_code._commands import SlashCommand, slash_commands, unknown_command
from soundstage.claude_code._events import TranscriptKept
from soundstage.claude_code._home import HomeState, changed
from soundstage.claude_code._protocol_client import CONTROL_WITHIN, WITHIN, ProtocolClient
from soundstage.claude_code._transcript import (
    Transcript,
    cost_so_far,
    keep_transcript,
    read_transcript,
)
from soundstage.claude_code._turn import ClaudeTurn
from soundstage.errors import AppError, InvalidStateError

__all__ = ["CONTROL_WITHIN", "WITHIN", "ClaudeSession", "SessionServer"]

_SAME: Final = ("permission_mode", "model", "tools", "commands", "agents", "skills", "mcp_servers", "plugins")


class SessionServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server of a session.

    Args:
        name: `plugin:demo:files` for the server `files` of the plugin `demo`.
        status: `connected`, `failed`, `pending`...
        error: why it failed.
        tools: what it offers, by the names that it gives them.
        version: what it says of itself.
    """

    name: str
    status: str
    error: str = ""
    tools: tuple[str, ...] = ()
    version: str = ""

    @property
    def prefix(self) -> str:
        """The beginning of the names of its tools for the model: `mcp__plugin_demo_files__`."""
        return f"mcp__{self.name.replace(':', '_')}__"


class ClaudeSession(ProtocolClient):
    """A running CLI. Made by `ClaudeCode.open`; also a context manager that ends it.

    Args:
        home: the throw-away home, where the transcript is.
        unseen: tells which folders have become needed that it does not see.
        keep: a folder that gets a copy of the transcript when the session ends.
    """

    def __init__(
        self,
        *args: Any,
        home: Path,
        unseen: Callable[[], tuple[Path, ...]] = tuple,
        keep: Path | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._home = home
        self._unseen = unseen
        if self.options.resume:
            self._cost = cost_so_far(home, self.options.resume)
        self._keep = keep
        self._kept: Transcript | None = None
        self._clean: HomeState | None = None

    async def prompt(self, text: str, *, within: float = WITHIN) -> ClaudeTurn:
        """Send a prompt, or a slash command, and wait for the result; see `ProtocolClient.prompt`."""
        if self._clean is None:
            self._clean = HomeState.of(self._home)  # before the agent can leave anything there
        return await super().prompt(text, within=within)

    # --- commands

    async def commands(self) -> tuple[SlashCommand, ...]:
        """The slash commands and skills that can be used now, with their descriptions. Asks no model."""
        answer = await self.control("initialize", within=WITHIN, **self._callbacks.registration())
        return slash_commands(answer.get("commands") or ())

    async def run_command(self, command: str, arguments: str = "", *, within: float = WITHIN) -> ClaudeTurn:
        """Run a slash command; `expansion` of the turn is what the model server received for it.

        Args:
            command: its name, with its plugin: `/agent-loop:explore`. Commands of plugins have no other one.
            arguments: what comes after it.
            within: seconds for the whole turn.

        Raises:
            AppError: if the session has no such command, or the CLI does not run it.
        """
        name = command.removeprefix("/")
        known = [found.name for found in await self.commands()]
        if name not in known:
            raise unknown_command(name, known)
        turn = await self.prompt(f"/{name} {arguments}".rstrip(), within=within)
        if turn.local_outcome:
            raise AppError(
                f"Claude Code did not run /{name}",
                expected="the command in a request to the model",
                seen=turn.text or turn.local_outcome,
                hint="a shell command in it needs `allowed-tools` in its front matter, or allowed_tools=",
            )
        return turn

    async def reload_plugins(self, *, within: float = WITHIN) -> tuple[SlashCommand, ...]:
        """Load what has been installed, enabled or changed since the session began; the commands there are now.

        What cannot be loaded is left out; `claude.plugins.list()` says why.

        Raises:
            InvalidStateError: if it runs in a container that does not have the folders of these plugins.
        """
        if unseen := self._unseen():
            raise InvalidStateError(
                "the session's container does not have these folders, and none can be added while it runs",
                seen="\n".join(map(str, unseen)),
                hint="add marketplaces before the session is opened (ClaudeCode(opens=False)), or open another one",
            )
        answer = await self.control("reload_plugins", within=within)
        return slash_commands(answer.get("commands") or ())

    async def mcp_servers(self, *, within: float = CONTROL_WITHIN) -> tuple[SessionServer, ...]:
        """The MCP servers of the session, with their tools, or why they are not connected."""
        answer = await self.control("mcp_status", within=within)
        return tuple(_server(item) for item in answer.get("mcpServers") or () if isinstance(item, dict))

    async def set_permission_mode(self, mode: str) -> None:
        """Change how it asks for permission, from the next tool on."""
        await self.control("set_permission_mode", mode=mode)

    # --- transcript

    def transcript(self) -> Transcript:
        """Return the CLI's own record of the session so far; after the end, all of it."""
        return self._kept if self._kept is not None else read_transcript(self._home, self.id)

    async def end(self) -> int:
        """End the CLI: close its input, and be less polite if that does not help. Returns its exit code.

        Its transcript stays readable.
        """
        try:
            return await super().end()
        finally:
            self._keep_transcript()

    def _keep_transcript(self) -> None:
        if self._kept is not None:
            return
        self._kept = read_transcript(self._home, self.id)
        copy = keep_transcript(self._home, self.id, self._keep) if self._keep is not None else None
        if self._kept.entries:
            kept = TranscriptKept(
                conversation=self.id,
                entries=len(self._kept.entries),
                subagents=len(self._kept.subagents),
                path=str(copy or ""),
            )
            self._log.append(kept, self._process.started_at)

    # --- used again

    async def fresh(self, *, within: float = WITHIN) -> None:
        """Begin a new conversation in the same process, for the next test, without the half second of a start.

        The conversation, its cost, the folder of the shell and what was read are gone with `/clear`. Model and
        permission mode are not, so they are put back. Then it is checked that the session consists of what it
        consisted of at its first prompt, and that nothing has been left in its home.

        The one trace of it: the first prompt afterwards carries three short blocks about `/clear`. Files of the
        workspace are the test's own affair.

        Raises:
            InvalidStateError: if something is not as it was; open another session then.
        """
        if not self._inits:
            return
        await self.control("set_permission_mode", within=within, mode=self.options.permission_mode)
        await self.prompt("/clear", within=within)
        if self._inits[-1].model != self._inits[0].model:
            await self.control("set_model", within=within, model=self._inits[0].model)
            await self.prompt("/clear", within=within)
        self._refuse_leaks()

    def _refuse_leaks(self) -> None:
        first, now = self._inits[0], self._inits[-1]
        leaks = [
            f"{name}: {getattr(first, name)!r} became {getattr(now, name)!r}"
            for name in _SAME
            if getattr(first, name) != getattr(now, name)
        ]
        state = HomeState.of(self._home)
        leaks += [f"its home: {path}" for path in changed(self._clean, state)]
        if leaks:
            raise InvalidStateError(
                "the session is not as it was, so it cannot be used again",
                expected="what it was at its first prompt",
                seen="\n".join(leaks),
                hint="end it and open another one",
            )


def _server(item: dict[str, Any]) -> SessionServer:
    info = item.get("serverInfo")
    return SessionServer(
        name=str(item.get("name", "")),
        status=str(item.get("status", "")),
        error=str(item.get("error") or ""),
        tools=tuple(str(tool.get("name", "")) for tool in item.get("tools") or () if isinstance(tool, dict)),
        version=str(info.get("version", "")) if isinstance(info, dict) else "",
    )
