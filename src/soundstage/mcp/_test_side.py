"""The test's side of a server: what it waits for, the same whether a script, a tape or a real server answers."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.errors import WaitTimeout
from soundstage.journal import Record
from soundstage.match import Anything, Matcher
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
from soundstage.trace import checking
from soundstage.worlds import Inbox, Only, World

WITHIN: Final = 10.0


class McpReturns:
    """The ends of calls, as a test waits for them: `server.returns.expect("search")`."""

    def __init__(self, inbox: Inbox[McpToolReturned]) -> None:
        self._inbox = inbox

    async def expect(
        self, tool: str = "", *, within: float | None = None, because: str = ""
    ) -> McpToolReturned:
        """Wait until a call of a tool has ended. Every end is found once.

        Args:
            tool: its name on the server; any unless given.
            within: seconds on the run's clock; those of the server, unless given.
            because: why it has to end; the message of a failure shows it.

        Raises:
            WaitTimeout: if none does in time.
            ExpectationError: if the app ends first.
        """
        missed = f"no call of {tool or 'any tool'} on {self._inbox.name} ended"
        return await self._inbox.expect(
            Anything(), only=_of(tool), within=within, because=because, missed=missed
        )

    check = checking(expect)

    async def collect(
        self, count: int, tool: str = "", *, within: float | None = None
    ) -> list[McpToolReturned]:
        """Wait for the ends of `count` calls: all of them before one deadline.

        Raises:
            WaitTimeout: if fewer end.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.collect(count, only=_of(tool), within=within)


class McpTestSide(World):
    """Expectations, and stubs in the place of tools.

    Agents call tools side by side, so equal calls are a source of the inbox: what is called differently may be expected
    in any order.
    """

    within: float = WITHIN
    _core: McpCore

    def _open_inboxes(self) -> None:
        options: dict[str, Any] = {"show": str, "read": lambda event: event}
        self._inbox: Inbox[McpToolCalled] = self.inbox(
            McpToolCalled,
            source=lambda record: _key(record.event),
            noun="call",
            missed=f"no such call of {self.name}",
            **options,
        )
        self._returns = McpReturns(
            self.inbox(McpToolReturned, source=lambda record: record.cause, noun="end", **options)
        )

    def calls(self, tool: str = "") -> list[McpToolCalled]:
        """The calls so far, of one tool or of all."""
        return [call for call in self._inbox.items if tool in ("", call.tool)]

    @property
    def returns(self) -> McpReturns:
        """The ends of calls: `await server.returns.expect("search")`."""
        return self._returns

    async def expect(
        self, tool: str = "", *, arguments: Any = None, within: float | None = None, because: str = ""
    ) -> McpToolCalled:
        """Wait for a call of a tool. Every call is found once.

        Args:
            tool: its name on this server; any unless given.
            arguments: for each argument a condition, or a function of all of them.
            within: seconds on the run's clock; 10, unless the server was made with another number.
            because: why it has to come; the message of a failure shows it.

        Raises:
            WaitTimeout: if none comes in time; the message shows the calls that there were.
            ExpectationError: if the app ends first.
        """
        wanted = _Called(call_conditions(tool, arguments))
        return await self._inbox.expect(wanted, only=_of(tool), within=within, because=because)

    check = checking(expect)

    async def expect_nothing(self, *, within: float, tool: str = "") -> None:
        """Expect that no call comes for `within` seconds; one that was not expected before counts.

        Raises:
            ExpectationError: if there is one.
        """
        await self._inbox.expect_nothing(within=within, only=_of(tool))

    check_nothing = checking(expect_nothing)

    async def collect(
        self, count: int, tool: str = "", *, within: float | None = None
    ) -> list[McpToolCalled]:
        """Wait for the next `count` calls, whatever their arguments: all of them before one deadline.

        Raises:
            WaitTimeout: if fewer come; the message shows those that did.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.collect(count, only=_of(tool), within=within)

    def pending(self) -> str:
        facts = self.facts()
        return "\n".join([f"the last facts of {self.name}:", *facts]) if facts else "no client has connected"

    async def wait_for_client(self, *, within: float | None = None) -> McpConnectionChanged:
        """Wait until a client has shaken hands.

        Raises:
            WaitTimeout: if none does in time.
        """

        def fits(record: Record) -> bool:
            return isinstance(record.event, McpConnectionChanged) and record.event.change == "initialized"

        within = self.within if within is None else within
        record = await self.first(fits, within=within)
        if record is None:
            raise WaitTimeout(
                f"no client connected with {self.name} within {within:g} s",
                seen=self.pending(),
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


class _Called(Matcher):
    """A condition on a call."""

    __slots__ = ("conditions",)

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions

    def explain(self, value: Any) -> str | None:
        fits = holds(self.conditions, CallFacts(value.tool, value.arguments))
        return None if fits else f"it is {value}"

    def describe(self) -> str:
        return described(self.conditions) or "any call"


def _of(tool: str) -> Only:
    return lambda event: tool in ("", event.tool)


def _key(call: McpToolCalled) -> tuple[str, bytes]:
    return call.tool, msgspec.json.encode(call.arguments, order="sorted")
