"""The scripted server: a script that is served."""

from __future__ import annotations

from pathlib import Path

from soundstage.clock import IdSource, validate_seconds
from soundstage.journal import Journal
from soundstage.mcp._answer import Json
from soundstage.mcp._daemon import McpDaemon
from soundstage.mcp._file import load_mcp_script
from soundstage.mcp._script import McpScript
from soundstage.mcp._scripted import ScriptedBackend
from soundstage.mcp._test_side import WITHIN
from soundstage.scripts import never_used


class McpServer(McpScript, McpDaemon):
    """An MCP server whose tools answer what a test tells them to, over HTTP and stdio on loopback.

    Args:
        journal: where everything goes.
        name: how clients, messages and the journal call it. Claude Code's name of a tool is
            `mcp__<name>__<tool>`. Servers of one run need different names.
        script: what it offers and answers, or a script file; more can be added.
        strict: a call that no rule answers, and a rule that was never used, are errors that `stop` raises. That of the
            run unless given, where a `HostBuilder` or the pytest plugin makes the server; what the script says wins.
        instructions: what the server tells the model about itself.
        version: of the server, for clients.
        page_size: entries of a list that a client gets at once; all unless given.
        within: seconds that its waits take, unless they are told otherwise.
        ids: where ids of HTTP sessions come from.
        port: 0 picks a free one.

    Raises:
        ScriptLoadError: if the script file is refused.

    Example:
        ::

            server = McpServer(journal, name="notes")
            server.tool("search", description="Search the notes.", schema={...})
            server.on_tool("search", arguments={"query": "soup"}).returns("tomato soup")
            await server.start()
            ...  # point the agent at server.url, or give it mcp_json(server)
            await server.expect("search", arguments={"query": "soup"})
            await server.stop()
    """

    def __init__(
        self,
        journal: Journal,
        *,
        name: str = "mcp",
        script: McpScript | Path | str | None = None,
        strict: bool | None = None,
        instructions: str = "",
        version: str = "1.0.0",
        page_size: int | None = None,
        ids: IdSource | None = None,
        within: float = WITHIN,
        port: int = 0,
    ) -> None:
        validate_seconds(within)
        self.within = within
        backend = ScriptedBackend(self, name, self._fail)
        McpDaemon.__init__(self, journal, backend, name=name, ids=ids, port=port)
        McpScript.__init__(
            self, strict=strict, instructions=instructions, version=version, page_size=page_size
        )
        if script is not None:
            self.take(script if isinstance(script, McpScript) else load_mcp_script(script, server=name))

    async def _stop(self) -> None:
        await super()._stop()
        unused = self.unused()
        if self.strict and unused:
            raise never_used(
                unused,
                f"the strict script of {self.name}",
                expected="every rule serves a call",
                hint="remove them, or let the agent make these calls",
            )

    def _changed(self, what: str, *, uri: str = "") -> None:
        self._tell_changed(what, tuple(getattr(self, what)), uri)

    def _tell(self, method: str, params: Json) -> None:
        self.tell_clients(method, params)
