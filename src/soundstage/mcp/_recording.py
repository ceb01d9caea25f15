"""Recording: a server of ours before a real one. What passes is in the journal, and on a tape."""

from __future__ import annotations

from pathlib import Path

from soundstage.clock import Clock, IdSource
from soundstage.errors import AppError, WaitTimeout
from soundstage.journal import Journal
from soundstage.mcp._answer import Json
from soundstage.mcp._backend import Served
from soundstage.mcp._client import Upstream, clean
from soundstage.mcp._daemon import McpDaemon
from soundstage.mcp._jsonrpc import INTERNAL_ERROR, RpcError
from soundstage.mcp._tape import McpTape


class _RecordingBackend:
    """Asks a real server, and records what it says."""

    def __init__(self, upstream: Upstream, tape: McpTape, clock: Clock, within: float) -> None:
        self._upstream = upstream
        self._tape = tape
        self._clock = clock
        self._within = within
        self._greeted = False

    async def initialize(self, params: Json) -> Json:
        before = self._clock.now()
        try:
            found = dict(await self._upstream.handshake(within=self._within))
        except (AppError, WaitTimeout) as error:
            raise RpcError(INTERNAL_ERROR, error.summary) from None
        found.pop("protocolVersion", None)
        if not self._greeted:
            self._greeted = True
            self._tape.add(method="initialize", result=found, latency_ms=self._since(before))
        return found

    async def serve(self, method: str, params: Json) -> Served:
        asked, before = clean(params), self._clock.now()
        try:
            result = await self._upstream.request(method, asked, within=self._within)
        except RpcError as error:
            self._tape.add(method=method, params=asked, error=error.as_json(), latency_ms=self._since(before))
            raise
        except (
            AppError,
            WaitTimeout,
        ) as error:  # the real server is wrong: the client learns it, no tape does
            raise RpcError(INTERNAL_ERROR, error.summary) from None
        self._tape.add(method=method, params=asked, result=result, latency_ms=self._since(before))
        return Served(result, served_by="the real server")

    def _since(self, before: float) -> float:
        return round((self._clock.now() - before) * 1000, 3)


class RecordingMcpServer(McpDaemon):
    """Stands before a real server: passes everything on, journals it and records it.

    Stubs and faults work here too, so it is also the way to replace one tool of a real server: `stub`.

    Args:
        journal: where everything goes.
        upstream: the real server: `McpHttpClient(url)`, or `McpProcess(config, journal)`. It
            is started and stopped with this one. All clients share one connection to it.
        tape: a file for the tape, or a tape; in memory unless given.
        name: how clients, messages and the journal call it.
        within: seconds that the real server has for an answer.
        ids: where ids of HTTP sessions come from.
        port: 0 picks a free one.

    Attributes:
        tape: what was recorded.
    """

    def __init__(
        self,
        journal: Journal,
        upstream: Upstream,
        tape: McpTape | Path | str | None = None,
        *,
        name: str = "mcp",
        within: float = 30.0,
        ids: IdSource | None = None,
        port: int = 0,
    ) -> None:
        if tape is None:
            tape = McpTape(redactor=journal.redactor)
        self.tape = tape if isinstance(tape, McpTape) else McpTape.create(tape, redactor=journal.redactor)
        self.upstream = upstream
        backend = _RecordingBackend(upstream, self.tape, journal.clock, within)
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
        self.tape.add(kind="told", method=method, params=params)
        self._sessions.tell(method, params)
