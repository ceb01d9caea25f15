"""Playback of MCP servers: which recorded answer answers a request. Pure.

Each server is a lane of its own. Within it, a call has to be one that was recorded and has not been played, in whatever
order: agents call tools side by side. Of equal calls the first is played first, so a server that counts counts again.

Lists, resources and prompts may be asked for again; the last recorded answer is played again then. Clients ask for
lists when they like, so a list that was never recorded is no divergence: the tools are then those that were called.

A call that was not recorded is told by its cause, as with models: it differs from the nearest call of the same tool,
it was played already, or nothing like it was recorded. What a server told by itself is told again, after the answer
behind which it stands.
"""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.differences import Cause, Difference, differences
from soundstage.match import preview
from soundstage.mcp import CALL
from soundstage.messages import ModelRequest, ModelResponse, ToolCall
from soundstage.tapes._mcp_line import McpTapeLine
from soundstage.tapes._surroundings import Normal
from soundstage.tapes._tape import Tape
from soundstage.tapes._verdict import DivergenceError, Verdict

_PLACE: Final = "messages[0] assistant, part 1, arguments."


class McpPlayed(NamedTuple):
    """The line that answers a request.

    Args:
        line: it.
        told: what the server tells then.
        verdict: what differs, if the replay goes on nevertheless.
    """

    line: McpTapeLine
    told: tuple[McpTapeLine, ...] = ()
    verdict: Verdict | None = None


class McpPlayback:
    """The MCP servers of a tape, and what of them has been played.

    Args:
        tape: what to play.
        verdicts: gets the divergences.
        relaxed: answer a call that was not recorded with the one of the same tool that comes nearest.
        again: the command that records the tape anew, for verdicts.

    Attributes:
        branch: a tape that gets what is played, as it is played.
    """

    def __init__(self, tape: Tape, verdicts: list[Verdict], *, relaxed: bool, again: str) -> None:
        self._tape = tape
        self._verdicts = verdicts
        self._relaxed = relaxed
        self._again = again
        self._lock = threading.Lock()
        self._normal: Normal | None = None
        self._lines = tape.mcp_lines
        self._played: set[int] = set()
        self._asked: dict[str, int] = {}
        self.branch: Tape | None = None

    def settle(self, normal: Normal) -> None:
        """Take this for what makes texts of the recording and of this run equal."""
        self._normal = normal

    @property
    def unplayed(self) -> tuple[McpTapeLine, ...]:
        """The recorded exchanges that nobody has asked for; the handshake is none."""
        return tuple(
            line
            for line in self._lines
            if line.kind == "exchange" and line.method != "initialize" and line.number not in self._played
        )

    @property
    def played(self) -> int:
        """How many exchanges have been played."""
        return sum(line.kind == "exchange" for line in self._lines if line.number in self._played)

    def greeting(self, server: str) -> McpTapeLine | None:
        """The recorded handshake of a server."""
        return next(iter(self._of(server, "initialize")), None)

    def keep(self, *lines: McpTapeLine) -> None:
        """Put lines that are played onto the branch, if there is one."""
        for line in lines:
            if self.branch is not None:
                self.branch.append_mcp(line)

    def knows(self, server: str, method: str) -> bool:
        """Whether anything was asked by this method."""
        return bool(self._of(server, method))

    def tools(self, server: str) -> tuple[str, ...]:
        """The tools of a server that were called."""
        return tuple(dict.fromkeys(str(line.params.get("name")) for line in self._of(server, CALL)))

    def has(self, server: str, method: str, params: dict[str, Any]) -> bool:
        """Whether a request may be played without a divergence."""
        return self._same(server, method, params) is not None

    def take(self, server: str, method: str, params: dict[str, Any]) -> McpPlayed:
        """The recorded answer to a request. Any thread may ask.

        Raises:
            DivergenceError: if it was not recorded, unless the replay is relaxed.
        """
        with self._lock:
            self._asked[server] = self._asked.get(server, 0) + 1
            line = self._same(server, method, params)
            if line is not None:
                return McpPlayed(line, self._play(line))
            verdict, near = self._missed(server, method, params)
            self._verdicts.append(verdict)
            if not self._relaxed or near is None:
                raise DivergenceError(verdict)
            return McpPlayed(near, self._play(near), verdict)

    def missing(self) -> Verdict | None:
        """The verdict on calls that no one has made again, if there are any."""
        left = [line for line in self.unplayed if line.method == CALL]
        if not left:
            return None
        line, more = left[0], len(left) - 1
        about = f"{_about(line.server, line.method, line.params)}, line {line.number}, was not asked for"
        return self._verdict(
            "missing call", about + (f", nor were {more} more" if more else ""), line.server, line
        )

    def _of(self, server: str, method: str) -> list[McpTapeLine]:
        return [
            line
            for line in self._lines
            if (line.server, line.method, line.kind) == (server, method, "exchange")
        ]

    def _same(self, server: str, method: str, params: dict[str, Any]) -> McpTapeLine | None:
        same = [line for line in self._of(server, method) if not self._differences(line, params)]
        unplayed = next((line for line in same if line.number not in self._played), None)
        return same[-1] if unplayed is None and same and method != CALL else unplayed

    def _differences(self, line: McpTapeLine, params: dict[str, Any]) -> tuple[Difference, ...]:
        if line.params == params:
            return ()
        tool = _tool_of(line.method, line.params)
        sides = (_as_request(line.method, line.params), _as_request(line.method, params))
        where = f"{line.server}, {tool or line.method}, "
        return tuple(
            msgspec.structs.replace(one, cause="tool call differs", where=one.where.replace(_PLACE, where, 1))
            for one in differences(*sides, normalise=self._normal)
        )

    def _missed(self, server: str, method: str, params: dict[str, Any]) -> tuple[Verdict, McpTapeLine | None]:
        """The verdict on a request that is not on the tape, and the recorded one that comes nearest."""
        tool = _tool_of(method, params)
        alike = [line for line in self._of(server, method) if _tool_of(method, line.params) == tool]
        scored = [(self._differences(line, params), line) for line in alike]
        about = _about(server, method, params)
        same = [line for found, line in scored if not found]
        if same:
            about += f": line {same[-1].number} was this call, and has been played"
            return self._verdict("already played", about, server, same[-1]), same[-1]
        if not scored:
            return self._verdict("extra call", f"{about}: nothing like it was recorded", server, None), None
        open_ones = [pair for pair in scored if pair[1].number not in self._played]
        found, near = min(open_ones or reversed(scored), key=lambda pair: len(pair[0]))
        if not open_ones and method == CALL:
            about += ": all recorded calls of it have been played"
            return self._verdict("extra call", about, server, near, found), near
        first = found[0]
        about = f"{first.where}: recorded {first.recorded}, seen {first.seen}"
        return self._verdict(first.cause, about, server, near, found), near

    def _play(self, line: McpTapeLine) -> tuple[McpTapeLine, ...]:
        """Note what is played now: a line, and what its server told behind it and has not told yet."""
        self._played.add(line.number)
        told: list[McpTapeLine] = []
        for later in self._lines:
            if later.number <= line.number or later.server != line.server:
                continue
            if later.kind != "told":
                break
            if later.number not in self._played:
                self._played.add(later.number)
                told.append(later)
        return tuple(told)

    def _verdict(
        self,
        cause: Cause,
        about: str,
        server: str,
        line: McpTapeLine | None,
        found: tuple[Difference, ...] = (),
    ) -> Verdict:
        return Verdict(
            cause=cause,
            about=about,
            request=0 if cause == "missing call" else self._asked[server],
            server=server,
            nearest=line.number if line is not None else 0,
            of=len(self._lines),
            differences=found,
            tape=self._tape.name,
            again=self._again,
        )


def _tool_of(method: str, params: dict[str, Any]) -> str:
    return str(params.get("name")) if method == CALL else ""


def _as_request(method: str, params: dict[str, Any]) -> ModelRequest:
    """A request to a server as a message that makes it: both are compared alike."""
    given = {"arguments": {}, **params} if method == CALL else params
    call = ToolCall(id="", name=method, arguments=given)
    return ModelRequest(model="", messages=(ModelResponse(parts=(call,)).message(),))


def _about(server: str, method: str, params: dict[str, Any]) -> str:
    """A request in a few words."""
    tool = _tool_of(method, params)
    return f"{server}, {tool or method} {preview(params.get('arguments', {}) if tool else params)}"
