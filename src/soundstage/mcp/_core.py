"""The state that the connections of one server share: backend, faults, stubs, and the way into the journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundstage.journal import Event, Journal
from soundstage.mcp._answer import Given, Json
from soundstage.mcp._backend import Backend, Served
from soundstage.mcp._catalog import McpTool
from soundstage.mcp._cause import Causes
from soundstage.mcp._events import McpFaultChanged
from soundstage.mcp._faults import McpFault, McpPendingFaults, Occasion
from soundstage.mcp._protocol import CALL
from soundstage.mcp._scripted import made, served


class McpCore:
    """One server, whoever is connected.

    Args:
        journal: where everything goes.
        name: of the server, as its source in the journal.
        backend: what answers.
        failed: is told what went wrong on our side.
    """

    def __init__(
        self,
        journal: Journal,
        name: str,
        backend: Backend,
        failed: Callable[[Exception], None],
    ) -> None:
        self.journal = journal
        self.name = name
        self.backend = backend
        self.failed = failed
        self.faults = McpPendingFaults()
        self.stubs: dict[str, Given] = {}
        self.causes = Causes(journal)

    def tell(self, event: Event, cause: int | None = None) -> int:
        """Append an event under the server's name."""
        return self.journal.append(event, source=self.name, cause=cause)

    def strike(
        self, at: Occasion, *, tool: str = "", connection: int = 0, cause: int | None = None
    ) -> McpFault | None:
        """The fault that strikes now, if one does; it is on record then."""
        fault = self.faults.strike(at, tool)
        if fault is not None:
            event = McpFaultChanged(
                change="struck", fault=fault.name, connection=connection, detail=fault.detail
            )
            self.tell(event, cause)
        return fault

    async def serve(self, method: str, params: Json) -> Served:
        """The answer to a request: a stub's, else the backend's.

        Raises:
            RpcError: where it is an error.
        """
        stub = self.stubs.get(str(params.get("name"))) if method == CALL else None
        if stub is not None:
            return served(await made(stub, params.get("arguments") or {}), "stub")
        found = await self.backend.serve(method, params)
        return found._replace(result=self._with_stubs(found.result)) if method == "tools/list" else found

    def _with_stubs(self, page: dict[str, Any]) -> Json:
        """A page of tools; the last one has the stubs that the server has no tool for."""
        if not self.stubs or page.get("nextCursor"):
            return page
        known = {tool.get("name") for tool in page.get("tools", ())}
        return {
            **page,
            "tools": [
                *page.get("tools", ()),
                *(McpTool(name, "a stub").as_json() for name in self.stubs if name not in known),
            ],
        }
