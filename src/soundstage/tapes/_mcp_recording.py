"""Recording of MCP servers: one of ours before a real one. What passes is in the journal, and on a tape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from soundstage.clock import Clock, IdSource
from soundstage.errors import AppError, WaitTimeout
from soundstage.journal import Journal
from soundstage.mcp import INTERNAL_ERROR, McpDaemon, RpcError, Served, Upstream
from soundstage.tapes._mcp_line import McpTapeLine
from soundstage.tapes._mcp_replay import PlayingBackend, without_meta
from soundstage.tapes._playback import Playback
from soundstage.tapes._tape import Tape

Json = dict[str, Any]


class _RecordingBackend:
    """Plays what is on the tape, if it has a playback; asks a real server else, and records what it says."""

    def __init__(
        self, server: RecordingMcpServer, clock: Clock, within: float, played: PlayingBackend | None
    ) -> None:
        self._server = server
        self._upstream = server.upstream
        self._clock = clock
        self._begun = clock.now()
        self._within = within
        self._played = played
        self._greeted = False

    async def initialize(self, params: Json) -> Json:
        if self._played is not None and self._played.greets:
            return await self._played.initialize(params)
        before = self._clock.now()
        try:
            found = dict(await self._upstream.handshake(within=self._within))
        except (AppError, WaitTimeout) as error:
            raise self._failed(error) from None
        found.pop("protocolVersion", None)
        if not self._greeted:
            self._greeted = True
            self._keep("initialize", {}, before, result=found)
        return found

    async def serve(self, method: str, params: Json) -> Served:
        if self._played is not None and self._played.has(method, params):
            return await self._played.serve(method, params)
        asked, before = without_meta(params), self._clock.now()
        try:
            result = await self._upstream.request(method, asked, within=self._within)
        except RpcError as error:
            self._keep(method, asked, before, error=error.as_json())
            raise
        except (AppError, WaitTimeout) as error:
            raise self._failed(error) from None
        self._keep(method, asked, before, result=result)
        return Served(result, served_by="the real server")

    def _failed(self, error: AppError | WaitTimeout) -> RpcError:
        """The real server is wrong: the client learns it, no tape does."""
        self._server.unreachable.append(f"{error.summary}: {error.seen}" if error.seen else error.summary)
        return RpcError(INTERNAL_ERROR, error.summary)

    def _keep(self, method: str, params: Json, before: float, **answer: Any) -> None:
        line = McpTapeLine(
            method=method,
            params=params,
            timestamp=self._clock.wall().isoformat(),
            started_ms=_milliseconds(before - self._begun),
            latency_ms=_milliseconds(self._clock.now() - before),
            **answer,
        )
        self._server.keep(line)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


class RecordingMcpServer(McpDaemon):
    """Stands before a real server: passes everything on, journals it and records it.

    Stubs and faults work here too, so it is also the way to replace one tool of a real server: `stub`.

    Args:
        journal: where everything goes.
        upstream: the real server: `McpHttpClient(url)`, or `McpProcess(config, journal)`. It
            is started and stopped with this one. All clients share one connection to it.
        tape: a file for a new tape, or a tape; in memory unless given.
        name: how clients, messages, the journal and the tape call it.
        within: seconds that the real server has for an answer.
        playback: of the tape: what it has is played, and the rest is recorded.
        ids: where ids of HTTP sessions come from.
        port: 0 picks a free one.

    Attributes:
        tape: what was recorded.
        recorded: lines that were recorded.
        unreachable: what went wrong on the way to the real server, one line each.
    """

    def __init__(
        self,
        journal: Journal,
        upstream: Upstream,
        tape: Tape | Path | str | None = None,
        *,
        name: str = "mcp",
        within: float = 30.0,
        playback: Playback | None = None,
        ids: IdSource | None = None,
        port: int = 0,
    ) -> None:
        if tape is None:
            tape = Tape(redactor=journal.redactor)
        self.tape = tape if isinstance(tape, Tape) else Tape.create(tape, redactor=journal.redactor)
        self.upstream = upstream
        self.recorded = 0
        self.unreachable: list[str] = []
        played = PlayingBackend(self, playback) if playback is not None else None
        backend = _RecordingBackend(self, journal.clock, within, played)
        super().__init__(journal, backend, name=name, ids=ids, port=port)

    async def _start(self) -> None:
        self.upstream.told = self._heard
        await self.upstream.start()
        try:
            await super()._start()
        except BaseException:
            await self.upstream.stop()
            raise

    async def _stop(self) -> None:
        try:
            await super()._stop()
        finally:
            await self.upstream.stop()

    def _heard(self, method: str, params: Json) -> None:
        """The real server told something: so do we."""
        self.keep(McpTapeLine(kind="told", method=method, params=params))
        self.tell_clients(method, params)

    def keep(self, line: McpTapeLine) -> None:
        """Put a line onto the tape, as one of this server.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        transport = self.upstream.transport
        self.tape.append_mcp(msgspec.structs.replace(line, server=self.name, transport=transport))
        self.recorded += 1
