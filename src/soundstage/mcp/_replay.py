"""Replay: a tape in the place of a server.

Strict, every call has to be one that was recorded and has not been played, in whatever order: agents call tools side by
side. What is not on the tape is answered with an error, on record, and `stop` raises it: a miss is a verdict, never a
guess. Relaxed, a call that was not recorded gets the next recorded answer of the same tool, and is on record as well.

Lists, resources and prompts may be asked for again; the last recorded answer is played again then. Clients ask for
lists when they like, so a list that was never recorded is no miss: the tools are then those that were called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from soundstage.clock import IdSource
from soundstage.errors import ReplayMismatchError
from soundstage.journal import Journal
from soundstage.mcp._answer import Json
from soundstage.mcp._backend import Served, Tell
from soundstage.mcp._catalog import McpTool
from soundstage.mcp._client import clean
from soundstage.mcp._daemon import McpDaemon
from soundstage.mcp._events import McpMismatched
from soundstage.mcp._jsonrpc import INTERNAL_ERROR, RpcError
from soundstage.mcp._protocol import CALL, LISTS
from soundstage.mcp._tape import HOW_TO_RECORD, McpTape, McpTapeLine


class _ReplayBackend:
    """Plays a tape."""

    def __init__(
        self, tape: McpTape, name: str, *, strict: bool, missed: Callable[[McpMismatched], None], tell: Tell
    ) -> None:
        self._lines = tape.lines
        self._name = name
        self._strict = strict
        self._missed = missed
        self._tell = tell
        self.played: set[int] = set()

    @property
    def exchanges(self) -> list[McpTapeLine]:
        return [line for line in self._lines if line.kind == "exchange" and line.method != "initialize"]

    async def initialize(self, params: Json) -> Json:
        greeting = next((line for line in self._lines if line.method == "initialize"), None)
        if greeting is not None and greeting.result is not None:
            return greeting.result
        return {"capabilities": {"tools": {}}, "serverInfo": {"name": self._name, "version": "0"}}

    async def serve(self, method: str, params: Json) -> Served:
        asked = clean(params)
        if method in LISTS and not any(line.method == method for line in self.exchanges):
            return Served({LISTS[method]: self._known() if method == "tools/list" else []})
        line = self._exact(method, asked) or self._near(method, asked)
        if line is None:
            raise RpcError(INTERNAL_ERROR, f"not on the tape: {method}")
        self._play(line)
        if line.error is not None:
            code = line.error.get("code")
            raise RpcError(
                code if isinstance(code, int) else 0, str(line.error.get("message")), line.error.get("data")
            )
        return Served(line.result or {}, served_by=f"line {line.number} of the tape")

    def _known(self) -> list[Json]:
        """The tools that were called, for a client that asks for the list where the recorded one did not."""
        names = dict.fromkeys(str(line.params.get("name")) for line in self.exchanges if line.method == CALL)
        return [McpTool(name).as_json() for name in names]

    def _exact(self, method: str, asked: Json) -> McpTapeLine | None:
        """The next recorded exchange of this kind; what only reads may be played again."""
        same = [line for line in self.exchanges if line.method == method and clean(line.params) == asked]
        unplayed = next((line for line in same if line.number not in self.played), None)
        if unplayed is None and same and (method != CALL or not self._strict):
            return same[-1]
        return unplayed

    def _near(self, method: str, asked: Json) -> McpTapeLine | None:
        """The recorded request nearest to one that is not on the tape, which is journaled."""
        tool = asked.get("name")
        same = [line for line in self.exchanges if line.method == method and line.params.get("name") == tool]
        unplayed = [line for line in same if line.number not in self.played]
        line = next(iter(unplayed or same[-1:]), None) if method == CALL and not self._strict else None
        played = any(clean(other.params) == asked for other in same)
        reason = "it has been played already" if played else _recorded(unplayed or same)
        self._missed(
            McpMismatched(
                method=method, params=asked, reason=reason, played=line.number if line is not None else 0
            )
        )
        return line

    def _play(self, line: McpTapeLine) -> None:
        self.played.add(line.number)
        for later in self._lines[line.number :]:
            if later.kind != "told":
                return
            if later.number not in self.played:
                self.played.add(later.number)
                self._tell(later.method, later.params)


def _recorded(recorded: list[McpTapeLine]) -> str:
    if not recorded:
        return "nothing like this was recorded"
    line = recorded[0]
    return f"line {line.number} has {line.params.get('arguments', line.params)}"


class ReplayMcpServer(McpDaemon):
    """A recorded server: answers from a tape.

    Args:
        journal: where everything goes.
        tape: a tape, or the file of one.
        strict: a call that is not on the tape is an error that `stop` raises; else the next answer of the same
            tool is played, and `mismatches` has it.
        name: how clients, messages and the journal call it.
        ids: where ids of HTTP sessions come from.
        port: 0 picks a free one.

    Raises:
        TapeError: if the tape cannot be read.

    Attributes:
        mismatches: what was asked for and is not on the tape.
    """

    def __init__(
        self,
        journal: Journal,
        tape: McpTape | Path | str,
        *,
        strict: bool = False,
        name: str = "mcp",
        ids: IdSource | None = None,
        port: int = 0,
    ) -> None:
        self.tape = tape if isinstance(tape, McpTape) else McpTape.load(tape)
        self.strict = strict
        self.mismatches: list[McpMismatched] = []
        self._replay = _ReplayBackend(self.tape, name, strict=strict, missed=self._missed, tell=self._tell)
        super().__init__(journal, self._replay, name=name, ids=ids, port=port)

    @property
    def unplayed(self) -> tuple[McpTapeLine, ...]:
        """The recorded exchanges that nobody has asked for."""
        return tuple(line for line in self._replay.exchanges if line.number not in self._replay.played)

    def _tell(self, method: str, params: Json) -> None:
        self._sessions.tell(method, params)

    def _missed(self, mismatch: McpMismatched) -> None:
        self.mismatches.append(mismatch)
        self._core.tell(mismatch)
        if self.strict:
            self._failures.append(
                ReplayMismatchError(
                    f"{self.name} was asked for what is not on {self.tape.name}",
                    expected="a recorded request that has not been played",
                    seen=str(mismatch),
                    hint=HOW_TO_RECORD,
                )
            )
