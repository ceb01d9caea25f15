"""Replay of MCP servers: a tape in the place of a server. Which line answers what says `_mcp_playback`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from soundstage.clock import IdSource
from soundstage.errors import TapeError
from soundstage.journal import Journal
from soundstage.mcp import INTERNAL_ERROR, LISTS, McpDaemon, McpMismatched, McpTool, RpcError, Served
from soundstage.tapes._exchange import HOW_TO_RECORD
from soundstage.tapes._mcp_line import McpTapeLine
from soundstage.tapes._mcp_playback import McpPlayed
from soundstage.tapes._playback import Playback, swapped
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import DivergenceError, Verdict

Json = dict[str, Any]


class PlayingBackend:
    """Plays the lines of one server.

    Args:
        server: the server that clients are connected to.
        playback: what is played.
    """

    def __init__(self, server: McpDaemon, playback: Playback) -> None:
        self._server = server
        self._playback = playback
        self._tape = playback.tape
        self._greeted = False

    @property
    def greets(self) -> bool:
        """Whether the handshake is on the tape."""
        return self._playback.mcp.greeting(self._server.name) is not None

    def has(self, method: str, params: Json) -> bool:
        """Whether a request is on the tape."""
        return self._playback.mcp.has(self._server.name, method, without_meta(params))

    async def initialize(self, params: Json) -> Json:
        """The recorded handshake; one that says little if there is none."""
        name = self._server.name
        greeting = self._playback.mcp.greeting(name)
        if greeting is not None and not self._greeted:
            self._greeted = True
            self._playback.mcp.keep(greeting)
        found = greeting.result if greeting is not None else None
        return found or {"capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "0"}}

    async def serve(self, method: str, params: Json) -> Served:
        """The recorded answer.

        Raises:
            RpcError: if that is an error, or the request is not on the tape.
        """
        asked, name = without_meta(params), self._server.name
        if method in LISTS and not self._playback.mcp.knows(name, method):
            tools = [McpTool(tool).as_json() for tool in self._playback.mcp.tools(name)]
            return Served({LISTS[method]: tools if method == "tools/list" else []})
        try:
            played = self._playback.mcp.take(name, method, asked)
        except DivergenceError as error:
            self._note(error.verdict, method, asked, 0)
            raise RpcError(INTERNAL_ERROR, f"not on the tape: {error.verdict.line}") from None
        if played.verdict is not None:
            self._note(played.verdict, method, asked, played.line.number)
        return self._served(played)

    def _served(self, played: McpPlayed) -> Served:
        line, *behind = map(self._here, (played.line, *played.told))
        self._playback.mcp.keep(line, *behind)
        for told in behind:
            self._server.tell_clients(told.method, told.params)
        if line.error is not None:
            code = line.error.get("code")
            raise RpcError(
                code if isinstance(code, int) else 0, str(line.error.get("message")), line.error.get("data")
            )
        return Served(line.result or {}, served_by=f"line {line.number} of the tape")

    def _here(self, line: McpTapeLine) -> McpTapeLine:
        """A line with the folders of this run in the place of the recorded ones."""
        return swapped(line, self._tape.head.places, self._playback.here)

    def _note(self, verdict: Verdict, method: str, params: Json, played: int) -> None:
        event = McpMismatched(method=method, params=params, reason=verdict.line, played=played)
        self._server.journal.append(event, source=self._server.name)


def without_meta(params: Json) -> Json:
    """The params of a request without what belongs to one client: ids of its calls, tokens for progress."""
    return {name: value for name, value in params.items() if name != "_meta"}


class ReplayMcpServer(McpDaemon):
    """A recorded server: answers from a tape.

    Args:
        journal: where everything goes.
        tape: a tape, or the file of one.
        strict: a call that is not on the tape is an error that `stop` raises; else the nearest call of the same tool
            is played, and `verdicts` has it.
        name: the server's on the tape; clients, messages and the journal call it so.
        playback: one that others play, too, in the place of `strict`; its owner judges.
        ids: where ids of HTTP sessions come from.
        port: 0 picks a free one.

    Raises:
        TapeError: if the tape cannot be read, or has nothing of this server.

    Example:
        ::

            server = ReplayMcpServer(journal, "notes.tape", strict=True, name="notes")
            await server.start()
            print(await my_agent(server.url))
            await server.stop()
    """

    def __init__(
        self,
        journal: Journal,
        tape: Tape | Path | str,
        *,
        strict: bool = False,
        name: str = "mcp",
        playback: Playback | None = None,
        ids: IdSource | None = None,
        port: int = 0,
    ) -> None:
        self.tape = tape if isinstance(tape, Tape) else Tape.load(tape)
        if name not in self.tape.mcp_servers:
            raise TapeError(
                f"the tape {self.tape.name} has nothing of an MCP server {name!r}",
                expected=", ".join(map(repr, self.tape.mcp_servers)) or "lines of MCP servers",
                seen=repr(name),
                hint=HOW_TO_RECORD,
            )
        self._strict = strict and playback is None
        self.playback = playback if playback is not None else Playback(self.tape, relaxed=not strict)
        super().__init__(journal, PlayingBackend(self, self.playback), name=name, ids=ids, port=port)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The divergences of this server so far."""
        return tuple(verdict for verdict in self.playback.verdicts if verdict.server == self.name)

    @property
    def unplayed(self) -> tuple[McpTapeLine, ...]:
        """The recorded exchanges that nobody has asked for."""
        return tuple(line for line in self.playback.mcp.unplayed if line.server == self.name)

    async def _stop(self) -> None:
        await super()._stop()
        if self._strict and self.verdicts:
            raise DivergenceError(self.verdicts[0])
