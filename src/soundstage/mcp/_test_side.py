"""The test's side of a server: what it waits for, the same whether a script, a tape or a real server answers."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import Event, Journal, Record, one_line
from soundstage.mcp._catalog import need_name
from soundstage.mcp._core import McpCore
from soundstage.mcp._events import (
    McpConnectionChanged,
    McpToolCalled,
    McpToolReturned,
)
from soundstage.mcp._rules import CallFacts, call_conditions
from soundstage.mcp._script import given
from soundstage.scripts import Conditions, described, holds
from soundstage.trace import checking, checking_now
from soundstage.worlds._waiting import Fits, first_record

WITHIN: Final = 10.0
_SHOWN: Final = 8


class McpTestSide:
    """Expectations, and stubs in the place of tools."""

    journal: Journal
    name: str
    _within: float = WITHIN  # unless a wait is told otherwise
    _core: McpCore
    _found: set[int]

    def calls(self, tool: str = "") -> list[McpToolCalled]:
        """The calls so far, of one tool or of all."""
        found = [record.event for record in self._records(McpToolCalled)]
        return [call for call in found if isinstance(call, McpToolCalled) and tool in ("", call.tool)]

    async def expect_call(
        self, tool: str = "", *, arguments: Any = None, within: float | None = None
    ) -> McpToolCalled:
        """Wait for a call of a tool. Every call is found once, in order.

        Args:
            tool: its name on this server; any unless given.
            arguments: for each argument a condition, or a function of all of them.
            within: seconds on the run's clock.

        Raises:
            WaitTimeout: if none comes in time; the message shows the calls that there were.
        """
        conditions = call_conditions(tool, arguments)

        def fits(record: Record) -> bool:
            return record.position not in self._found and _fits(record.event, conditions)

        within = self._within if within is None else within
        record = await self._first(fits, within)
        if record is None:
            wanted = described(conditions) or "any call"
            raise WaitTimeout(
                f"no such call of {self.name} within {within:g} s", expected=wanted, seen=self._lately()
            )
        self._found.add(record.position)
        assert isinstance(record.event, McpToolCalled)
        return record.event

    check_call = checking(expect_call)

    async def expect_return(self, tool: str = "", *, within: float | None = None) -> McpToolReturned:
        """Wait until a call of a tool has ended. Every end is found once, in order.

        Raises:
            WaitTimeout: if none does in time.
        """

        def fits(record: Record) -> bool:
            event = record.event
            new = record.position not in self._found
            return new and isinstance(event, McpToolReturned) and tool in ("", event.tool)

        within = self._within if within is None else within
        record = await self._first(fits, within)
        if record is None:
            raise WaitTimeout(
                f"no call of {tool or 'any tool'} on {self.name} ended within {within:g} s",
                seen=self._lately(),
            )
        self._found.add(record.position)
        assert isinstance(record.event, McpToolReturned)
        return record.event

    check_return = checking(expect_return)

    def expect_no_call(self, tool: str = "") -> None:
        """Expect that no call was made, of one tool or at all, that was not expected before.

        Raises:
            ExpectationError: if there was one.
        """
        found = [
            str(record.event)
            for record in self._records(McpToolCalled)
            if record.position not in self._found and _fits(record.event, call_conditions(tool))
        ]
        if found:
            raise ExpectationError(f"{self.name} was not expected to be called", seen="\n".join(found))

    check_no_call = checking_now(expect_no_call)

    async def wait_for_client(self, *, within: float | None = None) -> McpConnectionChanged:
        """Wait until a client has shaken hands.

        Raises:
            WaitTimeout: if none does in time.
        """

        def fits(record: Record) -> bool:
            return isinstance(record.event, McpConnectionChanged) and record.event.change == "initialized"

        within = self._within if within is None else within
        record = await self._first(fits, within)
        if record is None:
            raise WaitTimeout(
                f"no client connected with {self.name} within {within:g} s",
                seen=self._lately(),
                hint="give the client mcp_json(server), server.url or server.stdio_config()",
            )
        assert isinstance(record.event, McpConnectionChanged)
        return record.event

    def stub(self, tool: str, answer: Any = msgspec.UNSET, /, **fields: Any) -> None:
        """Answer all calls of a tool, whatever else would; a tool that is not there appears.

        Args:
            tool: its name on this server.
            answer: as in `on_tool(...).returns(...)`.
            fields: those of `ToolAnswer`.

        Raises:
            ScriptError: for an answer that cannot be one.
        """
        known = need_name("a tool", tool) in self._core.stubs
        self._core.stubs[tool] = given(answer, fields)
        if not known:
            self._tools_changed()

    def unstub(self, tool: str = "") -> None:
        """Take a stub away, or all of them. Harmless when there is none."""
        gone = {tool} if tool else set(self._core.stubs)
        left = {name: answer for name, answer in self._core.stubs.items() if name not in gone}
        if len(left) != len(self._core.stubs):
            self._core.stubs = left
            self._tools_changed()

    def _tools_changed(self) -> None:
        """The list of tools is different now."""

    def _records(self, kind: type[Event]) -> list[Record]:
        return [record for record in self.journal.read(type=kind) if record.source == self.name]

    async def _first(self, fits: Fits, within: float) -> Record | None:
        def own(record: Record) -> bool:
            return record.source == self.name and fits(record)

        return await first_record(self.journal, own, after=0, within=within)

    def _lately(self) -> str:
        own = [record for record in self.journal.read() if record.source == self.name][-_SHOWN:]
        return "\n".join(
            f"{type(record.event).__name__}: {one_line(str(record.event), 120)}" for record in own
        )


def _fits(event: Event, conditions: Conditions) -> bool:
    return isinstance(event, McpToolCalled) and holds(conditions, CallFacts(event.tool, event.arguments))
