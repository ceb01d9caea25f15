"""The faults that a test can ask for, on every server of this package."""

from __future__ import annotations

from soundstage.mcp._answer import Mishap
from soundstage.mcp._core import McpCore
from soundstage.mcp._events import McpFaultChanged
from soundstage.mcp._faults import McpFault, need_form
from soundstage.mcp._jsonrpc import INTERNAL_ERROR
from soundstage.mcp._sessions import Sessions


class McpFaults:
    """Faults of a server. They strike in the order in which they were asked for, so many `times` each."""

    _core: McpCore
    _sessions: Sessions

    def refuse_connections(self, times: int | None = 1) -> None:
        """Refuse clients: HTTP status 503; a stdio server exits at once."""
        self._ask(McpFault("connect", "refuse", times))

    def start_slowly(self, seconds: float, *, times: int | None = 1) -> None:
        """Answer the handshake late."""
        self._ask(McpFault("start", "delay", times, seconds=seconds))

    def never_start(self, *, times: int | None = 1) -> None:
        """Never answer the handshake."""
        self._ask(McpFault("start", "hang", times))

    def fail_to_start(self, message: str = "cannot start", *, times: int | None = 1) -> None:
        """Answer the handshake with a JSON-RPC error."""
        self._ask(McpFault("start", "reject", times, text=message, code=INTERNAL_ERROR))

    def fail_calls(self, text: str = "the tool failed", *, tool: str = "", times: int | None = 1) -> None:
        """Answer calls with a result that says that the tool failed (`isError`).

        Args:
            text: what the tool says.
            tool: which one; any unless given.
            times: how often; `None` until `heal`.
        """
        self._ask(McpFault("call", "fail", times, tool, text=text))

    def reject_calls(
        self,
        message: str = "Internal error",
        *,
        code: int = INTERNAL_ERROR,
        tool: str = "",
        times: int | None = 1,
    ) -> None:
        """Answer calls with a JSON-RPC error."""
        self._ask(McpFault("call", "reject", times, tool, text=message, code=code))

    def delay_calls(self, seconds: float, *, tool: str = "", times: int | None = 1) -> None:
        """Answer calls late."""
        self._ask(McpFault("call", "delay", times, tool, seconds=seconds))

    def hang_calls(self, *, tool: str = "", times: int | None = 1) -> None:
        """Never answer calls."""
        self._ask(McpFault("call", "hang", times, tool))

    def disconnect_at_calls(self, *, tool: str = "", times: int | None = 1) -> None:
        """Cut the connection in the middle of the answer to calls."""
        self._ask(McpFault("call", "disconnect", times, tool))

    def garble_calls(self, form: Mishap, *, tool: str = "", times: int | None = 1) -> None:
        """Answer calls with what is no JSON-RPC.

        Args:
            form: `not json`; `half` of the answer; `other id`; `no version`; `both` a result and an error; `twice`
                the same; `log line`: a line that is none of the protocol's before the answer.
            tool: which one; any unless given.
            times: how often; `None` until `heal`.

        Raises:
            ScriptError: for a form that does not exist.
        """
        need_form(form)
        self._ask(McpFault("call", form, times, tool))

    def disconnect(self) -> None:
        """Cut all connections now."""
        self._core.tell(McpFaultChanged(change="struck", fault="disconnect"))
        self._sessions.end("cut", "as the test asked")

    def heal(self) -> None:
        """Take back what has not struck yet."""
        for fault in self._core.faults.take_back():
            event = McpFaultChanged(change="taken back", fault=fault.name, detail=fault.detail)
            self._core.tell(event)

    def _ask(self, fault: McpFault) -> None:
        self._core.faults.add(fault)
        self._core.tell(McpFaultChanged(change="asked for", fault=fault.name, detail=fault.detail))
