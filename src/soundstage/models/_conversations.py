"""Counters of the conversations of a scripted model. A server that runs for long keeps the newest; a test keeps all.

A conversation that was let go is not known by its name any more: names would pile up as well. One that seems to begin,
and already has a message of the model, may be such a one. Where a condition asks for what is lost, it is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from soundstage.messages import ModelRequest
from soundstage.models._conditions import PastCall, RequestContext

CALLS: Final = 1_000  # of one conversation, where not all conversations are kept
_OF_CALLS: Final = ("after_agent", "continue_to_phase", "previous_tool_calls")
_OF_CONVERSATION: Final = ("previous_agent", "iteration", *_OF_CALLS)


class _ScriptedConversation:
    """Counters of one conversation. Names of agents are alike in upper and lower case."""

    __slots__ = ("agent", "calls", "iterations", "let_go", "lost", "previous")

    def __init__(self, lost: Mapping[str, str]) -> None:
        self.agent = ""
        self.calls: list[PastCall] = []
        self.previous = ""
        self.iterations: dict[str, int] = {}
        self.lost = lost
        self.let_go = 0  # calls

    def step(self, agent: str, routers: frozenset[str]) -> RequestContext:
        """Count a call of `agent`; another agent than last time means that the last one has finished."""
        name = agent.casefold()
        last = self.agent
        if agent != last:
            folded = last.casefold()
            if folded and folded != name and folded not in routers:
                self.previous = last
            self.agent = agent
        count = self.iterations[name] = self.iterations.get(name, 0) + 1
        return RequestContext(previous_agent=self.previous, iteration=count, calls=self.calls, lost=self.lost)

    def cut(self) -> None:
        """Let the oldest calls go."""
        if len(self.calls) > CALLS:
            self.let_go += len(self.calls) - CALLS
            del self.calls[:-CALLS]
            words = f"of its conversation the newest {CALLS} calls are kept; {self.let_go} older ones have been let go"
            self.lost = {**dict.fromkeys(_OF_CALLS, words), **self.lost}


class ScriptedConversations:
    """The conversations of a scripted model, by name.

    Args:
        most: how many are kept, those that were used last; all unless given.
    """

    def __init__(self, most: int | None) -> None:
        if most is not None and most < 1:
            raise ValueError(f"at least one conversation has to be kept; got {most}")
        self._most = most
        self._let_go = 0
        self._kept: dict[str, _ScriptedConversation] = {}

    def step(self, request: ModelRequest, routers: frozenset[str]) -> RequestContext:
        """Count a request in its conversation. Returns what the conversation says about it."""
        caller = request.caller
        found = self._kept.get(caller.whole)
        if found is None:
            found = self._begin(request)
        elif self._most is not None:
            self._kept[caller.whole] = self._kept.pop(caller.whole)  # the last one is the newest
        return found.step(caller.agent, routers)

    def _begin(self, request: ModelRequest) -> _ScriptedConversation:
        begun = self._kept[request.caller.whole] = _ScriptedConversation(self._lost(request))
        if self._most is not None and len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
            self._let_go += 1
        return begun

    def _lost(self, request: ModelRequest) -> Mapping[str, str]:
        if not self._let_go or all(message.role != "assistant" for message in request.messages):
            return {}
        words = (
            f"its conversation may have been let go: Soundstage keeps the newest {self._most} conversations; "
            f"{self._let_go} older ones have been let go"
        )
        return dict.fromkeys(_OF_CONVERSATION, words)

    def remember(self, request: ModelRequest, calls: Iterable[PastCall]) -> None:
        """Keep the calls that answer a request for later requests of its conversation."""
        found = self._kept.get(request.caller.whole)  # it may be gone when the answer took long
        if found is not None:
            found.calls += calls
            if self._most is not None:
                found.cut()

    def clear(self) -> None:
        """Forget all of them."""
        self._let_go = 0
        self._kept.clear()
